"""A small convolutional network on scikit-learn's digits, and smoothing as one would write it down.

Shared by certify_speed.py, image_speed.py and art_baseline.py, which run in environments of their own:
nothing here imports unfooled or ART.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

CLASSES = 10
SHAPE = (1, 8, 8)


def digits() -> tuple[Tensor, Tensor] | None:
    """All 1,797 digits ``(digits, 1, 8, 8)`` with values in [0, 1], and their labels; None if not at hand."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        return None
    found: Any = load_digits()
    images = torch.from_numpy(np.ascontiguousarray(found.images[:, None], dtype=np.float32) / 16)
    return images, torch.from_numpy(found.target.astype(np.int64))


def network(shape: tuple[int, ...] = SHAPE) -> nn.Sequential:
    channels, height, width = shape
    return nn.Sequential(
        nn.Conv2d(channels, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * (height // 2) * (width // 2), CLASSES),
    )


def trained(images: Tensor, labels: Tensor, *, sigma: float, epochs: int = 15) -> nn.Sequential:
    """The network after a few seconds of training under the noise it is certified with."""
    torch.manual_seed(0)
    model = network()
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(epochs):
        for rows in torch.randperm(len(images)).split(128):
            loss = F.cross_entropy(model(images[rows] + sigma * torch.randn(len(rows), *SHAPE)), labels[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return model.eval()


def save(model: nn.Module, path: Path) -> None:
    np.savez(path, **{name: value.numpy() for name, value in model.state_dict().items()})


def load(path: Path, shape: tuple[int, ...] = SHAPE) -> nn.Sequential:
    model = network(shape)
    with np.load(path) as saved:
        model.load_state_dict({name: torch.from_numpy(saved[name]) for name in saved.files})
    return model.eval()


def plain_loop(model: nn.Module, images: Tensor, *, sigma: float, n0: int, n: int, batch: int) -> float:
    """Seconds of noise, forward, count: n0 draws that choose a class and n others, for every image.

    The procedure of Cohen et al. 2019 (their core.py), without the bounds.
    """
    start = time.perf_counter()
    with torch.inference_mode():
        for image in images:
            for draws in (n0, n):
                counts = torch.zeros(CLASSES, dtype=torch.long)
                for first in range(0, draws, batch):
                    size = min(batch, draws - first)
                    noisy = image + sigma * torch.randn(size, *image.shape)
                    counts += torch.bincount(model(noisy).argmax(dim=1), minlength=CLASSES)
    return time.perf_counter() - start
