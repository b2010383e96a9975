"""Defences by name. A new one is a file beside this one and a line in ``DEFENCES``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from unfooled.defences.base import Defence, Step
from unfooled.defences.certified_rsmi import CertifiedRsmi
from unfooled.defences.noise_augment import NoiseAugment
from unfooled.defences.random_mask import RandomMask
from unfooled.defences.rsmi import Rsmi
from unfooled.defences.safer import Safer
from unfooled.defences.stability import Stability
from unfooled.defences.standard import Standard
from unfooled.registry import Registry
from unfooled.settings import build

DEFENCES: Registry[type[Any]] = Registry(
    "defence",
    (Standard, Rsmi, NoiseAugment, Stability, RandomMask, Safer, CertifiedRsmi),
    needs=("summary", "learning_rate"),
)


def make_defence(name: str, settings: Mapping[str, Any] | None = None) -> Defence:
    """A defence with its settings, each checked by name, type and range."""
    defence: Defence = build(DEFENCES.choose(name), settings or {}, owner=f"defence '{name}'")
    return defence


def settings_of(defence: Defence) -> dict[str, Any]:
    """The settings of a defence, as saved with a classifier."""
    return {f.name: getattr(defence, f.name) for f in fields(defence)}  # type: ignore[arg-type]


__all__ = [
    "DEFENCES",
    "CertifiedRsmi",
    "Defence",
    "NoiseAugment",
    "RandomMask",
    "Rsmi",
    "Safer",
    "Stability",
    "Standard",
    "Step",
    "make_defence",
    "settings_of",
]
