"""The tool's own adaptive attack never flips a certified answer inside its certificate; outside it does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tiny_models import WORDS, tiny_classifier
from unfooled.api.certify import certify
from unfooled.attacks import Answer, Asked, Example, Limits, make_recipe
from unfooled.attacks.scheduler import run_attacks
from unfooled.attacks.victims.ours import ClassifierVictim
from unfooled.certificates.distances import distances
from unfooled.certificates.sampling import Reading, Sampling
from unfooled.lexicon.stopwords import is_stop_word
from unfooled.lexicon.substitution import load_table
from unfooled.lexicon.tagger import Tag
from unfooled.models import Forward, TextModel
from unfooled.predictors import Classifier, RandomWordMask, Vote
from unfooled.predictors.smoothing import WordAssembler
from unfooled.predictors.smoothing.vote_labels import answers
from unfooled.records.certificate import Certificate
from unfooled.records.outcome import Outcome
from unfooled.words.document import Document

CONTENT = [word for word in WORDS if not is_stop_word(word)]
CHANGEABLE = 10
"""Words of each text, none of them a stop word."""


def texts(count: int) -> list[str]:
    rng = np.random.default_rng(5)
    return [" ".join(rng.choice(CONTENT, CHANGEABLE, replace=False)) for _ in range(count)]


@pytest.fixture(scope="module")
def model() -> TextModel:
    """A random classifier for which both classes are as likely, of whole texts and of single words."""
    made = tiny_classifier("bert", labels=2, seed=3, num_hidden_layers=2, hidden_size=16)
    assembler = WordAssembler(made)
    shown = [
        assembler.shown(own, {n % CHANGEABLE})
        for n, own in enumerate(assembler.read([(t,) for t in texts(200)]))
    ]
    for items in (made.encode(texts(200)), shown):
        with torch.no_grad():
            logits = made.forward(made.batch(items)).logits
            made.module.classifier.bias[0] -= (logits[:, 0] - logits[:, 1]).median()
    return made


@pytest.fixture(autouse=True)
def near(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The attack's candidates: a few of the known words for each, as a table of substitutes too."""
    rng = np.random.default_rng(7)
    path = tmp_path / "substitutes.json"
    path.write_text(json.dumps({word: rng.choice(CONTENT, 4).tolist() for word in CONTENT}))
    table = load_table(str(path))

    class Near:
        def neighbours(self, word: str, count: int, min_cosine: float) -> tuple[tuple[str, float], ...]:
            return tuple((other, 0.9) for other in table.allowed(word))[:count]

    monkeypatch.setattr("unfooled.attacks.parts.candidates.load_vectors", lambda name: Near())
    return path


def attacked(victim: Any, certificates: Sequence[Certificate], changes: Sequence[float]) -> list[Outcome]:
    """The adaptive recipe on each text, with at most so many words changed."""

    def tags(asked: Sequence[str]) -> list[tuple[Tag, ...]]:
        return [tuple(Tag(start, end, "NOUN") for _, start, end in Document.of(text).spans) for text in asked]

    services = {
        "victim": victim.answers,
        "gradients": victim.gradients,
        "expected": victim.expected,
        "embedding": victim.embedding,
        "tags": tags,
        "similarity": lambda pairs: [1.0] * len(pairs),
    }
    found: list[Outcome] = []
    for one, most in zip(certificates, changes, strict=True):
        found += run_attacks(
            [Example(one.row, one.texts, victim.labels.index(one.label))],
            make_recipe("adaptive", {"draws": 4, "patience": 5}),
            services,
            limits=Limits(max_changed=most / CHANGEABLE, fresh_predictions=1),
            randomised=victim.randomised,
        )
    assert {one.status for one in found} <= {"success", "failed"}
    return found


class Majority(ClassifierVictim):
    """Random masking that shows one word, answering by the exact shares of all its draws."""

    def __init__(self, classifier: Classifier) -> None:
        super().__init__(classifier)
        self.randomised = False
        self._assembler = WordAssembler(classifier.model)

    def answers(self, asked: Sequence[Asked]) -> list[Answer]:
        found = []
        for words in self._assembler.read([one.query for one in asked]):
            shown = [self._assembler.shown(words, {place}) for place in range(len(words))]
            shares = np.bincount(answers(self.classifier.model, shown), minlength=2) / len(words)
            found.append(Answer(tuple(shares.tolist()), int(shares.argmax())))
        return found


@pytest.mark.full
def test_certified_words_hold(model: TextModel) -> None:
    clf = Classifier(model, RandomWordMask(kept=1), labels=["down", "up"])
    report = certify(
        clf, texts(40), threat="words", sampling=Sampling(n=2000), reading=Reading(antonyms=False)
    )
    best = [one for one in report if one.radius >= 1]
    assert len(best) >= 5
    inside = attacked(Majority(clf), best, [one.radius for one in best])
    assert [one.status for one in inside] == ["failed"] * len(best)
    outside = attacked(Majority(clf), best, [CHANGEABLE] * len(best))
    assert sum(one.status == "success" for one in outside) > 0


class Adding(TextModel):
    """Adds up one coordinate of all embeddings: under noise its majority is known, the sign of the sum."""

    @classmethod
    def make(cls) -> Adding:
        """Good words count +1 to +1.2, bad words as much the other way, special tokens nothing."""
        own = tiny_classifier("bert", labels=2)
        made = cls(own.module, own.tokenizer, max_length=own.max_length)
        rng = np.random.default_rng(1)
        with torch.no_grad():
            table = made.architecture.embeddings.weight
            table.mul_(0.05)
            table[:, 0] = 0.0
            for number, word in enumerate(CONTENT):
                (place,) = made.tokenizer(word, add_special_tokens=False)["input_ids"]
                table[place, 0] = float(rng.uniform(1, 1.2)) * (1 if number % 2 else -1)
        return made

    def total(self, text: str) -> float:
        (item,) = self.encode([text])
        return float(self.embed(torch.tensor([item.ids]))[0, :, 0].detach().sum())

    def forward(self, batch: Any, **how: Any) -> Forward:
        found = self.start(batch) if how.get("start") is None else how["start"]
        mask = batch.mask
        if how.get("copies") is not None:
            found, mask = found[how["copies"]], mask[how["copies"]]
        if how.get("sampler") is not None and "embeddings" in how["sites"]:
            found = found + how["sampler"]("embeddings", found, mask)
        score = (found[:, :, 0] * mask).sum(dim=1)
        return Forward(torch.stack([-score, score], dim=1))


class Recording(ClassifierVictim):
    """Remembers every text that an attack tried, successful or not."""

    def __init__(self, classifier: Classifier) -> None:
        super().__init__(classifier)
        self.tried: set[str] = set()

    def answers(self, asked: Sequence[Asked]) -> list[Answer]:
        self.tried.update(one.query[0] for one in asked)
        return super().answers(asked)


@pytest.mark.full
def test_a_ball_read_as_words_holds(near: Path) -> None:
    model = Adding.make()
    clf = Classifier(model, Vote(sigma=1.3, noise_layers=("embeddings",), votes=25), labels=["down", "up"])
    rng = np.random.default_rng(3)
    alike = [" ".join(rng.choice(CONTENT[side::2], CHANGEABLE)) for side in (0, 1) for _ in range(4)]
    report = certify(clf, alike, sampling=Sampling(n=3000), reading=Reading(str(near), False))
    best = [one for one in report if one.words_covered]
    assert len(best) >= 6 and {one.label for one in best} == {"down", "up"}
    vectors, victim = model.embedding_table(), Recording(clf)

    def flipped(before: str, after: str) -> bool:
        """Of the majority over all noise: what the vote of a few draws says may be luck."""
        return model.total(after) * model.total(before) < 0

    for one in best:
        victim.tried.clear()
        attacked(victim, [one], [float(one.words_covered or 0)])
        changed = sorted(victim.tried - {one.texts[0]})
        assert changed
        before, *after = model.encode([one.texts[0], *changed])
        assert (distances(vectors, before.ids, [item.ids for item in after]) <= one.radius).all()
        assert not any(flipped(one.texts[0], text) for text in changed)
    outside = attacked(victim, best, [CHANGEABLE] * len(best))
    assert any(one.perturbed is not None and flipped(one.original[0], one.perturbed[0]) for one in outside)
