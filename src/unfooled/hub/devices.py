"""Where and in which arithmetic a model runs.

bfloat16 is chosen only where the hardware has instructions for it. Without them a CPU emulates it and runs
several times *slower* than in float32 (docs/performance.md has the figures).
"""

from __future__ import annotations

import platform
import re
from pathlib import Path
from typing import TYPE_CHECKING

from unfooled.errors import UsageError, UserError
from unfooled.parsing import quoted

if TYPE_CHECKING:
    import torch

_DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d{1,3})?")
"""Devices that compute; PyTorch knows others, such as meta, which only pretend to."""
PRECISIONS = ("auto", "float32", "bf16")


def device_named(name: str) -> torch.device:
    """The device called ``name``; ``auto`` is the GPU (or Apple's) if there is one, else the CPU."""
    import torch

    if not _DEVICE.fullmatch(str(name)):
        raise UsageError(f"device must be auto, cpu, cuda, cuda:1 or mps, got {quoted(name)}.")
    if name == "auto":
        mps = torch.backends.mps.is_available()
        name = "cuda" if torch.cuda.is_available() else "mps" if mps else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].rstrip(" .")
        raise UserError(f"The device '{name}' cannot be used here: {reason}. Use 'auto' or 'cpu'.") from error
    return device


def check_precision(name: str) -> None:
    if name not in PRECISIONS:
        raise UsageError(f"precision must be auto, float32 or bf16, got {name!r}.")


def device_and_bf16(device: str, precision: str) -> tuple[torch.device, bool]:
    """The device, and whether to use bfloat16 on it."""
    check_precision(precision)
    where = device_named(device)
    return where, precision == "bf16" or (precision == "auto" and has_fast_bf16(where))


def has_fast_bf16(device: torch.device | str) -> bool:
    """True where bfloat16 matrix products run on native instructions."""
    import torch

    kind = torch.device(device).type
    if kind == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if kind == "cpu":
        flags = torch.cpu.get_capabilities()
        return bool(flags.get("avx512_bf16") or flags.get("amx_bf16") or flags.get("bf16"))
    return False


def machine_name(device: torch.device | str) -> str:
    """What computes here, for the record of measured times: ``AMD EPYC 7B13, 2 threads``."""
    import torch

    where = torch.device(device)
    if where.type == "cuda":
        return torch.cuda.get_device_name(where)
    threads = torch.get_num_threads()
    return f"{_processor()}, {threads} thread{'' if threads == 1 else 's'}"


def _processor() -> str:
    """The name of the CPU, where the system tells it; else its kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(filter(None, named), "") or platform.processor() or platform.machine() or "CPU"
