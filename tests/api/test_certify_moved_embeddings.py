"""No certified text is flipped by moving its embeddings inside the ball: at random 10,000 times, and uphill.

The smoothed answer to each moved text is estimated by draws of its own. Most moves are soon seen to be far
from harm, so all get a few draws, the most harmful ones more, and the worst as many as it takes to tell a
lost majority from bad luck.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from tiny_models import WORDS, tiny_classifier
from unfooled.api.certify import certify
from unfooled.certificates.sampling import Reading, Sampling
from unfooled.models import Encoded, TextModel
from unfooled.predictors import CertifiedMasked, Classifier, Vote
from unfooled.predictors.smoothing import ESTIMATE, EmbeddingNoise, masked_average
from unfooled.statistics.confidence import clopper_pearson_upper

MOVES = 10_000
ROWS = 1000
CHANCE = 1e-6
"""Probability that a majority that stands is reported as lost, for each move."""


@pytest.fixture(scope="module")
def model() -> TextModel:
    """A random classifier for which both classes are as likely."""
    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    made = tiny_classifier("bert", labels=2, seed=3, **size)
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 8)) for _ in range(200)]
    with torch.no_grad():
        logits = made.forward(made.batch(made.encode(texts))).logits
        made.module.classifier.bias[0] -= (logits[:, 0] - logits[:, 1]).median()
    return made


class Shifted(TextModel):
    """Adds a row of ``moves`` to the embeddings of each row of a batch."""

    moves: Tensor | None = None

    def embed(self, ids: Tensor) -> Tensor:
        found = super().embed(ids)
        if self.moves is None or ids.shape[1] != self.moves.shape[1]:
            return found
        return found + self.moves


@dataclass
class Attacked:
    """One certified text under attack."""

    predictor: Any
    threat: str
    shifted: Shifted
    item: Encoded
    label: int
    seed: int = 0

    def on_the_boundary(self, direction: Tensor) -> Tensor:
        """The moves of size one that go furthest along each direction ``(moves, tokens, width)``."""
        flat = direction.flatten(1)
        if self.threat == "each-word":  # no text changes the special tokens, and this radius rests on that
            direction = direction * torch.tensor(self.item.maskable)[None, :, None]
            return direction / direction.norm(dim=2, keepdim=True).clamp(min=1e-12)
        if self.threat == "linf":
            return direction.sign()
        if self.threat == "l1":
            one = F.one_hot(flat.abs().argmax(dim=1), flat.shape[1])
            return (one * flat.sign()).view_as(direction)
        return direction / flat.norm(dim=1)[:, None, None]

    def kept(self, moves: Tensor, draws: int) -> np.ndarray:
        """How many of so many fresh draws keep the certified answer, for each move."""
        found = []
        for part in moves.split(max(1, ROWS // draws)):
            answers = self._logits(part.repeat_interleave(draws, dim=0)).argmax(dim=1)
            found.append((answers == self.label).view(len(part), draws).sum(dim=1).numpy())
        return np.concatenate(found)

    def ascended(self, size: float, *, steps: int = 12, draws: int = 64) -> Tensor:
        """Two moves of that size, uphill on the smoothed loss: where Frank–Wolfe ends, and its last goal."""
        move = torch.zeros(1, len(self.item), self.width)
        total = torch.zeros_like(move)
        for step in range(steps):
            total += self._gradient(move.expand(draws, -1, -1))
            goal = size * self.on_the_boundary(total)
            move = move + (goal - move) * 2 / (step + 2)
        return torch.cat([move, goal])

    @property
    def width(self) -> int:
        return int(self.shifted.module.config.hidden_size)

    def _noise(self, rows: int) -> Tensor:
        self.seed += 1
        rng = np.random.default_rng(self.seed)
        shape = (rows, 2 if isinstance(self.predictor, CertifiedMasked) else 1, len(self.item), self.width)
        laplace = getattr(self.predictor, "kind", "gaussian") == "laplace"
        drawn = rng.laplace(size=shape) if laplace else rng.standard_normal(shape)
        return torch.from_numpy(drawn.astype(np.float32))

    def _logits(self, moves: Tensor) -> Tensor:
        """One draw for each move, by the very code that certificates are sampled with."""
        blocks = tuple(site for site in getattr(self.predictor, "noise_layers", ()) if site != "embeddings")
        noise = (
            self.predictor
            if isinstance(self.predictor, CertifiedMasked)
            else EmbeddingNoise(self.predictor.sigma, self.predictor.kind, blocks)
        )
        self.shifted.moves = moves
        sampler: Any = noise.sampler(self.shifted, [self.item], seed=0, purpose=ESTIMATE)
        batch = self.shifted.batch([self.item] * len(moves))
        with torch.no_grad():
            clean = self.shifted.start(batch)
        keys = [self.seed * ROWS + row for row in range(len(moves))]
        start = sampler.noisy(batch, clean, self._noise(len(moves)))
        with torch.inference_mode():
            found: Tensor = sampler.run(batch, start, keys)
        return found

    def _gradient(self, moves: Tensor) -> Tensor:
        batch = self.shifted.batch([self.item] * len(moves))
        self.shifted.moves = moves
        clean = self.shifted.start(batch).detach().requires_grad_(True)
        noise = self._noise(len(moves))
        if isinstance(self.predictor, CertifiedMasked):
            entered = masked_average(
                self.shifted,
                batch,
                clean,
                noise=noise,
                sigmas=self.predictor.sigmas,
                masked_tokens=self.predictor.masked_tokens,
                threat=self.predictor.threat,
            )
        else:
            entered = clean + self.predictor.sigma * noise[:, 0]
        logits = self.shifted.forward(batch, start=entered).logits
        loss = F.cross_entropy(logits, torch.full((len(moves),), self.label))
        return torch.autograd.grad(loss, clean)[0].sum(dim=0, keepdim=True)


@pytest.mark.full
@pytest.mark.parametrize(
    ("predictor", "threat"),
    [
        (Vote(sigma=0.1, noise_layers=("embeddings",)), "l2"),
        (Vote(sigma=0.1, noise_layers=("embeddings", 1)), "linf"),
        (Vote(sigma=0.1, noise_layers=("embeddings",), kind="laplace"), "l1"),
        (CertifiedMasked(sigma=0.1, masked_tokens=1), "l2"),
        (CertifiedMasked(sigma=0.1, masked_tokens=4, threat="each-word"), "each-word"),
    ],
    ids=["l2", "linf", "l1", "masked l2", "masked each-word"],
)
def test_no_move_inside_the_ball_flips_the_majority(model: TextModel, predictor: Any, threat: str) -> None:
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(WORDS, 8)) for _ in range(6)]
    clf = Classifier(model, predictor, labels=["down", "up"])
    report = certify(clf, texts, threat=threat, sampling=Sampling(n=1000), reading=Reading(antonyms=False))
    # Not so sure that no small move could matter.
    one = max((c for c in report if c.status == "certified"), key=lambda c: (c.p_top < 0.95, c.p_top))
    assert one.radius > 0
    (item,) = model.encode([one.texts[0]])
    shifted = Shifted(model.module, model.tokenizer, max_length=model.max_length)
    attack = Attacked(predictor, threat, shifted, item, clf.labels.index(str(one.label)))

    ascended = torch.cat([attack.ascended(one.radius) for _ in range(3)])
    generator = torch.Generator().manual_seed(0)
    directions = torch.randn(MOVES, len(item), attack.width, generator=generator)
    directions[::2] += 30 * ascended[:1] / ascended[:1].norm()  # half of them lean towards the other class
    moves = torch.cat([ascended, one.radius * attack.on_the_boundary(directions)])
    for draws, left in ((2, 300), (30, 12)):
        worst = attack.kept(moves, draws).argsort(kind="stable")[:left]
        moves = torch.cat([ascended, moves[torch.from_numpy(worst)]])
    kept = attack.kept(moves, ROWS)
    assert (clopper_pearson_upper(kept, ROWS, CHANCE) >= 0.5).all()

    # The attack is one: far enough outside it flips the majority.
    flipped = [
        times for times in (4, 16, 64) if attack.kept(attack.ascended(times * one.radius), 500).min() < 200
    ]
    assert flipped
