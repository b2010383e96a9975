"""What reports of attacks, certificates, repeats and hidden states hold, as far as somebody reads them.

Further keys are allowed everywhere. Keys of a class with ``total=False`` may be missing.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from unfooled.records.outcome import Status

Between = tuple[float, float]
Names = dict[str, Any]


class RateShape(TypedDict):
    """A proportion, as :func:`unfooled.statistics.intervals.rate` gives it."""

    value: float | None
    count: int
    n: int
    interval: Between | None


class _MeanMore(TypedDict, total=False):
    interval: Between | None
    std: float | None


class MeanShape(_MeanMore):
    value: float | None
    n: int


class JournalShape(TypedDict):
    """Where the records of a report are."""

    list: str
    records: int


class _ResultMore(TypedDict, total=False):
    complete: bool
    limit: int | None
    seed: int | None
    versions: dict[str, str]
    command: str | None
    unfooled: str


class _AttackRates(TypedDict, total=False):
    racc_verified: RateShape
    asr_verified: RateShape
    budget_spent: int
    limits_hit: dict[str, int]
    untried: int | None


class AttackNumbers(_AttackRates):
    """See :func:`unfooled.records.summaries.attack_summary.attack_summary`."""

    goal: Literal["fickle", "obstinate"]
    randomised: bool
    examples: int
    attacked: int
    counts: dict[Status, int]
    sacc: RateShape
    racc: RateShape
    asr: RateShape
    queries: MeanShape
    forwards: MeanShape
    changed_words: MeanShape
    similarity: MeanShape
    pos_valid: RateShape
    seconds: MeanShape


class RecipeShape(TypedDict):
    name: str
    goal: Literal["fickle", "obstinate"]


class _VictimMore(TypedDict, total=False):
    weights: str | None
    predictor: Names | None


class VictimShape(_VictimMore):
    name: str


class AttackShape(_ResultMore):
    """attack.json"""

    victim: VictimShape
    recipe: RecipeShape
    source: str
    labels: tuple[str, ...]
    journal: JournalShape
    summary: AttackNumbers


class _AskedShape(RateShape):
    radius: float


class _CoveredShape(TypedDict):
    mean: float
    at_least_one: RateShape


class ObstinacyShape(TypedDict):
    texts: RateShape
    antonyms_inside: int
    antonyms_considered: int


class _CertificateMore(TypedDict, total=False):
    asked: _AskedShape
    f1: MeanShape
    words_covered: _CoveredShape
    obstinacy: ObstinacyShape


class CertificateNumbers(_CertificateMore):
    """See :func:`unfooled.records.summaries.certificate_summary.certificate_summary`."""

    inputs: int
    counts: dict[Literal["certified", "abstained", "refused"], int]
    labelled: bool
    unit: str
    certified_accuracy: RateShape
    abstention: RateShape
    average_radius: MeanShape
    curve: list[_AskedShape]
    by_bound: dict[str, float]
    samples: MeanShape
    seconds: float


class SamplingShape(TypedDict):
    alpha: float


class _CertifiedMore(_ResultMore, total=False):
    reads: Literal["text", "question", "image", "tensor"]
    notes: list[str]
    other_predictor: str
    not_covered: str
    smoothing: Names


class CertificatesShape(_CertifiedMore):
    """certificate.json"""

    classifier: str
    threat: str
    source: str
    sampling: SamplingShape
    journal: JournalShape
    summary: CertificateNumbers


class SpreadShape(TypedDict):
    mean: float
    std: float | None
    min: float
    max: float


class AnsweredShape(TypedDict):
    """An answer to a question, or to a copy of one"""

    id: str
    question: str
    context: str
    truth: list[str]
    answer: str
    span: tuple[int, int] | None
    f1: float


class BrokenShape(TypedDict):
    """A question that an adversarial copy broke"""

    id: str
    worst: AnsweredShape
    clean: AnsweredShape | None


class CleanShape(TypedDict):
    source: str
    examples: int
    f1: float
    f1_interval: tuple[float, float]
    exact_match: float
    exact_match_interval: tuple[float, float]


class AdversarialShape(TypedDict):
    source: str
    questions: int
    attacked: int
    copies: int
    robust_f1: float
    robust_f1_interval: tuple[float, float]
    robust_exact_match: float
    robust_exact_match_interval: tuple[float, float]
    asr_exact_match: Names
    broken: int
    examples: list[BrokenShape]


class EvaluationShape(TypedDict):
    """evaluation.json: files of questions side by side"""

    clean: CleanShape
    adversarial: list[AdversarialShape]


class RepeatShape(_ResultMore):
    """repeats/NAME/repeat.json"""

    inputs: int
    repeats: int
    random: bool
    accuracy: SpreadShape
    accuracies: list[float]
    agreement: float
    changed_share: float
    changed_interval: Between


class _DriftMore(TypedDict, total=False):
    l2_interval: list[Between] | None
    cosine_interval: list[Between] | None
    transfer: bool


class DriftShape(_DriftMore):
    attack: str
    inputs: int
    l2: list[float]
    cosine: list[float]


class PointShape(TypedDict):
    kind: Literal["clean", "fickle", "obstinate"]
    label: str
    x: float
    y: float


class _MapMore(TypedDict, total=False):
    method: str


class MapShape(_MapMore):
    explained: Between
    points: list[PointShape]


class _StatesMore(_ResultMore, total=False):
    map: MapShape | None


class StatesShape(_StatesMore):
    """representations.json"""

    layers: list[str]
    drift: list[DriftShape]
