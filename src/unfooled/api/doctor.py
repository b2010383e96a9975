"""``unfooled doctor``: what is installed, cached and reachable here, and how fast this machine is.

Nothing is fetched and nothing is changed. Every finding that stands in the way of something says what to do.
"""

from __future__ import annotations

import os
import platform
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from http.client import HTTPException
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from unfooled import __version__, assets
from unfooled.assets.connection import Connection, without_password
from unfooled.assets.download_bar import readable
from unfooled.assets.index import pip_settings
from unfooled.errors import UserError

Health = Literal["ok", "missing", "warning", "wrong"]

PACKAGES = ("torch", "transformers", "tokenizers", "datasets", "numpy", "scipy", "spacy", "nltk")
EXTRAS = {
    "ray": ("ray", "work on a Ray cluster (--ray)"),
    "sklearn": ("skops", "scikit-learn pipelines as victims (sklearn:FILE.skops)"),
    "onnx": ("onnxruntime", "ONNX models as victims (onnx:FOLDER)"),
    "images": ("foolbox", "tasks, models and attacks of images"),
    "tensorboard": ("tensorboard", "curves of training (tensorboard --logdir RUN/logs)"),
}
"""Of each extra the package that it cannot do without, and what it is for."""
_LITTLE_SPACE = 2 * 1024**3
_TEXTS, _TOKENS, _EPOCH = 32, 32, 6718


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's list; ``wrong`` stands in the way of everything."""

    about: str
    state: Health
    found: str


def doctor(*, network: bool = True, speed: bool = True) -> list[Finding]:
    """Look at this machine. ``network=False`` asks no package index, ``speed=False`` computes nothing."""
    found = [*_installed(), *_extras(), *_machine(), *_cache()]
    if network:
        found += [_index()]
    if speed:
        found += [_speed()]
    return found


def as_dict(found: list[Finding]) -> dict[str, object]:
    return {
        "unfooled": __version__,
        "ok": all(one.state != "wrong" for one in found),
        "findings": [asdict(one) for one in found],
    }


def _installed() -> Iterator[Finding]:
    yield Finding("unfooled", "ok", f"{__version__} in {Path(__file__).parents[1]}")
    yield Finding("Python", "ok", f"{platform.python_version()}, {platform.platform()}")
    for name in PACKAGES:
        try:
            yield Finding(name, "ok", version(name))
        except PackageNotFoundError:
            yield Finding(name, "wrong", f"not installed. Install it: pip install {name}")


def _extras() -> Iterator[Finding]:
    for extra, (package, purpose) in EXTRAS.items():
        try:
            yield Finding(f"[{extra}]", "ok", f"{package} {version(package)}: {purpose}")
        except PackageNotFoundError:
            yield Finding(
                f"[{extra}]",
                "missing",
                f"{purpose}. If you need it: pip install 'unfooled[{extra}]'",
            )


def _machine() -> Iterator[Finding]:
    import torch

    from unfooled.hub.devices import device_named, has_fast_bf16

    device = device_named("auto")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    arithmetic = "bf16 (native)" if has_fast_bf16(device) else "float32 (no native bf16)"
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    yield Finding("device", "ok", f"{name}, {cores} cores, {torch.get_num_threads()} threads, {arithmetic}")
    if device.type == "cpu" and torch.version.cuda:
        yield Finding(
            "PyTorch build",
            "warning",
            f"made for CUDA {torch.version.cuda}, but there is no GPU. The build for the CPU is gigabytes "
            "smaller.",
        )


def _cache() -> Iterator[Finding]:
    folder = assets.cache_dir()
    nearest = next(place for place in (folder, *folder.parents) if place.exists())
    free = shutil.disk_usage(nearest).free
    if not os.access(nearest, os.W_OK):
        told = f"{folder} cannot be written. Set UNFOOLED_CACHE to a folder of yours."
        yield Finding("cache", "wrong", told)
    else:
        short = free < _LITTLE_SPACE
        yield Finding("cache", "warning" if short else "ok", f"{folder}, {readable(free)} free")
    here = [name for name in assets.names() if assets.cached(name)]
    rest = [name for name in assets.names() if name not in here]
    yield Finding("assets", "ok", f"cached: {', '.join(here) or 'none'}")
    if rest:
        size = readable(sum(assets.describe(name).size for name in rest))
        yield Finding(
            "",
            "missing",
            f"fetched when they are needed: {', '.join(rest)} ({size}; unfooled assets get NAME)",
        )


def _index() -> Finding:
    """Whether the package index that pip is set up for answers."""
    try:
        settings = pip_settings()
    except UserError as error:
        return Finding("package index", "warning", str(error))
    reasons = [*settings.find_links]
    for index in settings.indexes:
        connection = Connection(settings.proxy, settings.cert, min(settings.timeout, 10.0))
        started = time.perf_counter()
        try:
            with connection.open(index.rstrip("/") + "/pip/") as response:
                response.read(1)
        except (HTTPException, OSError, ValueError) as error:
            reasons.append(f"{without_password(index)}: {error}")
        else:
            return Finding(
                "package index", "ok", f"answers in {1000 * (time.perf_counter() - started):.0f} ms"
            )
    told = "; ".join(reasons) or "none is set"
    return Finding(
        "package index",
        "warning",
        f"{told}. What is cached works without it; for the rest set PIP_INDEX_URL.",
    )


def _speed() -> Finding:
    """Training steps of the default encoder's shape, with random weights: nothing is fetched."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    from unfooled.hub.devices import device_and_bf16

    device, bf16 = device_and_bf16("auto", "auto")
    config = BertConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
    )  # of the default encoder
    model = BertForSequenceClassification(config)
    torch.nn.Module.to(model, device)
    model.train()
    ids = torch.randint(1000, 20000, (_TEXTS, _TOKENS), device=device)
    labels = torch.zeros(_TEXTS, dtype=torch.long, device=device)
    took = []
    for _ in range(4):
        started = time.perf_counter()
        with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            loss = model(input_ids=ids, labels=labels).loss
        loss.backward()
        loss.detach().item()  # a GPU is asked for the result before the clock is read
        took.append(time.perf_counter() - started)
        model.zero_grad()
    rate = _TEXTS / min(took)
    return Finding(
        "speed",
        "ok",
        f"trains on {rate:.0f} texts of {_TOKENS} tokens per second (default encoder): about "
        f"{_EPOCH / rate / 60:.1f} minutes per epoch of movie-reviews",
    )
