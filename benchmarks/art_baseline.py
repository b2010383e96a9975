"""Randomised smoothing by the Adversarial Robustness Toolbox: what certify_speed.py and image_speed.py ask.

    .venv-art/bin/python benchmarks/art_baseline.py --weights FILE.npz --inputs FILE.npy --json OUT

Runs in the environment of `make art-venv`, apart from unfooled's: the same network, inputs, numbers of draws,
batch size and threads. ART's certify is called as its documentation says; the plain loop is timed here too,
so that ART is compared with it under the same libraries.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import time
from pathlib import Path

import numpy as np
import torch
from art.estimators.certification.randomized_smoothing import PyTorchRandomizedSmoothing

import digits_cnn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--weights", required=True, type=Path)
    parser.add_argument("--inputs", required=True, type=Path)
    parser.add_argument("--json", required=True, type=Path)
    parser.add_argument("--n0", type=int, default=100)
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--sigma", type=float, default=0.25)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    np.random.seed(0)
    images = np.load(options.inputs)
    model = digits_cnn.load(options.weights, images.shape[1:])
    smoothed = PyTorchRandomizedSmoothing(
        model=model,
        loss=torch.nn.CrossEntropyLoss(),
        input_shape=images.shape[1:],
        nb_classes=digits_cnn.CLASSES,
        device_type="cpu",
        sample_size=options.n0,
        scale=options.sigma,
        alpha=0.001,
    )
    smoothed.certify(images[:1], n=64, batch_size=options.batch)  # the first pass pays for allocation
    start, processor = time.perf_counter(), time.process_time()
    answers, radii = smoothed.certify(images, n=options.n, batch_size=options.batch)
    seconds, art_processor = time.perf_counter() - start, time.process_time() - processor
    processor = time.process_time()
    plain = digits_cnn.plain_loop(
        model,
        torch.from_numpy(images),
        sigma=options.sigma,
        n0=options.n0,
        n=options.n,
        batch=options.batch,
    )
    result = {
        "art_processor_seconds": art_processor,
        "plain_processor_seconds": time.process_time() - processor,
        "art_seconds": seconds,
        "plain_seconds": plain,
        "certified": int((np.asarray(answers) >= 0).sum()),
        "mean_radius": float(np.mean(radii)),
        "versions": {
            name: importlib.metadata.version(name)
            for name in ("adversarial-robustness-toolbox", "torch", "numpy")
        },
    }
    options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
