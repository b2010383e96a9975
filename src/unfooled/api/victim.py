"""What an attack is pointed at: a run folder, a classifier, any victim, or a spec that names one.

``identity`` says which victim it is, down to the weights: results of another one are never taken for its own.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unfooled.attacks.victim import Victim
from unfooled.data.inputs import Reader, Reads
from unfooled.errors import UsageError
from unfooled.files import writable

if TYPE_CHECKING:
    from unfooled.predictors import Classifier
    from unfooled.predictors.override import PredictorChoice


@dataclass(frozen=True)
class Target:
    """A victim with what is known about it."""

    victim: Victim
    name: str
    identity: Mapping[str, Any]
    reader: Reads
    run: Path | None = None
    """The run folder, which also says what the victim was trained on."""


def open_target(
    what: Any,
    *,
    predictor: PredictorChoice = None,
    victim_options: Mapping[str, Any] | None = None,
    device: str = "auto",
    precision: str = "float32",
) -> Target:
    """``what``: a run folder, a ``Classifier``, a victim, a function, a pipeline, or a spec of a victim."""
    if isinstance(what, Target):
        return what
    is_text = isinstance(what, str | Path)
    if is_text and (Path(what).is_dir() or ":" not in str(what)):
        from unfooled.api.load import load

        opened = load(what, device=device, precision=precision)
        return _of_classifier(opened, Path(what), predictor, victim_options)
    if not is_text:
        from unfooled.predictors import Classifier

        if isinstance(what, Classifier):
            return _of_classifier(what, what.folder, predictor, victim_options)
    if predictor:
        raise UsageError("Predictors are for classifiers of unfooled; this victim answers as it is.")
    from unfooled.attacks.victims import as_victim

    options = dict(victim_options or {})
    if is_text and str(what).startswith("hf:"):
        options.setdefault("device", device)
    return _of_victim(as_victim(str(what) if is_text else what, **options))


def open_classifier(what: Classifier | str | Path, *, device: str = "auto") -> tuple[Classifier, Path | None]:
    """A classifier or the one in a run folder, and that folder."""
    if isinstance(what, str | Path):
        from unfooled.api.load import load

        return load(what, device=device), Path(what)
    return what, what.folder


def _of_classifier(
    classifier: Classifier,
    run: Path | None,
    predictor: PredictorChoice,
    victim_options: Mapping[str, Any] | None,
) -> Target:
    from unfooled.attacks.victims.ours import ClassifierVictim
    from unfooled.predictors.override import with_predictor

    if victim_options:
        raise UsageError(
            f"{', '.join(victim_options)}: victim options are for functions, models and endpoints; a run has "
            "--predictor and --predictor-set."
        )
    classifier = with_predictor(classifier, predictor)
    name = writable(run) if run else f"a classifier ({classifier.defence})"
    return Target(ClassifierVictim(classifier), name, classifier.identity(), classifier, run)


def _of_victim(victim: Victim) -> Target:
    describe = getattr(victim, "describe", None)
    identity = dict(describe()) if describe else {"kind": type(victim).__qualname__}
    name = writable(str(identity.get("spec") or identity["kind"]))
    if describe is None or "<" in name or not getattr(victim, "traceable", True):
        # A lambda, a function of a notebook, a method of some object, or something that does not say what it
        # is: another one may look the same.
        identity["unknown"] = secrets.token_hex(8)
    return Target(victim, name, identity, Reader(tuple(victim.labels)))
