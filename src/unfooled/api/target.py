"""What an attack is pointed at: a run folder, a classifier, any victim, or a spec that names one.

``identity`` says which victim it is, down to the weights: results of another one are never taken for its own.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from unfooled.attacks.victim import Victim
from unfooled.data.inputs import Reader, Reads
from unfooled.errors import UsageError, UserError
from unfooled.files import writable
from unfooled.parsing import quoted

if TYPE_CHECKING:
    from unfooled.predictors import Classifier
    from unfooled.predictors.override import PredictorChoice


@dataclass(frozen=True)
class Target:
    """A victim with what is known about it."""

    victim: Victim
    name: str
    identity: Mapping[str, object]
    reader: Reads
    run: Path | None = None
    """The run folder, which also says what the victim was trained on."""
    opening: Opens | None = None
    """How another process opens it; None if it exists only in this one."""
    empty: str | None = None
    """The label of a text of which no word is left, for victims that do not answer such texts."""
    results: Path | None = None
    """Where its result sets are kept: in the run folder; those of another victim where they are asked for."""


class Opens(Protocol):
    """Opens a victim in this process or another; can be pickled."""

    def open(self) -> Target: ...
    def open_classifier(self) -> Classifier: ...


@dataclass(frozen=True)
class Opening:
    """How a victim is opened, in this process or another; it must turn out to be the same one."""

    what: object
    predictor: PredictorChoice
    victim_options: Mapping[str, object]
    device: str
    precision: str
    identity: Mapping[str, object]

    def open(self) -> Target:
        target = open_target(
            self.what,
            predictor=self.predictor,
            victim_options=self.victim_options,
            device=self.device,
            precision=self.precision,
        )
        self._check(target.name, target.identity)
        return target

    def open_classifier(self) -> Classifier:
        """The classifier in a run folder; one of images too, which is no victim."""
        from unfooled.api.load import load
        from unfooled.predictors.override import with_predictor

        folder = Path(str(self.what))
        loaded = load(folder, device=self.device, precision=self.precision)
        classifier = with_predictor(loaded, self.predictor)
        self._check(writable(folder), classifier.identity())
        return classifier

    def _check(self, name: str, identity: Mapping[str, object]) -> None:
        names = {**self.identity, **identity}
        differ = [name for name in names if self.identity.get(name) != identity.get(name)]
        if differ:
            raise UserError(
                f"A worker opened {name} and found another one: {', '.join(differ)} differ. Save a "
                "classifier that was changed in memory and name its folder; keep files as they are while the "
                "work runs; put the same files at the same path on every machine."
            )


_ONLY_HERE = (
    "Worker processes cannot open {}: it exists only in this process. Save it and name its folder, or leave "
    "out workers and ray."
)


def travelling_classifier(own: Classifier, predictor: PredictorChoice, opened: Classifier) -> Opens:
    """How worker processes open the classifier ``own`` with another predictor, which makes it ``opened``."""
    from unfooled.api.smoothed import Smoothed

    if isinstance(opened, Smoothed):
        return opened.opening()
    if own.folder is None or getattr(own.model, "described", True) is None:
        raise UsageError(_ONLY_HERE.format("this classifier"))
    return _opening(own, predictor, opened.identity())


def travelling(target: Target) -> Opens:
    """How worker processes open the victim; one that exists only in this process is refused."""
    from unfooled.api.smoothed import Smoothed

    if isinstance(target.reader, Smoothed):
        return target.reader.opening()
    if target.opening is None:
        raise UsageError(_ONLY_HERE.format(target.name))
    if "unknown" in target.identity:
        raise UsageError(
            f"Worker processes cannot find {target.name}: it is a lambda, a method, or a function of a "
            "notebook or script. Put the function in a file and name it as FILE.py:FUNCTION, or leave out "
            "workers and ray."
        )
    return target.opening


def open_target(
    what: Any,
    *,
    predictor: PredictorChoice = None,
    victim_options: Mapping[str, Any] | None = None,
    device: str = "auto",
    precision: str = "float32",
) -> Target:
    """``what``: a run folder, a ``Classifier``, a victim, a function, a pipeline, or a spec of a victim.

    A victim that is not a classifier of unfooled is smoothed by the ``predictor``, if one is given.
    """
    if isinstance(what, Target):
        return what
    options = dict(victim_options or {})
    is_text = isinstance(what, str | Path)
    if is_text and (Path(what).is_dir() or ":" not in str(what)):
        from unfooled.api.load import load

        opened = load(what, device=device, precision=precision)
        target = _of_classifier(opened, Path(what), predictor, options)
    elif _is_classifier(what):
        target = _of_classifier(what, what.folder, predictor, options)
        if what.folder is None:
            return target
        return replace(target, opening=_opening(what, predictor, target.identity))
    else:
        from unfooled.attacks.victims import as_victim

        if is_text and str(what).startswith("hf:"):
            options.setdefault("device", device)
        own = {name: value for name, value in options.items() if name != "empty"}
        target = _of_victim(as_victim(str(what) if is_text else what, **own))
        opening = Opening(what, None, options, device, precision, target.identity)
        target = replace(target, opening=opening, empty=options.get("empty"))
        if predictor:
            from unfooled.api.smoothed import smoothed

            return open_target(smoothed(target, predictor=predictor))
        return target
    return replace(target, opening=Opening(what, predictor, options, device, precision, target.identity))


def reads_images(target: Target) -> bool:
    """Whether the victim is a classifier of images."""
    from unfooled.attacks.victims.image_victim import ImageVictim

    return isinstance(target.victim, ImageVictim)


def reads_questions(target: Target) -> bool:
    """Whether the victim answers questions."""
    from unfooled.attacks.victims.question_victim import QuestionVictim

    return isinstance(target.victim, QuestionVictim)


def _opening(classifier: Classifier, predictor: PredictorChoice, identity: Mapping[str, object]) -> Opening:
    model = classifier.model
    return Opening(classifier.folder, predictor, {}, model.device.type, model.precision, identity)


def _is_classifier(what: object) -> bool:
    if isinstance(what, str | Path):
        return False
    from unfooled.predictors import Classifier

    return isinstance(what, Classifier)


def open_classifier(
    what: Classifier | str | Path, *, device: str = "auto", precision: str = "float32"
) -> tuple[Classifier, Path | None]:
    """A classifier or the one in a run folder, and that folder.

    What a journal keeps is computed in float32: bfloat16 answers depend on the batch, so they would depend on
    the number of workers and on where a killed job went on.
    """
    if isinstance(what, str | Path):
        from unfooled.api.load import load

        return load(what, device=device, precision=precision), Path(what)
    if not _is_classifier(what):
        raise UsageError(f"Name the folder of a run, or give a classifier, not {quoted(what)}.")
    return what, what.folder


def folder_of(what: Classifier | str | Path) -> Path:
    """The run folder that is named, or that a classifier was loaded from."""
    if isinstance(what, str | Path):
        return Path(what)
    folder: Path | None = getattr(what, "folder", None)
    if folder is None:
        raise UsageError(
            "This reads a run folder: name one, or give a classifier that was trained or loaded from one."
        )
    return folder


def _of_classifier(
    classifier: Classifier,
    run: Path | None,
    predictor: PredictorChoice,
    victim_options: Mapping[str, object] | None,
) -> Target:
    from unfooled.attacks.victims.image_victim import ImageVictim
    from unfooled.attacks.victims.ours import ClassifierVictim, DeployedVictim
    from unfooled.attacks.victims.question_victim import QuestionVictim
    from unfooled.models import BlackBox
    from unfooled.predictors.override import with_predictor

    if victim_options:
        raise UsageError(
            f"{', '.join(victim_options)}: victim options are for functions, models and endpoints; a run has "
            "--predictor and --predictor-set."
        )
    classifier = with_predictor(classifier, predictor)
    name = writable(run) if run else f"a classifier ({classifier.defence})"
    if isinstance(classifier.model, BlackBox):
        name = f"{classifier.model.name} under {classifier.predictor.describe()['name']}"
        return Target(DeployedVictim(classifier), name, classifier.identity(), classifier)
    kinds: dict[str, Callable[[Classifier], Victim]] = {"image": ImageVictim, "question": QuestionVictim}
    return Target(
        kinds.get(classifier.model.kind, ClassifierVictim)(classifier),
        name,
        classifier.identity(),
        classifier,
        run,
        results=None if run is None else run / "attacks",
    )


def _of_victim(victim: Victim) -> Target:
    describe = getattr(victim, "describe", None)
    identity = dict(describe()) if describe else {"kind": type(victim).__qualname__}
    name = writable(str(identity.get("spec") or identity["kind"]))
    if describe is None or "<" in name or not getattr(victim, "traceable", True):
        # A lambda, a function of a notebook, a method of some object, or something that does not say what it
        # is: another one may look the same.
        identity["unknown"] = secrets.token_hex(8)
    return Target(victim, name, identity, Reader(tuple(victim.labels)))
