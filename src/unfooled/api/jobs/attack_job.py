"""An attack as a job: its examples, the worker that attacks them, and the report of their outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from unfooled.api.inputs.load_inputs import load_inputs, training_texts
from unfooled.api.target import Opens, Target, travelling
from unfooled.attacks import Example, Limits, Recipe, run_attacks
from unfooled.attacks.attempt import Attempt
from unfooled.attacks.registry import AnyRecipe
from unfooled.attacks.tools import Tools, make_services
from unfooled.data.inputs import Inputs, LabelledInputs
from unfooled.files import MEASURE_AGAIN, JsonObject, read_json
from unfooled.records.outcome import Outcome
from unfooled.records.results.attack_report import AttackReport
from unfooled.records.results.result import reuse
from unfooled.records.row_check import RowCheck
from unfooled.records.shapes.result_shapes import AttackShape
from unfooled.storage.journal import Key, fingerprint
from unfooled.storage.kept import JOURNAL, Kept, read_kept
from unfooled.work.executor import Piece, Spec
from unfooled.work.job import Job, Record

REPORT = "attack.json"
TABLE = "outcomes"


@dataclass(frozen=True)
class AttackChoices:
    """What an attack was asked for, apart from its victim, its inputs and its recipe."""

    limit: int | None
    limits: Limits
    tools: Tools
    sizes: tuple[float, ...]
    seed: int
    device: str
    in_flight: int
    in_process: bool
    """Whether this process does the work."""

    def opened(self, target: Target) -> Opens | Target:
        """The victim as a worker gets it: itself in this process, how to open it in others."""
        return target if self.in_process else travelling(target)


@dataclass(frozen=True)
class PreparedAttack:
    """An attack that is ready to run: what texts and images do differently."""

    job: Job[Any]
    spec: Spec
    conditions: JsonObject
    """Everything that an outcome depends on, apart from its input."""
    asked: Mapping[str, Sequence[str]]
    source: str
    name: str
    labels: tuple[str, ...]
    check: RowCheck | None
    about: JsonObject
    """What the report says about the recipe and its conditions."""
    summarise: Callable[[Iterable[Outcome]], JsonObject]


def described(recipe: AnyRecipe) -> JsonObject:
    """A recipe as reports and questions tell it."""
    # What is left open stays out of the key: recipes gain such settings, and old journals still fit.
    settings = {name: value for name, value in asdict(recipe).items() if value is not None}  # type: ignore[call-overload]
    version = getattr(recipe, "version", 1)
    later = {"version": version} if version > 1 else {}
    return {"name": recipe.name, "paper": recipe.paper, "goal": recipe.goal, "settings": settings, **later}


@dataclass(frozen=True)
class AttackSpec:
    """What a worker needs to attack examples."""

    victim: Opens | Target
    inputs: Inputs
    """Says which texts a masked language model is fitted to."""
    recipe: Recipe
    limits: Limits
    tools: Tools
    seed: int
    label_names: tuple[str, ...]
    in_flight: int
    device: str

    begin: ClassVar[Callable[..., Attempt]] = Attempt
    """What holds the state of one attack."""

    def texts_to_fit(self, target: Target) -> list[str]:
        """The texts that a masked language model is fitted to."""
        return texts_to_fit(target, self.inputs)

    def open(self, at_once: int) -> AttackWorker:
        target = self.victim if isinstance(self.victim, Target) else self.victim.open()
        return AttackWorker(self, target, min(self.in_flight, at_once))


class AttackWorker:
    """Attacks examples with everything loaded."""

    def __init__(self, spec: AttackSpec, target: Target, in_flight: int) -> None:
        self._spec, self._victim, self._in_flight = spec, target.victim, in_flight
        if hasattr(target.victim, "patience"):
            target.victim.patience = spec.limits.time_cap
        self._services = make_services(
            target.victim,
            spec.recipe,
            spec.tools,
            training_texts=lambda: spec.texts_to_fit(target),
            device=spec.device,
        )

    def run(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        places: dict[tuple[int, tuple[str, ...], int | None], int] = {}

        def examples() -> Iterator[Example]:
            for place, example in pieces:
                places[example.row, example.texts, example.label] = place
                yield example

        for outcome in run_attacks(
            examples(),
            self._spec.recipe,
            self._services,
            limits=self._spec.limits,
            seed=self._spec.seed,
            randomised=self._victim.randomised,
            label_names=self._spec.label_names,
            in_flight=self._in_flight,
            begin=self._spec.begin,
        ):
            yield places.pop((outcome.row, outcome.original, outcome.truth)), outcome.to_dict()


def texts_to_fit(target: Target, inputs: Inputs) -> list[str]:
    """The texts that a masked language model is fitted to: of the training set, else those of the file."""
    found = training_texts(target.run, inputs)
    if found is None:
        every = load_inputs(target.reader, target.run, inputs, lenient=True)
        found = [*every.texts, *(every.pairs or [])]
    return found


def attack_job(inputs: LabelledInputs, conditions: str) -> Job[Example]:
    """The examples to attack; ``conditions`` is the fingerprint of everything else an outcome depends on."""

    def key(row: int, texts: tuple[str, ...], label: int | None) -> Key:
        return fingerprint({"conditions": conditions, "texts": texts, "label": label}), row

    refused = [Outcome(one.row, "refused", one.texts, None, message=one.reason) for one in inputs.refused]
    return Job(
        items=_Examples(inputs),
        key=lambda example: key(example.row, example.texts, example.label),
        name=lambda example: f"row {example.row} ({' | '.join(example.texts)[:60]!r})",
        settled=[(key(one.row, one.original, None), one.to_dict()) for one in refused],
        again=worth_another_try,
    )


def worth_another_try(record: Record) -> bool:
    """Errors, and what the time cap ended: perhaps the machine was only busy."""
    return record["status"] == "error" or record.get("limit_hit") == "time"


def told(example: Example) -> JsonObject:
    """Which example it is, for the question of a result set."""
    return {"row": example.row, "texts": example.texts, "label": example.label}


class _Examples:
    """The examples of labelled inputs, each made when it is asked for."""

    def __init__(self, inputs: LabelledInputs) -> None:
        self._inputs = inputs

    def __len__(self) -> int:
        return len(self._inputs.texts)

    def __getitem__(self, number: int, /) -> Example:
        own = self._inputs
        texts = (own.texts[number],) if own.pairs is None else (own.texts[number], own.pairs[number])
        return Example(own.rows[number], texts, own.labels[number])


@dataclass(frozen=True)
class Progress:
    """How far an attack is; ``asr`` is None until something was attacked."""

    done: int
    total: int
    asr: float | None


class AttackTally:
    """Counts outcomes as they come."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = self._attacked = self._successes = 0

    def take(self, record: Record) -> None:
        self._done += 1
        self._attacked += record["status"] in ("success", "failed")
        self._successes += record["status"] == "success"

    @property
    def progress(self) -> Progress:
        asr = self._successes / self._attacked if self._attacked else None
        return Progress(self._done, self._total, asr)


def attack_report(
    outcomes: Kept[Outcome],
    about: Mapping[str, Any],
    prepared: PreparedAttack,
) -> AttackReport:
    """The report of the outcomes there are."""
    details = {
        **about,
        "complete": len(outcomes) == prepared.job.total,
        "reuse": reuse(outcomes.reused, len(outcomes) - len(prepared.job.settled)),
        "journal": outcomes.where(),
    }
    summary, labels = prepared.summarise(outcomes), prepared.labels
    if not labels:
        # A victim that names no classes numbers them.
        classes = max((len(outcome.first_scores) for outcome in outcomes), default=0)
        labels = tuple(str(number) for number in range(classes))
    return AttackReport(summary, outcomes, labels, details)


def read_attack(folder: str | Path) -> AttackReport:
    """A report that was kept, with its outcomes."""
    saved = read_json(Path(folder) / REPORT, AttackShape, remedy=MEASURE_AGAIN)
    outcomes = read_kept(Path(folder) / JOURNAL, TABLE, saved["journal"], Outcome.from_dict)
    summary, labels = saved.pop("summary"), tuple(saved.pop("labels"))
    return AttackReport(summary, outcomes, labels, saved)
