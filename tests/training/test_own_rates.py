"""Learning rates of classifier and mask, each with its schedule (ARS)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import unfooled as uf
from unfooled.errors import UsageError
from unfooled.training.trainer import SessionTrainer

pytest.importorskip("sklearn")
SMALL: dict[str, Any] = {
    "task": "digits",
    "encoder": "small-cnn:width=4",
    "epochs": 3.0,
    "batch_size": 64,
    "limit": 128,
    "limit_dev": 10,
    "limit_test": 10,
    "device": "cpu",
    "warmup": 0.0,
    "lr": 0.01,
    "schedule": "step:0.1:1",
}


@pytest.mark.full
@pytest.mark.parametrize("defence", ["ars", "static-mask"])
def test_the_mask_has_its_own_learning_rate_and_schedule(
    defence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, float]] = []
    own = SessionTrainer.training_step

    def training_step(self: Any, *args: Any, **kwargs: Any) -> Any:
        rates = {id(w): group["lr"] for group in self.optimizer.param_groups for w in group["params"]}
        named = dict(self._trained.named_parameters())
        assert len(rates) == len(named)
        mask = {rates[id(weight)] for name, weight in named.items() if ".mask." in name}
        rest = {rates[id(weight)] for name, weight in named.items() if ".mask." not in name}
        assert len(mask) == len(rest) == 1
        seen.append({"mask": mask.pop(), "rest": rest.pop()})
        return own(self, *args, **kwargs)

    monkeypatch.setattr(SessionTrainer, "training_step", training_step)
    settings: dict[str, Any] = {"mask_lr": 0.002, "mask_schedule": "step:0.5:1"}
    settings |= {"channels": 2, "shrink": 2} if defence == "ars" else {}
    uf.train(tmp_path / "run", **SMALL, defence=defence, settings=settings)
    assert [one["rest"] for one in seen] == pytest.approx([0.01] * 2 + [0.001] * 2 + [0.0001] * 2)
    assert [one["mask"] for one in seen] == pytest.approx([0.002] * 2 + [0.001] * 2 + [0.0005] * 2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mask_lr": 0.0}, "mask_lr must be above 0"),
        ({"mask_schedule": "step:0.5:30"}, "mask_schedule needs mask_lr"),
        ({"mask_lr": 0.1, "mask_schedule": "fast"}, "mask_schedule must be linear, cosine"),
    ],
)
def test_wrong_rates_of_the_mask_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        uf.train(**SMALL, defence="static-mask", settings=settings)
