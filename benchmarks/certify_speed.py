"""What certificates cost: our samplers against the bare forward pass and ART, and what early stopping saves.

    make art-venv
    python benchmarks/certify_speed.py --run runs/noise [--texts 16] [--draws 64] [--json OUT]

Texts: draws a second through each sampler over bare forwards of the same texts, tokenised and batched before,
at the best of four batch sizes. Digits: ART's randomised smoothing, ours and a plain noise-forward-count loop
on the same small network. Early stopping: draws of ``--adaptive`` over the fixed number for «is the radius at
least r?», with the share of equal decisions. Sides are timed in turn, three times; the shortest counts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import digits_cnn
import early_stopping
import unfooled as uf
from unfooled import data
from unfooled.certificates.procedure import Smoother
from unfooled.certificates.sampling import Sampling
from unfooled.hub.batches import map_batches
from unfooled.models import Encoded, TensorModel, TextModel
from unfooled.predictors import CertifiedMasked, RandomWordMask, SynonymVote
from unfooled.predictors.smoothing import ESTIMATE, SELECT, EmbeddingNoise, Transformation

BASELINE = Path(__file__).with_name("art_baseline.py")
ROUNDS = 3
BATCH_TOKENS = (512, 1024, 2048, 4096)
SIGMA, IMAGE_BATCH = 0.25, 256
SMOOTHINGS: dict[str, Callable[[], Transformation]] = {
    "embedding-noise": lambda: EmbeddingNoise(SIGMA),
    "certified-masked": lambda: CertifiedMasked(sigma=SIGMA),
    "random-mask": RandomWordMask,
    "safer": SynonymVote,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--run", type=Path, help="any run of a task with single texts; without it, no texts")
    parser.add_argument("--task", default="movie-reviews")
    parser.add_argument("--texts", type=int, default=16, help="texts that are drawn from")
    parser.add_argument("--draws", type=int, default=64, help="draws a text")
    parser.add_argument("--smoothing", action="append", choices=SMOOTHINGS, help="default: all but safer")
    parser.add_argument("--inputs", type=int, default=100, help="digits")
    parser.add_argument("--n", type=int, default=1000, help="draws a digit, against ART")
    parser.add_argument("--adaptive-n", type=int, default=10_000, help="draws that early stopping saves of")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--python", type=Path, default=Path(".venv-art/bin/python"))
    parser.add_argument("--json", type=Path, help="write all figures here")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    result: dict[str, Any] = {"threads": options.threads, "texts": {}, "early_stopping": {}}
    if options.run:
        text = uf.load(options.run).model
        table = data.load(options.task, limit_test=options.texts).test
        encoded = text.encode(list(table["text"]))
        for name in options.smoothing or list(SMOOTHINGS)[:3]:
            result["texts"][name] = one = text_speed(text, encoded, SMOOTHINGS[name](), options.draws)
            show_texts(name, one)
            if name == "embedding-noise":
                voters = early_stopping.simulated(np.array(one["leader_shares"]), options.adaptive_n)
                result["early_stopping"]["texts"] = early_stopping.compared(
                    voters, sigma=SIGMA, n=options.adaptive_n
                )
    else:
        print("No --run: draws of texts are not timed.")
    result["digits"], smoother = digit_speed(options)
    show_digits(result["digits"])
    result["early_stopping"]["digits"] = early_stopping.compared(smoother, sigma=SIGMA, n=options.adaptive_n)
    for source, rows in result["early_stopping"].items():
        early_stopping.show(source, rows, n=options.adaptive_n)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def text_speed(
    text: TextModel, encoded: Sequence[Encoded], smoothing: Transformation, draws: int
) -> dict[str, Any]:
    """Seconds of our sampler and of the bare model calls, for as many rows."""
    requests = [(owner, 0, draws) for owner in range(len(encoded))]
    rows = [item for item in encoded for _ in range(draws)]

    def forward(batch: Any) -> None:
        with torch.inference_mode():
            text.forward(batch)

    def looks(batch: Any) -> None:
        text.gradient(batch)
        forward(batch)

    def timed(call: Callable[[Any], None], tokens: int) -> float:
        lengths = sorted({len(item) for item in rows})  # texts of one length together: nothing is padded
        batches = []
        for length in lengths:
            own, size = [item for item in rows if len(item) == length], max(1, tokens // length)
            batches += [text.batch(own[start : start + size]) for start in range(0, len(own), size)]
        start = time.perf_counter()
        map_batches(call, batches, text.device)
        return time.perf_counter() - start

    calls = {"forward": forward} | ({"looks": looks} if isinstance(smoothing, CertifiedMasked) else {})
    smoothing.sampler(text, encoded, seed=0, purpose=SELECT).counts([(0, 0, 16)])  # tables, allocation
    sizes = {size: timed(forward, size) for size in BATCH_TOKENS}
    best = min(sizes, key=lambda size: sizes[size])
    bare: dict[str, list[float]] = {name: [] for name in calls}
    ours: list[float] = []
    counts: list[NDArray[np.int64]] = []
    for turn in range(ROUNDS):
        start = time.perf_counter()
        counts = smoothing.sampler(text, encoded, seed=turn, purpose=ESTIMATE).counts(requests)
        ours.append(time.perf_counter() - start)
        for name, call in calls.items():
            bare[name].append(timed(call, best))
    return {
        "texts": len(encoded),
        "tokens_a_text": sum(map(len, encoded)) / len(encoded),
        "draws": len(rows),
        "seconds": min(ours),
        "draws_per_second": len(rows) / min(ours),
        "bare_seconds": {name: min(found) for name, found in bare.items()},
        "bare_batch_tokens": best,
        **{f"over_bare_{name}": min(found) / min(ours) for name, found in bare.items()},
        "leader_shares": [float(own.max() / own.sum()) for own in counts],
    }


def digit_speed(options: argparse.Namespace) -> tuple[dict[str, Any], Smoother]:
    """ART, ours and the plain loop; and the draws of our side, for early stopping."""
    found = digits_cnn.digits()
    if found is None:  # the times are the same, the answers mean nothing
        print("scikit-learn is not installed: random images and labels stand in for its digits.")
        found = torch.rand(500, *digits_cnn.SHAPE), torch.randint(digits_cnn.CLASSES, (500,))
    images, labels = found
    model = digits_cnn.trained(images[options.inputs :], labels[options.inputs :], sigma=SIGMA)
    images = images[: options.inputs].contiguous()
    draws = {"sigma": SIGMA, "n0": 100, "n": options.n}
    digits_cnn.plain_loop(model, images[:1], **draws, batch=IMAGE_BATCH)  # allocation
    ours, plain, art = [], [], []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        certificates = uf.certify(model, images, sigma=SIGMA, sampling=Sampling(n0=100, n=options.n))
        ours.append(time.perf_counter() - start)
        plain.append(digits_cnn.plain_loop(model, images, **draws, batch=IMAGE_BATCH))
        if art[-1:] != [None]:
            art.append(art_side(model, images, options))
    result: dict[str, Any] = {
        "inputs": len(images),
        "n": options.n,
        "seconds": min(ours),
        "plain_seconds": min(plain),
        "over_plain": min(ours) / min(plain),
        "certified": sum(one.status == "certified" for one in certificates),
        "mean_radius": sum(one.radius for one in certificates) / len(certificates),
    }
    if art[-1] is not None:
        result["art"] = art[-1] | {
            key: min(one[key] for one in art) for key in ("art_seconds", "plain_seconds")
        }
        result["art_over_plain"] = result["art"]["art_seconds"] / result["art"]["plain_seconds"]
        result["art_over_ours"] = result["art"]["art_seconds"] / min(ours)
    reader = TensorModel(model, digits_cnn.SHAPE)
    select = EmbeddingNoise(SIGMA).sampler(reader, reader.read(images), seed=0, purpose=SELECT)
    return result, Smoother(select, select.again(ESTIMATE), digits_cnn.CLASSES, len(images))


def art_side(
    model: torch.nn.Module, images: torch.Tensor, options: argparse.Namespace
) -> dict[str, Any] | None:
    """ART's times, from its own environment; None where there is none."""
    if not options.python.exists():
        return None
    with tempfile.TemporaryDirectory() as folder:
        weights, inputs, out = (Path(folder, name) for name in ("model.npz", "inputs.npy", "out.json"))
        digits_cnn.save(model, weights)
        np.save(inputs, images.numpy())
        command = [options.python, BASELINE, "--weights", weights, "--inputs", inputs, "--json", out]
        command += ["--n", options.n, "--sigma", SIGMA, "--batch", IMAGE_BATCH, "--threads", options.threads]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if done.returncode:
            print(f"ART's side failed: {done.stderr.strip().splitlines()[-1]}")
            return None
        found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


def show_texts(name: str, one: dict[str, Any]) -> None:
    looks = (
        f"; of the same model calls (saliency and forward): {one['over_bare_looks']:.2f}"
        if "over_bare_looks" in one
        else ""
    )
    print(
        f"{name:17} {one['draws']} draws of {one['texts']} texts, {one['draws_per_second']:.0f} a second; "
        f"share of the bare forward's speed: {one['over_bare_forward']:.2f}{looks}"
    )


def show_digits(one: dict[str, Any]) -> None:
    print(f"digits: {one['inputs']} inputs, n {one['n']}, {one['certified']} certified")
    print(f"  ours / plain loop   {one['over_plain']:.2f}  (must be at most 1.2)")
    if "art" in one:
        print(f"  ART / plain loop    {one['art_over_plain']:.2f}")
        print(f"  ART / ours          {one['art_over_ours']:.2f}")
    else:
        print("  ART is not there: `make art-venv` makes its environment. The rest does not need it.")


if __name__ == "__main__":
    main()
