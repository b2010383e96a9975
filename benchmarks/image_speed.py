"""What certificates of images cost: our samplers against the bare forward pass, Cohen's procedure and ART.

    python benchmarks/image_speed.py [--images 2] [--draws 512] [--rounds 7] [--json OUT]

At 28×28 and 48×48, on one network of two convolutions and on the network of a preset: draws of our sampler
over bare forwards of as many rows, batched before, at the best of three batch sizes; whole certificates
against the loop of Cohen et al. 2019, in this process and in one of its own, and against ART, where its
environment is there (``make art-venv``). ARS: a draw over one of plain noise, and the mask network's share.
The networks are untrained: times do not depend on it. All figures are processor time of one thread, the
sides in turn, the shortest of all rounds: other work on the machine changes little. About a minute per size.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import digits_cnn
import unfooled as uf
from certify_speed import SIGMA, art_side
from unfooled.certificates.sampling import Sampling
from unfooled.models import ImageModel, new_image_model
from unfooled.predictors import Ars, Classifier, Vote
from unfooled.predictors.smoothing import ESTIMATE, EmbeddingNoise, Transformation

SIZES = (28, 48)
NETWORKS = {28: "mnist-cnn", 48: "small-cnn:width=16"}
"""Those of the presets paper-stn and paper-ars."""
BATCHES = (64, 128, 256)
MASKS: dict[str, dict[str, Any]] = {
    "UNet of 8": {"width": 8},
    "UNet of 8, shrink 2": {"width": 8, "shrink": 2},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=2)
    parser.add_argument("--draws", type=int, default=512, help="draws per image")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--python", type=Path, default=Path(".venv-art/bin/python"))
    parser.add_argument("--json", type=Path, help="write all figures here")
    options = parser.parse_args()
    options.n, options.threads = options.draws, 1
    torch.set_num_threads(1)
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
    preset = new_image_model(NETWORKS[size], shape, digits_cnn.CLASSES)
    rows, few = options.images * options.draws, max(64, options.draws // 4)
    loop = {"sigma": SIGMA, "n0": 100, "n": options.draws, "batch": model.batch_size}
    sides: dict[str, Callable[[], object]] = {
        "ours": lambda: draw(model, EmbeddingNoise(SIGMA), images, options.draws),
        **{f"bare {batch}": bare(model, rows, batch) for batch in BATCHES},
        "certify": lambda: certify(model, images, options.draws),
        "cohen": lambda: digits_cnn.plain_loop(network, images, **loop),
        "preset": lambda: draw(preset, EmbeddingNoise(SIGMA), images, options.draws),
        **{f"bare preset {batch}": bare(preset, rows, batch) for batch in BATCHES},
        "plain": lambda: draw(preset, EmbeddingNoise(SIGMA), images, few),
    }
    look = torch.rand(model.batch_size, *shape)
    for name, settings in MASKS.items():
        masked = new_image_model(NETWORKS[size], shape, digits_cnn.CLASSES)
        masked.attach_mask("unet", settings)
        sides[f"ars {name}"] = lambda m=masked: draw(m, Ars(sigma=SIGMA), images, few)
        sides[f"mask {name}"] = lambda m=masked: mask_alone(m, look, options.images * few)
    seconds = _in_turn(sides, options.rounds)
    art = [art_side(network, images, options) for _ in range(2 if options.python.exists() else 0)]
    alone = {
        key: min(one[f"{key}_processor_seconds"] for one in art if one is not None)
        for key in ("art", "plain")
        if any(art)
    }
    found: dict[str, Any] = {
        "seconds": seconds,
        "load": os.getloadavg(),
        "draws_per_second": rows / seconds["ours"],
        "over_bare": min(seconds[f"bare {batch}"] for batch in BATCHES) / seconds["ours"],
        "preset_over_bare": min(seconds[f"bare preset {batch}"] for batch in BATCHES) / seconds["preset"],
        "cohen_over_ours": seconds["cohen"] / seconds["certify"],
        "cohen_alone_over_ours": alone["plain"] / seconds["certify"] if alone else None,
        "art_over_ours": alone["art"] / seconds["certify"] if alone else None,
        "ars": {
            name: {
                "over_plain": seconds[f"ars {name}"] / seconds["plain"],
                "mask_share": seconds[f"mask {name}"] / seconds[f"ars {name}"],
            }
            for name in MASKS
        },
    }
    show(size, found)
    return found


def show(size: int, found: dict[str, Any]) -> None:
    load = ", ".join(f"{one:.1f}" for one in found["load"])
    print(f"{size}×{size}: {found['draws_per_second']:.0f} draws per second and thread (load {load})")
    print(f"  share of the bare forward's speed       {found['over_bare']:.2f}  (must be at least 0.85)")
    print(f"  the same, {NETWORKS[size]:30}{found['preset_over_bare']:.2f}")
    print(f"  Cohen's loop / ours                     {found['cohen_over_ours']:.2f}")
    if found["art_over_ours"]:
        print(f"  Cohen's loop in its own process / ours  {found['cohen_alone_over_ours']:.2f}")
        print(f"  ART / ours                              {found['art_over_ours']:.2f}  (at least 2)")
    for name, own in found["ars"].items():
        print(f"  ARS, {name}: {own['over_plain']:.2f} of plain noise; mask {own['mask_share']:.0%} of it")


def _in_turn(sides: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The shortest processor time of each side; a first round, which pays for allocation, is left out."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds + 1):
        for name, side in sides.items():
            start = time.process_time()
            side()
            times[name].append(time.process_time() - start)
    return {name: min(own[1:]) for name, own in times.items()}


def draw(model: ImageModel, smoothing: Transformation, images: torch.Tensor, draws: int) -> None:
    """Our sampler."""
    sampler = smoothing.sampler(model, model.read(images), seed=0, purpose=ESTIMATE)
    sampler.counts([(owner, 0, draws) for owner in range(len(images))])


def bare(model: ImageModel, rows: int, size: int) -> Callable[[], None]:
    """Nothing but model calls."""
    batches = torch.rand(rows, *model.shape).split(size)

    def run() -> None:
        with torch.inference_mode():
            for batch in batches:
                model.module(batch)

    return run


def certify(model: ImageModel, images: torch.Tensor, draws: int) -> None:
    """Whole certificates: 100 draws that choose a class, the others, bounds and checks."""
    vote = Vote(sigma=SIGMA, noise_layers=("embeddings",), masking="none")
    classifier = Classifier(model, vote, labels=[str(number) for number in range(model.num_labels)])
    uf.certify(classifier, images, threat="l2", sampling=Sampling(n0=100, n=draws))


def mask_alone(model: ImageModel, look: torch.Tensor, rows: int) -> None:
    """The mask network alone."""
    with torch.inference_mode():
        for first in range(0, rows, len(look)):
            model.masks(look[: rows - first])


if __name__ == "__main__":
    main()
