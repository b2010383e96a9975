"""Which arithmetic is fast here: bfloat16 only where the hardware has instructions for it.

Without them a CPU emulates bfloat16 and runs several times *slower* than float32
(docs/performance.md has the figures), so «auto» must look before it leaps.
"""

from __future__ import annotations

import torch


def has_fast_bf16(device: torch.device | str) -> bool:
    """True where bfloat16 matrix products run on native instructions."""
    kind = torch.device(device).type
    if kind == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if kind == "cpu":
        flags = torch.cpu.get_capabilities()
        return bool(flags.get("avx512_bf16") or flags.get("amx_bf16") or flags.get("bf16"))
    return False


def default_device() -> torch.device:
    """The GPU (or Apple's) if there is one, else the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")
