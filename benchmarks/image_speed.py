"""What certificates of images cost: our samplers against the bare forward pass, Cohen's procedure and ART.

    python benchmarks/image_speed.py [--images 20] [--draws 1000] [--threads 2] [--json OUT]

At 28×28 and 48×48, on one network of two convolutions: draws per second of our sampler over bare forwards of
as many rows, batched before, at the best of four batch sizes; whole certificates against the loop of Cohen et
al. 2019 and, where its environment is there (``make art-venv``), against ART. ARS: the time of a draw over
one of plain noise, and the mask network's share of it. The network is untrained: times do not depend on it.
All sides but ART use the channels-last layout. They are timed in turn, three times; the shortest counts.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import digits_cnn
import unfooled as uf
from certify_speed import IMAGE_BATCH, ROUNDS, SIGMA, art_side
from unfooled.certificates.sampling import Sampling
from unfooled.hub.batches import map_batches
from unfooled.models import ImageModel, new_image_model
from unfooled.predictors import Ars, Classifier, Vote
from unfooled.predictors.smoothing import ESTIMATE, EmbeddingNoise, Transformation

SIZES = (28, 48)
NETWORKS = {28: "mnist-cnn", 48: "small-cnn:width=16"}
"""Those of the presets paper-stn and paper-ars."""
BATCHES = (64, 128, 256, 512)
MASKS: dict[str, dict[str, Any]] = {
    "UNet of 8": {"width": 8},
    "UNet of 8, shrink 2": {"width": 8, "shrink": 2},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=20)
    parser.add_argument("--draws", type=int, default=1000, help="draws per image")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--python", type=Path, default=Path(".venv-art/bin/python"))
    parser.add_argument("--json", type=Path, help="write all figures here")
    options = parser.parse_args()
    options.n = options.draws
    torch.set_num_threads(options.threads)
    result = {size: measured(size, options) for size in SIZES}
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def measured(size: int, options: argparse.Namespace) -> dict[str, Any]:
    """All figures at one size."""
    torch.manual_seed(0)
    shape = (1, size, size)
    network = digits_cnn.network(shape).eval()
    images = torch.rand(options.images, *shape)
    model = ImageModel(network, shape, described={"name": "benchmark", "settings": {}})
    seconds = _in_turn(
        {
            "ours": lambda: draw(model, EmbeddingNoise(SIGMA), images, options.draws),
            "bare": lambda: bare(model, len(images) * options.draws),
            "certify": lambda: certify(model, images, options.draws),
            "cohen": lambda: digits_cnn.plain_loop(
                network, images, sigma=SIGMA, n0=100, n=options.draws, batch=IMAGE_BATCH
            ),
        }
    )
    art = [art_side(network, images, options) for _ in range(ROUNDS if options.python.exists() else 0)]
    known = [one["art_seconds"] for one in art if one is not None]
    used = of_preset(size, images, options.draws)
    found: dict[str, Any] = {
        "preset_network": used,
        "seconds": seconds,
        "draws_per_second": len(images) * options.draws / seconds["ours"],
        "over_bare": seconds["bare"] / seconds["ours"],
        "cohen_over_ours": seconds["cohen"] / seconds["certify"],
        "art_over_ours": min(known) / seconds["certify"] if known else None,
        "ars": {},
    }
    print(f"{size}×{size}: {found['draws_per_second']:.0f} draws per second")
    print(f"  share of the bare forward's speed  {found['over_bare']:.2f}")
    print(f"  the same, {used['name']:24} {used['over_bare']:.2f}  (must be at least 0.85)")
    print(f"  Cohen's loop / ours                {found['cohen_over_ours']:.2f}")
    if known:
        print(f"  ART / ours                         {found['art_over_ours']:.2f}")
    few = max(100, options.draws // 5)
    for name, settings in MASKS.items():
        model.attach_mask("unet", settings)
        look = torch.rand(IMAGE_BATCH, *shape)
        times = _in_turn(
            {
                "plain": lambda: draw(model, EmbeddingNoise(SIGMA), images, few),
                "ars": lambda: draw(model, Ars(sigma=SIGMA), images, few),
                "mask": lambda look=look: mask_alone(model, look, len(images) * few),
            }
        )
        own = {"over_plain": times["ars"] / times["plain"], "mask_share": times["mask"] / times["ars"]}
        found["ars"][name] = own
        print(f"  ARS, {name}: {own['over_plain']:.2f} of plain noise; mask {own['mask_share']:.0%} of it")
    return found


def of_preset(size: int, images: torch.Tensor, draws: int) -> dict[str, Any]:
    """Our sampler over the bare forward with the network of the preset of this size."""
    name = NETWORKS[size]
    model = new_image_model(name, images.shape[1:], digits_cnn.CLASSES)
    times = _in_turn(
        {
            "ours": lambda: draw(model, EmbeddingNoise(SIGMA), images, draws),
            "bare": lambda: bare(model, len(images) * draws),
        }
    )
    speed = len(images) * draws / times["ours"]
    return {"name": name, "over_bare": times["bare"] / times["ours"], "draws_per_second": speed}


def _in_turn(sides: dict[str, Callable[[], float]]) -> dict[str, float]:
    """The shortest of ROUNDS times of each side; a first round, which pays for allocation, is left out."""
    for side in sides.values():
        side()
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(ROUNDS):
        for name, side in sides.items():
            times[name].append(side())
    return {name: min(own) for name, own in times.items()}


def draw(model: ImageModel, smoothing: Transformation, images: torch.Tensor, draws: int) -> float:
    """Seconds of our sampler."""
    start = time.perf_counter()
    sampler = smoothing.sampler(model, model.read(images), seed=0, purpose=ESTIMATE)
    sampler.counts([(owner, 0, draws) for owner in range(len(images))])
    return time.perf_counter() - start


def bare(model: ImageModel, rows: int) -> float:
    """Seconds of nothing but model calls, at the best batch size."""

    def of_batch(batch: torch.Tensor) -> None:
        with torch.inference_mode():
            model.module(batch)

    def timed(size: int) -> float:
        batches = list(torch.rand(rows, *model.shape).split(size))
        start = time.perf_counter()
        map_batches(of_batch, batches, model.device)
        return time.perf_counter() - start

    return min(timed(size) for size in BATCHES)


def certify(model: ImageModel, images: torch.Tensor, draws: int) -> float:
    """Seconds of whole certificates: 100 draws that choose a class, the others, bounds and checks."""
    vote = Vote(sigma=SIGMA, noise_layers=("embeddings",), masking="none")
    classifier = Classifier(model, vote, labels=[str(number) for number in range(model.num_labels)])
    start = time.perf_counter()
    uf.certify(classifier, images, threat="l2", sampling=Sampling(n0=100, n=draws))
    return time.perf_counter() - start


def mask_alone(model: ImageModel, look: torch.Tensor, rows: int) -> float:
    """Seconds of the mask network alone."""

    def of_batch(batch: torch.Tensor) -> None:
        with torch.inference_mode():
            model.masks(batch)

    batches = [look] * -(-rows // len(look))
    start = time.perf_counter()
    map_batches(of_batch, batches, model.device)
    return (time.perf_counter() - start) * rows / (len(look) * len(batches))


if __name__ == "__main__":
    main()
