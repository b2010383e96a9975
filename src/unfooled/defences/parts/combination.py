"""Several defences in one training, by name: ``a+b``.

Losses add. The loss of plain fine-tuning counts once, and not at all where a part trains on inputs of its
own: two methods of the form «cross-entropy + term» are one cross-entropy + both terms, from one forward pass;
``rsmi`` and such a method are RSMI's cross-entropy, on its masked inputs, + the term on the clean ones. Two
parts that both train on inputs of their own add both cross-entropies.

A part that shapes the task loss (flooding) shapes this sum. A part with ``backward`` makes its own passes
first and brings the task loss with it, and the terms of the parts that want to be in every pass. Of the other
parts, whatever is not plain fine-tuning is added in one more pass. ``on_epoch`` is called in the order of the
names, each part with what the one before it made. At most one part may make its own passes, and at most one
bring a predictor other than plain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from torch import Tensor, nn

from unfooled.defences.parts.base import Defence
from unfooled.defences.session import (
    CopyMaker,
    Losses,
    OwnRate,
    Session,
    Step,
    Training,
    TrainingData,
    shaped_by,
    total,
)
from unfooled.errors import UsageError
from unfooled.models import Model
from unfooled.predictors import Plain, Predictor


@dataclass(frozen=True)
class Combination:
    """Defences that are trained together."""

    parts: tuple[Defence, ...]

    def __post_init__(self) -> None:
        names = [part.name for part in self.parts]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise UsageError(f"The defence {self.name} names {twice[0]} twice. Name each part once.")
        _one_leads(self.name, [part.name for part in self.parts if getattr(part, "own_passes", False)])
        own = [part for part in self.parts if part.deployed_as != Plain.name]
        if len(own) > 1:
            told = " and ".join(f"{part.name} ({part.deployed_as})" for part in own)
            raise UsageError(
                f"The defence {self.name} cannot be deployed: {told} each bring a predictor, but a "
                "classifier has one. Combine at most one of them with defences that are deployed as plain."
            )

    @property
    def name(self) -> str:
        return "+".join(part.name for part in self.parts)

    @property
    def summary(self) -> str:
        return " + ".join(part.summary for part in self.parts)

    @property
    def learning_rate(self) -> float:
        return min(part.learning_rate for part in self.parts)

    @property
    def certifies(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(threat for part in self.parts for threat in part.certifies))

    @property
    def deployed_as(self) -> str:
        return self._deployed.deployed_as

    @property
    def _deployed(self) -> Defence:
        """The part whose predictor is deployed."""
        own = [part for part in self.parts if part.deployed_as != Plain.name]
        return (own or list(self.parts))[0]

    def resolved(self, model: Model) -> Combination:
        return Combination(tuple(part.resolved(model) for part in self.parts))

    def begin(self, training: Training) -> CombinedSession:
        return CombinedSession(training, self)

    def predictor(self, model: Model) -> Predictor:
        return self._deployed.predictor(model)


class CombinedSession(Session[Combination]):
    """The sessions of the parts, as one."""

    def __init__(self, training: Training, defence: Combination) -> None:
        super().__init__(training, defence)
        self.parts = parts = {part.name: part.begin(training) for part in defence.parts}
        self.whole_from = max(part.whole_from for part in parts.values())
        self.modules = {name: nn.ModuleDict(part.modules) for name, part in parts.items() if part.modules}
        several = [name for name, part in parts.items() if part.overrides("backward")]
        _one_leads(defence.name, several)
        others = [part for name, part in parts.items() if name not in several]
        self._leading = parts[several[0]] if several else None
        self._own = [part for part in others if part.overrides("loss")]
        self._adding = [part for part in others if part.overrides("terms") or part.overrides("penalty")]
        if self._leading is not None:
            self._leading.companions = [
                part for part in others if part.in_every_pass and part not in self._own
            ]
            self._adding = [part for part in self._adding if not part.in_every_pass]

    def loss(self, batch: Any, step: Step) -> Losses:
        """The sum of the parts with a loss of their own; where there is none, that of plain fine-tuning."""
        losses = self._unshaped(batch, step)
        step.note("task_loss", losses.task)
        return replace(losses, task=self.shaped(losses.task, step))

    def _unshaped(self, batch: Any, step: Step) -> Losses:
        losses = [part.loss(batch, step) for part in self._own]
        if self._leading is not None or len(losses) > 1:  # else it is the task loss
            for part, found in zip(self._own, losses, strict=True):
                step.note(f"{part.defence.name}_loss", found.total)
        if self._adding or not losses:
            seen = self.look(batch, self._adding)
            losses.append(Losses(seen.task, self.added(seen, step, self._adding), plain=True))
        own = [one.task for one in losses if not one.plain]
        extra = total(one.extra for one in losses)
        return Losses(sum(own[1:], own[0]) if own else losses[-1].task, extra, plain=not own)

    def shaped(self, task: Tensor, step: Step) -> Tensor:
        return shaped_by(self.parts.values(), task, step)

    def backward(self, batch: Any, step: Step) -> Tensor:
        if self._leading is None:
            return super().backward(batch, step)
        loss = self._leading.backward(batch, step)
        if not (self._own or self._adding):
            return loss
        return loss + step.accumulate(lambda: self._besides_plain(batch, step))

    def _besides_plain(self, batch: Any, step: Step) -> Tensor:
        """What the other parts add where one part has brought the task loss."""
        losses = self._unshaped(batch, step)
        if not losses.plain:
            return replace(losses, task=self.shaped(losses.task, step)).total
        return losses.task * 0 if losses.extra is None else losses.extra

    def on_epoch(self, epoch: int, data: TrainingData) -> TrainingData | None:
        changed = None
        for part in self.parts.values():
            made = part.on_epoch(epoch, data if changed is None else changed)
            changed = changed if made is None else made
        return changed

    def lengths(self, epoch: int, data: TrainingData) -> Sequence[int] | None:
        """Of the first part that has any."""
        found = (part.lengths(epoch, data) for part in self.parts.values())
        return next((own for own in found if own is not None), None)

    def makes_copies(self) -> bool:
        return any(part.makes_copies() for part in self.parts.values())

    def copy_makers(self, epoch: int, data: TrainingData) -> dict[str, CopyMaker]:
        made = [part.copy_makers(epoch, data) for part in self.parts.values()]
        return {name: maker for own in made for name, maker in own.items()}

    def own_rates(self) -> list[OwnRate]:
        return [one for part in self.parts.values() for one in part.own_rates()]

    def state_dict(self) -> dict[str, Any]:
        return {name: part.state_dict() for name, part in self.parts.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        for name, part in self.parts.items():
            part.load_state_dict(state[name])

    def figures(self) -> dict[str, Any]:
        return {name: figures for name, part in self.parts.items() if (figures := part.figures())}

    def warnings(self) -> list[str]:
        return [told for part in self.parts.values() for told in part.warnings()]


def _one_leads(name: str, several: Sequence[str]) -> None:
    """Refuse more than one part that makes the passes of a step."""
    if len(several) > 1:
        raise UsageError(
            f"The defence {name} cannot be trained: {' and '.join(several)} each make the passes of a "
            "training step. Name one of them."
        )


def settings_of_parts(
    names: Sequence[str], classes: Sequence[type[Any]], given: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The settings of each part from ``part.setting``, or ``setting`` where one part alone has it."""
    whole = "+".join(names)
    found: dict[str, dict[str, Any]] = {name: {} for name in names}
    for key, value in given.items():
        part, dot, setting = (owned_setting(names, classes, key) or key).rpartition(".")
        if not dot:
            known = _known(names, classes)
            listed = ", ".join(f"{name}.{one}" for name in names for one in sorted(known[name]))
            raise UsageError(f"defence '{whole}' has no setting '{key}'. Its settings: {listed or 'none'}.")
        if part not in found:
            raise UsageError(
                f"defence '{whole}' has no part '{part}' (setting '{key}'). Its parts: {', '.join(names)}."
            )
        before = found[part].setdefault(setting, value)
        if before != value:
            raise UsageError(
                f"defence '{whole}': {setting} and {part}.{setting} are one setting, but were given as "
                f"{before!r} and {value!r}. Give it once."
            )
    return [found[name] for name in names]


def owned_setting(names: Sequence[str], classes: Sequence[type[Any]], key: str) -> str | None:
    """``part.setting`` of what ``key`` means; None if no part has it. One of several parts must be named."""
    known = _known(names, classes)
    part, dot, setting = key.rpartition(".")
    if dot:
        return key if setting in known.get(part, ()) else None
    owners = [name for name in names if key in known[name]]
    if len(owners) > 1:
        choices = " or ".join(f"{name}.{key}" for name in owners)
        raise UsageError(
            f"defence '{'+'.join(names)}': {' and '.join(owners)} both have the setting '{key}'. Say whose "
            f"is meant: {choices}."
        )
    return f"{owners[0]}.{key}" if owners else None


def _known(names: Sequence[str], classes: Sequence[type[Any]]) -> dict[str, set[str]]:
    return {name: {f.name for f in fields(cls)} for name, cls in zip(names, classes, strict=True)}
