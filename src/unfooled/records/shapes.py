"""What the JSON documents of ours hold, as far as somebody reads them: a document is checked when it is read.

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
    """See :func:`unfooled.records.attack_summary.attack_summary`."""

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
    words_covered: _CoveredShape
    obstinacy: ObstinacyShape


class CertificateNumbers(_CertificateMore):
    """See :func:`unfooled.records.certificate_summary.certificate_summary`."""

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
    reads: Literal["text", "image", "tensor"]
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


class DefenceShape(TypedDict):
    name: str
    settings: Names


class PredictorShape(TypedDict):
    name: str


class NetworkShape(TypedDict):
    name: str
    settings: Names


class _ArchitectureMore(TypedDict, total=False):
    mask: NetworkShape | None


class ArchitectureShape(NetworkShape, _ArchitectureMore):
    """The networks of an image classifier"""


class ImagesShape(TypedDict):
    """What an image classifier reads, and how its networks are made"""

    architecture: ArchitectureShape
    shape: tuple[int, int, int]


class _MarkerMore(TypedDict, total=False):
    unfooled: str
    weights: str
    files: dict[str, str]
    max_length: int
    images: ImagesShape


class MarkerFormat(_MarkerMore):
    """unfooled.json of any version"""

    format: int


class MarkerShape(MarkerFormat):
    """unfooled.json"""

    defence: DefenceShape
    predictor: PredictorShape
    task: Names | None
    labels: list[str]


class _TestMore(TypedDict, total=False):
    metric: str
    abstained: int
    seconds: float | None


class TestShape(_TestMore):
    examples: int
    macro_f1: float
    confusion: tuple[tuple[int, ...], ...]
    labels: tuple[str, ...]
    forwards_per_example: float


class _TrainMore(TypedDict, total=False):
    resumed: bool


class TrainShape(_TrainMore):
    seconds: float
    examples: int


class DataShape(TypedDict):
    train: int
    dev: int
    test: int
    dropped: dict[str, int]


class _MetricsMore(TypedDict, total=False):
    warnings: list[str]
    data: DataShape | None


class MetricsShape(_MetricsMore):
    """metrics.json"""

    train: TrainShape
    test: TestShape
    versions: dict[str, str]


class MadeExampleShape(TypedDict):
    texts: list[str]
    label: str


class MadeShape(TypedDict):
    """preparation/NAME/examples.json: what was made before training"""

    format: int
    key: str
    about: Names
    examples: list[MadeExampleShape]


class RowsShape(TypedDict):
    """rows.json: the fingerprints of a run's rows"""

    format: int
    files: dict[str, str]
    salt: str
    digest_bytes: int


class _LineMore(TypedDict, total=False):
    pair: str | None
    truth: str | None
    source: str | None
    leader: str | None
    scores: dict[str, float]
    votes: list[dict[str, int]]
    forwards: int
    masked_spans: list[tuple[int, int, int]]
    truncated: bool
    refused: str | None


class PredictionLine(_LineMore):
    """A line of predictions.jsonl"""

    text: str
    label: str | None


class _CellMore(TypedDict, total=False):
    task: str
    defence: str
    seed: int
    what: str | None
    grid: Names | None
    run: str
    message: str
    command: str


class CellShape(_CellMore):
    name: str
    status: Literal["done", "failed", "running", "pending"]


class BenchmarkShape(TypedDict):
    """benchmark.json, as far as a page shows it"""

    cells: list[CellShape]


class KeptCell(CellShape):
    """A cell of a benchmark that goes on."""

    kind: str
    conditions: Names
    started: bool
    seconds: float


class _StateMore(TypedDict, total=False):
    scale: float


class StateShape(_StateMore):
    """benchmark.json of a benchmark that goes on"""

    format: int
    cells: list[KeptCell]
    left_out: list[KeptCell]


class ScoredTest(TypedDict):
    examples: int
    forwards_per_example: float


class TimedTraining(TypedDict):
    seconds: float
    resumed: bool


class CellMetrics(TypedDict):
    """metrics.json, as far as the table of a benchmark shows it"""

    train: TimedTraining
    test: ScoredTest


class _PublishedMore(TypedDict, total=False):
    note: str | None


class _FigureMore(TypedDict, total=False):
    model: str
    defence: str | None
    attack: str | None
    sacc: float | None
    racc: float | None
    asr: float | None
    avgq: float | None
    note: str | None


class FigureShape(_FigureMore):
    task: str


class PublishedShape(_PublishedMore):
    source: str
    figures: list[FigureShape]


class PlanShape(TypedDict, total=False):
    """plan.yaml of a benchmark, as far as a page shows it"""

    published: PublishedShape | None
    scale: float
