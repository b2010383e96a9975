"""The trainer: what the optimiser knows and what a checkpoint holds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import TrainingArguments

from tiny_models import TEXTS, tiny_classifier
from tiny_training import begin
from toy_defence import Toy
from unfooled.defences import TrainingData
from unfooled.hub.schedules import make_schedule
from unfooled.training.epoch_data import EpochData
from unfooled.training.trainer import SessionTrainer


def toy_trainer(folder: Path, scores: Iterator[float] = repeat(0.0), **arguments: Any) -> SessionTrainer:
    """``scores`` are those on dev, one per evaluation."""
    model = tiny_classifier("t5", labels=2)
    data = TrainingData(model.encode(TEXTS), [row % 2 for row in range(len(TEXTS))])
    given = TrainingArguments(
        output_dir=str(folder), use_cpu=True, weight_decay=0.5, report_to=[], disable_tqdm=True, **arguments
    )
    return SessionTrainer(
        begin(Toy(), model, data),
        metric="accuracy",
        dev_score=lambda: next(scores),
        schedule=make_schedule("linear"),
        args=given,
        eval_dataset=EpochData(data),
        processing_class=model.tokenizer,
    )


def test_extra_modules_are_trained_with_weight_decay_and_move_with_the_model(tmp_path: Path) -> None:
    trainer = toy_trainer(tmp_path)
    critic = trainer._session.modules["critic"]
    decayed, free = trainer.create_optimizer().param_groups
    assert (decayed["weight_decay"], free["weight_decay"]) == (0.5, 0.0)
    assert any(one is critic.weight for one in decayed["params"])
    assert any(one is critic.bias for one in free["params"])
    trainer.model.eval()
    assert not critic.training and not trainer._session.model.module.training
    trainer.model.train()
    assert critic.training and trainer._session.model.module.training


def test_a_checkpoint_gives_back_weights_modules_and_state(tmp_path: Path) -> None:
    """T5 has tensors under two names, which safetensors must not write twice."""
    trainer = toy_trainer(tmp_path)
    trainer._session.steps = 5
    trainer._save(str(tmp_path / "saved"))
    before = {name: value.clone() for name, value in trainer._trained.state_dict().items()}
    with torch.no_grad():
        for weight in trainer._trained.parameters():
            weight.add_(1)
    trainer._session.steps = 0
    trainer._load_from_checkpoint(str(tmp_path / "saved"))
    after = trainer._trained.state_dict()
    assert any(name.startswith("extra.critic") for name in before)
    assert all(torch.equal(after[name], value) for name, value in before.items())
    assert trainer._session.steps == 5


@pytest.mark.parametrize(("whole_from", "kept"), [(0.0, 1), (0.4, 2), (0.5, 3), (1.0, 4)])
def test_an_epoch_before_the_method_has_its_full_weight_is_not_kept(
    tmp_path: Path, whole_from: float, kept: int
) -> None:
    each: dict[str, Any] = {
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
        "load_best_model_at_end": True,
    }
    scores = iter([0.9, 0.8, 0.7, 0.6])
    trainer = toy_trainer(
        tmp_path, scores, num_train_epochs=4, metric_for_best_model="accuracy", eval_on_start=False, **each
    )
    trainer.eval_dataset = trainer.train_dataset
    trainer._session.whole_from = whole_from
    trainer.train()
    assert trainer.state.best_metric == [0.9, 0.8, 0.7, 0.6][kept - 1]
    assert trainer.state.best_global_step == trainer.state.global_step * kept // 4
