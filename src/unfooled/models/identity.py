"""Which weights and which code a model is made of, as digests, so that no results are taken for another's.

Hashing all weights takes a while, so :class:`WeightsDigest` keeps the digest until they change. A change
shows in PyTorch's version counters and in where the values lie; writes that PyTorch does not see (through
``.data`` or NumPy) show in a checksum of all values, which is many times faster than the digest.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from unfooled.hub.fingerprint import weights_of_module

_OWN = frozenset(vars(nn.Module()))
"""What every module holds; its hooks are looked at apart."""
_HOOKS = tuple(sorted(name for name in _OWN if name.endswith("_hooks")))
_PLAIN = (bool, int, float, str, bytes, type(None), torch.dtype, torch.device, torch.Size)


class WeightsDigest:
    """SHA-256 over the names and values of a module's weights, computed when they changed."""

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._seen: object = None
        self._digest = ""

    def __call__(self) -> str:
        seen = [
            (name, value.data_ptr(), value.dtype, tuple(value.shape), _version(value), _checksum(value))
            for name, value in self._module.state_dict(keep_vars=True).items()
        ]
        if seen != self._seen:
            self._digest, self._seen = weights_of_module(self._module), seen
        return self._digest


def code_digest(what: object) -> str | None:
    """Digest of the code behind a module or function and of the settings it holds.

    None where no digest covers a part of it: a lambda, a closure, an object of unknown state.
    """
    digest = hashlib.sha256()
    try:
        for part in _module_code(what) if isinstance(what, nn.Module) else _function_code(what):
            digest.update(part)
    except _CannotTell:
        return None
    return digest.hexdigest()


class _CannotTell(Exception):
    """A part whose state no digest covers."""


def _module_code(module: nn.Module) -> Iterator[bytes]:
    for name, part in module.named_modules():
        if any(getattr(part, hooks, None) for hooks in _HOOKS) or "forward" in vars(part):
            raise _CannotTell
        yield f"{name} {type(part).__module__}.{type(part).__qualname__}".encode()
        yield _source(type(part))
        for key, value in sorted(vars(part).items()):
            if key not in _OWN:
                yield key.encode() + b"=" + _state(value)
        for key, value in sorted(part.named_buffers(recurse=False)):  # some are not in the state_dict
            yield f"{key} {value.dtype} {tuple(value.shape)}".encode() + bytes(_bytes(value))


def _function_code(function: object) -> Iterator[bytes]:
    named = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"
    if not inspect.isfunction(function) or function.__closure__ or "<" in named:
        raise _CannotTell
    yield named.encode()
    yield _source(function)


def _state(value: object) -> bytes:
    if isinstance(value, _PLAIN):
        return repr(value).encode()
    if isinstance(value, list | tuple):
        return b"[" + b",".join(map(_state, value)) + b"]"
    if isinstance(value, dict) and all(isinstance(key, str | int) for key in value):
        return b"{" + b",".join(_state(k) + b":" + _state(v) for k, v in value.items()) + b"}"
    if isinstance(value, Tensor):
        return f"{value.dtype} {tuple(value.shape)} ".encode() + bytes(_bytes(value))
    if callable(value) and str(getattr(value, "__module__", "")).startswith("torch"):
        return f"{value.__module__}.{getattr(value, '__qualname__', value)}".encode()
    raise _CannotTell


def _source(what: Any) -> bytes:
    """The digest of the file that defines a class or function; PyTorch's own goes by its version."""
    if str(what.__module__).partition(".")[0] == "torch":
        return torch.__version__.encode()
    try:
        file = inspect.getsourcefile(what)
        return hashlib.sha256(Path(str(file)).read_bytes()).digest()
    except (OSError, TypeError) as error:
        raise _CannotTell from error


def _version(value: Tensor) -> int:
    return -1 if value.is_inference() else value._version


def _checksum(value: Tensor) -> int:
    flat = value.detach().contiguous().reshape(-1).view(torch.uint8)
    whole = len(flat) // 8 * 8
    words, rest = flat[:whole], flat[whole:]
    if words.storage_offset() % 8:  # a part of a larger storage: eight bytes cannot be read as one number
        words = words.clone()
    return int(words.view(torch.int64).sum()) * 31 + int(rest.sum())  # the sum may wrap around


def _bytes(value: Tensor) -> Any:
    return value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
