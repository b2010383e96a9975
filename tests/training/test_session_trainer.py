"""The trainer: what the optimiser knows and what a checkpoint holds."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import TrainingArguments

from tiny_models import TEXTS, tiny_classifier
from tiny_training import begin
from toy_defence import Toy
from unfooled.defences import TrainingData
from unfooled.hub.schedules import make_schedule
from unfooled.training.trainer import SessionTrainer


def toy_trainer(folder: Path) -> SessionTrainer:
    model = tiny_classifier("t5", labels=2)
    data = TrainingData(model.encode(TEXTS), [row % 2 for row in range(len(TEXTS))])
    arguments = TrainingArguments(
        output_dir=str(folder), use_cpu=True, weight_decay=0.5, report_to=[], disable_tqdm=True
    )
    return SessionTrainer(
        begin(Toy(), model, data),
        metric="accuracy",
        dev_score=lambda: 0.0,
        schedule=make_schedule("linear"),
        args=arguments,
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
