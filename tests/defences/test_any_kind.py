"""Defences that are written for every kind of model, on tensors; those for texts refuse them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from transformers import TrainingArguments

from tiny_training import begin
from toy_defence import Toy
from unfooled.defences import DEFENCES, Defence, TrainingData, make_defence
from unfooled.errors import UsageError
from unfooled.hub.schedules import make_schedule
from unfooled.models import TensorModel
from unfooled.training.trainer import SessionTrainer

ANY_KIND: dict[str, dict[str, float]] = {
    "standard": {},
    "noise-augment": {"sigma": 0.1},
    "stability": {"sigma": 0.1},
    "freelb": {"step_size": 0.1, "init": 0.1},
    "smart": {"step_size": 0.1, "init": 0.01},
    "alum": {"step_size": 0.1, "init": 0.01},
    "trades": {"step_size": 0.1, "init": 0.01, "radius": 0.2},
    "pgd": {"step_size": 0.1, "radius": 0.2},
    "flooding": {},
    "mixup": {},
}
"""With sizes in the units of the values: defaults are for texts."""


def network() -> TensorModel:
    torch.manual_seed(0)
    return TensorModel(nn.Sequential(nn.Flatten(), nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)), (2, 4))


def images() -> tuple[torch.Tensor, list[int]]:
    """The first row is bright in class 1 and dark in class 0."""
    labels = [row % 2 for row in range(64)]
    values = 0.1 * torch.randn(64, 2, 4, generator=torch.Generator().manual_seed(0))
    values[:, 0] += torch.tensor(labels)[:, None]
    return values, labels


def resolved(name: str, model: TensorModel) -> Defence:
    if name == "toy":
        return Toy(passes=2)
    return make_defence(name, ANY_KIND[name]).resolved(model)


@pytest.mark.parametrize("name", [*ANY_KIND, "toy"])
def test_tensors_are_learned(name: str, tmp_path: Path) -> None:
    model = network()
    values, labels = images()
    defence = resolved(name, model)
    session = begin(defence, model, TrainingData(model.read(values), labels))
    arguments = TrainingArguments(
        output_dir=str(tmp_path),
        num_train_epochs=10,
        learning_rate=0.03,
        per_device_train_batch_size=16,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
        save_strategy="no",
    )
    SessionTrainer(
        session, metric="accuracy", dev_score=lambda: 0.0, schedule=make_schedule("linear"), args=arguments
    ).train()
    model.evaluating()
    decided = defence.predictor(model).decide(model, model.read(values))
    assert sum(one.label == label for one, label in zip(decided, labels, strict=True)) > 60


@pytest.mark.parametrize("name", sorted(set(DEFENCES) - set(ANY_KIND)))
def test_a_defence_for_words_refuses_tensors(name: str) -> None:
    kind = "images" if name in ("ars", "static-mask") else "texts"
    with pytest.raises(UsageError, match=f"needs a model of {kind}"):
        make_defence(name).resolved(network())


def test_sizes_on_tensors_must_be_given_in_their_units() -> None:
    for name, sizes in ANY_KIND.items():
        for size in sizes:
            others = {key: value for key, value in sizes.items() if key != size}
            with pytest.raises(UsageError, match=f"{size} has a default for texts and images only"):
                make_defence(name, others).resolved(network())
