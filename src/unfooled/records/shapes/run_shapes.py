"""What the documents of a run folder hold, as far as somebody reads them: they are checked when read.

Further keys are allowed everywhere. Keys of a class with ``total=False`` may be missing.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from unfooled.records.shapes.result_shapes import Names


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


class Conversion(TypedDict, total=False):
    """What an image task converts every file to: a square of ``size`` pixels, grey or colour"""

    size: int
    channels: Literal[1, 3]


class _ImagesMore(TypedDict, total=False):
    conversion: Conversion


class ImagesShape(_ImagesMore):
    """What an image classifier reads, and how its networks are made"""

    architecture: ArchitectureShape
    shape: tuple[int, int, int]


class QuestionsShape(TypedDict):
    """How a model that answers questions reads them"""

    max_length: int
    stride: int
    longest_answer: int
    unanswerable: bool


class _MarkerMore(TypedDict, total=False):
    unfooled: str
    weights: str
    files: dict[str, str]
    max_length: int
    images: ImagesShape
    questions: QuestionsShape


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
    macro_f1: float
    confusion: tuple[tuple[int, ...], ...]
    labels: tuple[str, ...]


class TestShape(_TestMore):
    """Of a split; labels and confusion where answers are labels"""

    examples: int
    forwards_per_example: float


class _TrainMore(TypedDict, total=False):
    resumed: bool
    kept_epoch: float | None


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
    machine: str


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
