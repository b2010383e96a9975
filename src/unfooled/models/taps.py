"""Reach into a running encoder: replace embeddings, add noise at sites, copy rows, record states.

A pass may also end at the first noise site (``reach``), and a later one go on from there.

The model is always called with its token ids, and hooks change what flows inside. That works for
every architecture alike, including those that refuse ``inputs_embeds`` (T5), and keeps position
numbers right where they are computed from the ids (RoBERTa).
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from unfooled.models.architecture import Architecture
from unfooled.models.first_token import first_token_of
from unfooled.models.model import Shared
from unfooled.models.noise import NoiseSampler, Site

_ARGUMENTS_WITH_ROWS = ("attention_mask", "position_bias")
"""Arguments of a block that have one entry per row (``position_bias``: MPNet)."""


@dataclass
class Tap:
    """What to change and what to record during one forward pass."""

    mask: Tensor
    """Attention mask of the rows that enter, ``(rows, tokens)``."""
    noised: Tensor
    """Which of their tokens noise is added at."""
    embeddings: Tensor | None = None
    """Used in place of the table's output."""
    sampler: NoiseSampler | None = None
    sites: tuple[Site, ...] = ()
    copies: Tensor | None = None
    """Index of the row that each leaving row copies; the copies are made at the first site."""
    first_token: bool = False
    """Compute the last block for the first token alone."""
    ends_at: Site | None = None
    """Run no further than this block: its output is raised as :class:`Reached`."""
    shared: Shared | None = None
    """Stands in for the blocks up to the first site; goes with ``copies``."""
    record: bool = False
    hidden: list[Tensor] = field(default_factory=list)
    """With ``record``: embeddings, then each block's output, noise included."""
    features: Tensor | None = None
    """With ``record``: what enters the first block."""
    last: Tensor | None = None
    """With ``record``: what the classification head is given, ``(rows, tokens, width)``."""
    ended: Shared | None = None
    """With ``record``: what the last block that ran gave, noise included."""

    calls: int = 0
    copied: bool = False
    entered: Tensor | None = None

    def visit(self, site: Site, hidden: Tensor) -> Tensor:
        """Copy rows at the first noise site, add the noise, record."""
        if site in self.sites:
            if self.copies is not None and not self.copied:
                hidden, self.mask = hidden[self.copies], self.mask[self.copies]
                self.noised = self.noised[self.copies]
                self.copied = True
            if self.sampler is not None:
                hidden = hidden + self.sampler(site, hidden, self.noised[:, : hidden.shape[1]])
        if self.record:
            self.hidden.append(hidden)
        return hidden


class Reached(Exception):
    """The pass came to its end; carries the states there."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared


class _Taps(threading.local):
    """The tap of each thread, by embedding table: threads may run one model side by side."""

    def __init__(self) -> None:
        self.of: dict[nn.Module, Tap] = {}


_TAPS = _Taps()
_LOCK = threading.Lock()
_HOOKS: dict[nn.Module, tuple[int, list[Any]]] = {}
"""By embedding table: how many threads are inside ``tapped``, and the hooks they share."""


@contextmanager
def tapped(architecture: Architecture, tap: Tap) -> Iterator[Tap]:
    """Make the tap act in this thread's forward passes inside the ``with`` block.

    The hooks are put in by the first thread that comes and taken out by the last that leaves, since
    PyTorch must not see hooks change during another thread's forward pass.
    """
    table = architecture.embeddings
    with _LOCK:
        users, handles = _HOOKS.get(table, (0, []))
        _HOOKS[table] = (users + 1, handles or list(_install(architecture)))
    _TAPS.of[table] = tap
    try:
        yield tap
    finally:
        del _TAPS.of[table]
        with _LOCK:
            users, handles = _HOOKS.pop(table)
            if users > 1:
                _HOOKS[table] = (users - 1, handles)
            else:
                for handle in handles:
                    handle.remove()


def _install(architecture: Architecture) -> Iterator[Any]:
    one_table = architecture.decoder_embeddings is architecture.embeddings

    def current() -> Tap | None:
        return _TAPS.of.get(architecture.embeddings)

    def at_embeddings(module: nn.Module, args: Any, output: Tensor) -> Tensor:
        tap = current()
        if tap is None:
            return output
        if one_table and tap.entered is not None:
            return at_decoder_embeddings(module, args, output)
        start = output if tap.embeddings is None else tap.embeddings.to(output.dtype)
        tap.entered = tap.visit("embeddings", start)
        return tap.entered

    def at_decoder_embeddings(module: nn.Module, args: Any, output: Tensor) -> Tensor:
        tap = current()
        if tap is None:
            return output
        # The decoder reads the same text, one step to the right: it must see the same (noisy)
        # embeddings, or the noise would leave a clean path around it.
        assert tap.entered is not None
        return torch.cat([output[:, :1], tap.entered[:, :-1]], dim=1)

    def at_block(module: nn.Module, args: Any, output: Any) -> Any:
        tap = current()
        if tap is None:
            return output
        site = tap.calls
        tap.calls += 1
        in_tuple = isinstance(output, tuple)
        states = output[0] if in_tuple else output
        if site == tap.ends_at:
            raise Reached(Shared(states, in_tuple))
        states = tap.visit(site, states)
        if tap.record:
            tap.ended = Shared(states, in_tuple)
        return (states, *output[1:]) if in_tuple else states

    def before_block(module: nn.Module, args: Any, kwargs: Any) -> Any:
        tap = current()
        if tap is not None and tap.record and tap.features is None:
            tap.features = args[0] if args else kwargs["hidden_states"]
        if tap is None or not tap.copied:
            return None
        bound = inspect.signature(module.forward).bind(*args, **kwargs)
        for name in _ARGUMENTS_WITH_ROWS:
            value = bound.arguments.get(name)
            if isinstance(value, Tensor):
                bound.arguments[name] = value[tap.copies]
        return bound.args, bound.kwargs

    def at_base(module: nn.Module, args: Any, output: Any) -> None:
        tap = current()
        if tap is not None and tap.record:
            tap.last = output[0]

    def shortcut(block: nn.Module) -> _Shortcut:
        last = architecture.first_token_suffices and block is architecture.blocks[-1]

        def instead(hidden_states: Any = None, attention_mask: Any = None, *args: Any, **kwargs: Any) -> Any:
            tap = current()
            if tap is None:
                return None
            if tap.shared is not None and not tap.copied:
                return (tap.shared.states,) if tap.shared.in_tuple else tap.shared.states
            if last and tap.first_token:
                return first_token_of(block, hidden_states, attention_mask)
            return None

        return instead

    for block in architecture.blocks:
        yield _Replaced(block, shortcut(block))
    yield architecture.embeddings.register_forward_hook(at_embeddings)
    if architecture.decoder_embeddings is not None and not one_table:
        yield architecture.decoder_embeddings.register_forward_hook(at_decoder_embeddings)
    yield architecture.base.register_forward_hook(at_base)
    for block in architecture.blocks:
        yield block.register_forward_hook(at_block)
        yield block.register_forward_pre_hook(before_block, with_kwargs=True)


_Shortcut = Callable[..., Any]
"""Called like a block; gives what the block would, or None for the block to run."""


class _Replaced:
    """Puts a shortcut before a block's own forward function, until ``remove``."""

    def __init__(self, block: nn.Module, shortcut: _Shortcut) -> None:
        own = block.forward

        @functools.wraps(own)
        def forward(*args: Any, **kwargs: Any) -> Any:
            output = shortcut(*args, **kwargs)
            return own(*args, **kwargs) if output is None else output

        self._block = block
        block.forward = forward

    def remove(self) -> None:
        del self._block.forward
