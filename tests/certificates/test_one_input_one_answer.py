"""No certificate for a model whose answer to an input depends on the rest of the batch, or on chance."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tiny_models import tiny_classifier
from unfooled.api.certify import certify
from unfooled.certificates.sampling import Reading, Sampling
from unfooled.data.inputs import Inputs
from unfooled.errors import UsageError
from unfooled.models import TextModel
from unfooled.predictors import CertifiedMasked, Classifier, Vote
from unfooled.predictors.smoothing import RandomWordDelete, RandomWordMask, SynonymVote
from unfooled.predictors.smoothing.model_check import ModelCheck

Rows = Callable[[Tensor], Tensor]
ALONE = "another answer in a batch than alone"
TWICE = "two different answers to the same inputs"


def two_sided(score: Tensor) -> Tensor:
    return torch.stack([-score, score], dim=1)


class OverRows(nn.Module):
    """Attention whose first dimension is the sequence: over the rows of the batch, unless told otherwise."""

    def __init__(self, *, batch_first: bool) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(1, 1, bias=False, batch_first=batch_first)
        with torch.no_grad():
            self.attention.in_proj_weight.copy_(torch.tensor([[0.0], [0.0], [1.0]]))
            self.attention.out_proj.weight.fill_(1.0)

    def forward(self, inputs: Tensor) -> Tensor:
        tokens = inputs.transpose(1, 2)
        return two_sided(self.attention(tokens, tokens, tokens, need_weights=False)[0][:, 0, 0])


class Normed(nn.Module):
    def __init__(self, *, running: bool) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(1, track_running_stats=running)

    def forward(self, inputs: Tensor) -> Tensor:
        return two_sided(self.norm(inputs)[:, 0, 0])


def in_training() -> Rows:
    module = Normed(running=True).train()
    return lambda inputs: module(inputs)


def mean_of_a_large_batch(inputs: Tensor) -> Tensor:
    """Rows see each other only where more than 128 of them come together."""
    score = inputs[:, 0, 0]
    return two_sided(score.mean().expand(len(score)) if len(score) > 128 else score)


def seen_by_the_next(inputs: Tensor) -> Tensor:
    return two_sided(inputs[:, 0, 0] + inputs[:, 0, 0].roll(1))


def at(*values: float, width: int = 4) -> Tensor:
    return torch.tensor(values)[:, None, None].expand(-1, 1, width).contiguous()


def certified(model: Any, inputs: Tensor, **given: Any) -> list[Any]:
    return list(certify(model, Inputs(tensors=inputs), sigma=1.0, sampling=Sampling(n=1000), **given))


@pytest.mark.parametrize(
    "make",
    [
        lambda: OverRows(batch_first=False),
        lambda: Normed(running=False),
        in_training,
        lambda: mean_of_a_large_batch,
        lambda: seen_by_the_next,
    ],
    ids=["attention", "batch-statistics", "training-mode", "large-batch", "next-row"],
)
@pytest.mark.parametrize("threat", ["l2", "l1"])
def test_a_model_whose_rows_see_each_other_is_refused(make: Callable[[], Rows], threat: str) -> None:
    """+0.1 and −0.1 at σ = 1 are 0.2 apart, and rows that average their noise got radii above 1."""
    for value in (0.1, -0.1):
        with pytest.raises(UsageError, match=ALONE):
            certified(make(), at(value), threat=threat)


@pytest.mark.parametrize("model", [OverRows(batch_first=True), Normed(running=True).eval()])
def test_the_same_layers_over_each_row_alone_are_certified(model: Rows) -> None:
    up, down = certified(model, at(1.5, -1.5))
    assert (up.label, down.label) == ("1", "0") and min(up.radius, down.radius) > 0.5


def test_batch_statistics_that_need_two_rows_are_refused_in_plain_words() -> None:
    model = nn.Sequential(nn.BatchNorm1d(2, track_running_stats=False), nn.Linear(2, 2))
    with pytest.raises(UsageError, match="cannot answer one input alone: its BatchNorm"):
        certified(model, torch.zeros(1, 2))


def test_dropout_that_is_on_inside_a_function_is_refused() -> None:
    module = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(4, 2)).train()
    with pytest.raises(UsageError, match=TWICE):
        certified(lambda inputs: module(inputs), at(0.5))


QUICK: dict[str, Any] = {"sampling": Sampling(n=100), "reading": Reading(antonyms=False)}
NOISY = Vote(sigma=0.2, noise_layers=("embeddings",))
EVERY_THREAT = [
    (NOISY, "l2"),
    (Vote(sigma=0.2, noise_layers=("embeddings", 1)), "l2"),
    (CertifiedMasked(sigma=0.2), "l2"),
    (RandomWordMask(kept=0.5), "words"),
    (RandomWordDelete(rates=(0.5,)), "edits"),
    (SynonymVote(table="TABLE"), "synonyms"),
]
TEXTS = ["a good film and a warm story", "the bold old war was long and cold"]


@pytest.fixture(params=EVERY_THREAT, ids=lambda pair: f"{pair[0].name}-{pair[1]}")
def deployed(request: Any, tmp_path: Path) -> tuple[Classifier, str]:
    predictor, threat = request.param
    if threat == "synonyms":
        table = tmp_path / "table.json"
        table.write_text(json.dumps({"good": ["great", "fine"], "bold": ["clever"], "warm": ["lovely"]}))
        predictor = SynonymVote(table=str(table))
    model = tiny_classifier("bert", labels=2, seed=3)
    return Classifier(model, predictor, labels=["down", "up"]), threat


def test_monte_carlo_dropout_is_refused_for_every_threat(
    deployed: tuple[Classifier, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal draws are asked once: an answer by chance would be counted as many."""
    classifier, threat = deployed
    monkeypatch.setattr(TextModel, "evaluating", lambda self: self.module.train())
    with pytest.raises(UsageError, match=TWICE):
        certify(classifier, TEXTS, threat=threat, **QUICK)


def test_texts_that_see_each_other_are_refused_for_every_threat(deployed: tuple[Classifier, str]) -> None:
    classifier, threat = deployed

    def mixed(module: Any, given: Any, out: Any) -> Any:
        out.logits = out.logits / 2 + out.logits.mean(dim=0)
        return out

    module: Any = classifier.model.module  # type: ignore[attr-defined]
    with module.register_forward_hook(mixed), pytest.raises(UsageError, match=ALONE):
        certify(classifier, TEXTS, threat=threat, **QUICK)
    report = certify(classifier, TEXTS, threat=threat, **QUICK)
    assert len(report) == 2 and report.summary["counts"]["refused"] == 0


def test_rounding_is_allowed_and_a_shared_constant_hides_no_leak() -> None:
    model: Any = tiny_classifier("bert", labels=2)
    logits = torch.tensor([[-1.0, 1.0], [2.0, -2.0], [0.0, 0.1]])
    ModelCheck(model)(logits, lambda rows: logits[list(rows)] * (1 + 2e-5))
    for constant in (0.0, 1000.0):
        large = logits + constant

        def leaking(rows: Any, large: Tensor = large) -> Tensor:
            return large if len(rows) > 1 else large[list(rows)] + torch.tensor([0.1, -0.1])

        with pytest.raises(UsageError, match=ALONE):
            ModelCheck(model)(large, leaking)
    with pytest.raises(UsageError, match=TWICE):
        ModelCheck(model)(logits, lambda rows: logits[list(rows)] * float("nan"))


def test_every_new_batch_size_is_checked_once() -> None:
    check = ModelCheck(tiny_classifier("bert", labels=2))
    logits = torch.randn(9, 2, generator=torch.Generator().manual_seed(0))
    asked: list[int] = []
    for size in (9, 9, 5, 5, 9, 1):

        def ask(rows: Any) -> Tensor:
            asked.append(len(rows))
            return logits[list(rows)]

        check(logits[:size], ask)
    assert asked == [9, *[1] * 7, 1]
