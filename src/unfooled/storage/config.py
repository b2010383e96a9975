"""The full configuration of a training run: one dataclass, the same names on the command line and in YAML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from unfooled.errors import UsageError
from unfooled.hub.devices import check_precision
from unfooled.hub.schedules import make_schedule
from unfooled.settings import LARGEST_SEED, MOST_AT_ONCE, MOST_WORKERS, build, setting

AUGMENTATIONS = ("crop", "flip")
"""How training images may be changed at random."""


@dataclass(frozen=True)
class Every:
    """How often something happens: every so many steps, every so many seconds, or never."""

    steps: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class TrainConfig:
    """What a run folder's ``config.yaml`` holds."""

    task: str | None = setting(None, "Named task, see `unfooled train --list-tasks`")
    data: str | None = setting(
        None,
        "Training file (CSV, TSV, JSONL, Parquet) or hub:NAME[:CONFIGURATION]; questions: SQuAD's JSON, "
        "JSONL or Parquet; images: a folder or .npz file",
    )
    kind: Literal["text", "qa", "image"] | None = setting(
        None, "What the data holds: text, qa or image; recognised if not given (hub:NAME as text)"
    )
    dev_data: str | None = setting(None, "Dev file; without it one row in ten of the training data")
    test_data: str | None = setting(None, "Test file; without it one row in eight of the training data")
    text_column: str | None = setting(None, "Column with the text")
    pair_column: str | None = setting(None, "Column with the second text of a pair")
    label_column: str | None = setting(None, "Column with the label")
    lenient: bool = setting(False, "Questions: leave out bad records and count them, instead of refusing")
    labels: tuple[str, ...] | None = setting(
        None, "Label names in order, e.g. ham,spam; found in the data if not given", commas=True
    )
    encoding: str = setting("utf-8", "Character encoding of the data files")
    defence: str = setting("standard", "Defence, or several as a+b, see `unfooled train --list-defences`")
    settings: dict[str, Any] = setting(dict, "Settings of the defence")
    encoder: str | None = setting(
        None,
        "Asset name, folder or hub id of a Hugging Face encoder (default minilm); for images an architecture "
        "(default small-cnn) or a run to train on",
    )
    layers: int | None = setting(
        None, "Number of encoder blocks to keep, from the first", at_least=1, at_most=1000
    )
    epochs: float | None = setting(
        None,
        "Passes over the training data; if not given 2 for texts and questions, 10 for images",
        at_least=0.001,
        at_most=10_000,
    )
    lr: float | None = setting(
        None, "Peak learning rate; if not given the defence's default for texts, 0.001 for images", at_least=0
    )
    batch_size: int | None = setting(
        None,
        "Examples per step; if not given 32 for texts, 16 for questions, 128 for images",
        at_least=1,
        at_most=MOST_AT_ONCE,
    )
    max_length: int | None = setting(
        None, "Tokens of each text, or of a window of a context; the task's default if not given", at_least=4
    )
    warmup: float = setting(
        0.06, "Share of the steps over which the learning rate rises", at_least=0, at_most=1
    )
    schedule: str = setting(
        "linear",
        "How the learning rate goes on: linear (to 0), cosine (to 0), constant, or step:0.1:30 "
        "(times 0.1 every 30 epochs)",
    )
    weight_decay: float = setting(0.01, "AdamW weight decay", at_least=0)
    clip: float = setting(1.0, "Gradient norm limit", at_least=0)
    patience: int = setting(
        0, "Epochs without a better dev accuracy after which training stops; 0 = never", at_least=0
    )
    augment: tuple[str, ...] = setting(
        (), "Images, changed at random in every epoch: crop (shifted by up to 4 pixels), flip", commas=True
    )
    limit: int | None = setting(
        None, "Number of training examples to use, stratified; all if not given", at_least=2
    )
    limit_dev: int | None = setting(
        None, "Number of dev examples to use, stratified; all if not given", at_least=2
    )
    limit_test: int | None = setting(
        None, "Number of test examples to use, stratified; all if not given", at_least=2
    )
    keep_test: bool | None = setting(
        None, "Keep the test rows in the run folder; if not given, those of data files under 5 MB are kept"
    )
    seed: int = setting(
        0,
        "Seed of the split, the order, the initial head and the noise",
        at_least=0,
        at_most=LARGEST_SEED,
    )
    device: str = setting("auto", "auto, cpu, cuda, cuda:1, mps")
    precision: str = setting(
        "auto", "auto, float32 or bf16; auto is bf16 where the hardware has it, and float32 for images"
    )
    data_workers: int = setting(
        0,
        "Processes beside training that make changed copies of examples (bat, safer)",
        at_least=0,
        at_most=MOST_WORKERS,
    )

    checkpoint_every: int | str = setting(
        "10min",
        "Steps (200) or minutes (5min) between checkpoints within an epoch; 0 = only at its end",
    )

    def __post_init__(self) -> None:
        if (self.task is None) == (self.data is None):
            raise UsageError("Name what to train on: either --task NAME or --data FILE, and not both.")
        check_precision(self.precision)
        if unknown := [one for one in self.augment if one not in AUGMENTATIONS]:
            raise UsageError(f"--augment {unknown[0]}: choose from {', '.join(AUGMENTATIONS)}.")
        make_schedule(self.schedule)
        _ = self.checkpoints

    @property
    def checkpoints(self) -> Every:
        """When checkpoints are written within an epoch."""
        found = re.fullmatch(r"(\d{1,9})|(\d{1,6}(?:\.\d+)?) ?min", str(self.checkpoint_every).strip())
        if not found:
            raise UsageError(
                f"--checkpoint-every {self.checkpoint_every}: give a number of steps (200) or minutes (5min)."
            )
        return Every(steps=int(found[1])) if found[1] else Every(seconds=60 * float(found[2]))

    def conditions(self) -> dict[str, Any]:
        """What the trained weights depend on: not how often they are saved, nor who makes the copies."""
        return conditions_of(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        values = asdict(self)
        labels = None if self.labels is None else list(self.labels)
        return values | {"labels": labels, "augment": list(self.augment)}


_LATER: Mapping[str, Any] = {"augment": [], "schedule": "linear", "kind": None, "lenient": False}
"""Settings that older configurations do not have, and their defaults."""


def conditions_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The conditions in a saved configuration. Settings that came later are left out at their default."""
    same = [name for name, default in _LATER.items() if values.get(name, default) == default]
    without = ("checkpoint_every", "data_workers", *same)
    return {name: value for name, value in values.items() if name not in without}


def make_config(values: Mapping[str, Any]) -> TrainConfig:
    """A configuration from names and values; unknown names and wrong types are refused by name."""
    return build(TrainConfig, values, owner="the training configuration")
