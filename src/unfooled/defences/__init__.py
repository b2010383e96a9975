"""Defences by name. A new one is a file beside this one and a line in ``DEFENCES``; ``a+b`` combines two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from unfooled.data import TaskData
from unfooled.defences.a2t_training import A2TTraining
from unfooled.defences.advaug import AdvAug
from unfooled.defences.alum import Alum
from unfooled.defences.ars import ArsDefence, StaticMaskDefence
from unfooled.defences.bat import BatPairwise, BatTriplet
from unfooled.defences.certified_rsmi import CertifiedRsmi
from unfooled.defences.flooding import Flooding
from unfooled.defences.freelb import FreeLB
from unfooled.defences.infobert import InfoBert
from unfooled.defences.mixup import Mixup
from unfooled.defences.noise_augment import NoiseAugment
from unfooled.defences.parts.base import Defence
from unfooled.defences.parts.combination import Combination, owned_setting, settings_of_parts
from unfooled.defences.parts.preparation import MadeExample, MadeExamples, Preparation, preparations
from unfooled.defences.pgd import Pgd
from unfooled.defences.random_delete import RandomDelete
from unfooled.defences.random_mask import RandomMask
from unfooled.defences.rsmi import Rsmi
from unfooled.defences.safer import Safer
from unfooled.defences.session import (
    CopyMaker,
    Losses,
    Pass,
    Session,
    Step,
    Training,
    TrainingData,
    TrainingExample,
    shaped_by,
)
from unfooled.defences.smart import Smart
from unfooled.defences.stability import Stability
from unfooled.defences.standard import Standard
from unfooled.defences.trades import Trades
from unfooled.errors import UsageError
from unfooled.files import JsonObject
from unfooled.models import Model
from unfooled.registry import Registry
from unfooled.settings import build

DEFENCES: Registry[type[Any]] = Registry(
    "defence",
    (
        Standard,
        Rsmi,
        NoiseAugment,
        Stability,
        RandomMask,
        RandomDelete,
        Safer,
        CertifiedRsmi,
        FreeLB,
        InfoBert,
        AdvAug,
        A2TTraining,
        BatPairwise,
        BatTriplet,
        Smart,
        Alum,
        Trades,
        Flooding,
        Mixup,
        Pgd,
        StaticMaskDefence,
        ArsDefence,
    ),
    needs=("summary", "learning_rate", "certifies", "deployed_as"),
)


def make_defence(name: str, settings: Mapping[str, object] | None = None) -> Defence:
    """A defence, or several (``a+b``), with settings that are checked by name, type and range."""
    names, classes = _parts(name)
    given = [settings or {}] if len(names) == 1 else settings_of_parts(names, classes, settings or {})
    parts: list[Defence] = [
        build(cls, values, owner=f"defence '{one}'")
        for one, cls, values in zip(names, classes, given, strict=True)
    ]
    return parts[0] if len(parts) == 1 else Combination(tuple(parts))


def _parts(name: str) -> tuple[list[str], list[type[Any]]]:
    """The names and classes of the parts of a defence, one or more."""
    names = name.split("+") if isinstance(name, str) else [name]
    if len(names) > 1 and not all(names):
        raise UsageError(
            f"The defence {name!r} has an empty part. Join names by +, for example rsmi+bat-triplet."
        )
    return names, [DEFENCES.choose(one) for one in names]


def setting_meant(name: str, key: str) -> str | None:
    """The setting of the defence that ``key`` means, as :func:`settings_of` names it; None if it has none."""
    names, classes = _parts(name)
    if len(names) > 1:
        return owned_setting(names, classes, key)
    return key if key in {f.name for f in fields(classes[0])} else None


def check_data(defence: Defence, data: TaskData) -> None:
    """Refuse data that a defence cannot be trained on; it, or a part of it, knows (``check_data``)."""
    for part in defence.parts if isinstance(defence, Combination) else (defence,):
        if hasattr(part, "check_data"):
            part.check_data(data)


def check_kind(defence: Defence, model: Model) -> None:
    """Refuse a kind of model that a defence, or a part of it, says it cannot serve (``refuses``)."""
    for part in defence.parts if isinstance(defence, Combination) else (defence,):
        if reason := getattr(part, "refuses", {}).get(model.kind):
            raise UsageError(f"The defence '{part.name}' does not serve {model.kind}s: {reason}.")


def settings_of(defence: Defence) -> JsonObject:
    """The settings of a defence, as saved with a classifier; those of a combination as ``part.setting``."""
    if isinstance(defence, Combination):
        return {
            f"{part.name}.{name}": value
            for part in defence.parts
            for name, value in settings_of(part).items()
        }
    return {f.name: getattr(defence, f.name) for f in fields(defence)}  # type: ignore[arg-type]


def trains_for(name: str, threat: str) -> bool:
    """Whether the defence, or a part of it, trains for certificates against a threat; False if not known."""
    return threat in threats_of(name)


def threats_of(name: str) -> tuple[str, ...]:
    """The threats that the defence, or a part of it, trains for, the first one first; none if not known."""
    parts = [DEFENCES[one] for one in name.split("+") if one in DEFENCES]
    return tuple(dict.fromkeys(threat for part in parts for threat in part.certifies))


def deployed_for(predictor: str) -> tuple[str, ...]:
    """The threats for which some defence deploys this predictor."""
    found = [cls.certifies for cls in DEFENCES.values() if cls.deployed_as == predictor and cls.certifies]
    return tuple(found[0]) if found else ()


def training_for(threat: str, kind: str | None = None) -> tuple[str, ...]:
    """The defences that train for certificates against a threat, and serve this kind of model."""
    serving = (name for name, cls in DEFENCES.items() if kind not in getattr(cls, "refuses", {}))
    return tuple(name for name in serving if threat in DEFENCES[name].certifies)


__all__ = [
    "DEFENCES",
    "A2TTraining",
    "AdvAug",
    "Alum",
    "BatPairwise",
    "BatTriplet",
    "CertifiedRsmi",
    "Combination",
    "CopyMaker",
    "Defence",
    "Flooding",
    "FreeLB",
    "InfoBert",
    "Losses",
    "MadeExample",
    "MadeExamples",
    "Mixup",
    "NoiseAugment",
    "Pass",
    "Pgd",
    "Preparation",
    "RandomDelete",
    "RandomMask",
    "Rsmi",
    "Safer",
    "Session",
    "Smart",
    "Stability",
    "Standard",
    "Step",
    "Trades",
    "Training",
    "TrainingData",
    "TrainingExample",
    "check_data",
    "check_kind",
    "deployed_for",
    "make_defence",
    "preparations",
    "setting_meant",
    "settings_of",
    "shaped_by",
    "threats_of",
    "training_for",
    "trains_for",
]
