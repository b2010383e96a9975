"""No certified text is flipped by 10,000 attacks on its words inside its threat."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from tiny_models import WORDS, tiny_classifier
from unfooled.api.certify import certify
from unfooled.certificates.sampling import Reading, Sampling
from unfooled.lexicon.substitution import load_table
from unfooled.models import Encoded, TextModel
from unfooled.predictors import Classifier, RandomWordMask, SynonymVote
from unfooled.predictors.smoothing import WordAssembler
from unfooled.predictors.smoothing.vote_labels import answers

ATTACKS = 10_000


@pytest.fixture(scope="module")
def model() -> TextModel:
    """A random classifier for which both classes are as likely, so that words can change its answer."""
    made = tiny_classifier("bert", labels=2, seed=3)
    assembler = WordAssembler(made)
    for _ in range(2):
        halves = [*made.encode(eight_words(200))]
        halves += [assembler.shown(own, {n % 8}) for n, own in enumerate(assembler.read(split(200)))]
        with torch.no_grad():
            logits = made.forward(made.batch(halves)).logits
            made.module.classifier.bias[0] -= (logits[:, 0] - logits[:, 1]).median()
    return made


def eight_words(count: int) -> list[str]:
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS, 8)) for _ in range(count)]


def split(count: int) -> list[tuple[str]]:
    return [(text,) for text in eight_words(count)]


@pytest.mark.full
def test_any_replacement_of_certified_words(model: TextModel) -> None:
    """One word of eight is shown, so the smoothed classifier is the majority of eight known answers."""
    clf = Classifier(model, RandomWordMask(kept=1), labels=["down", "up"])
    texts = eight_words(30)
    report = certify(clf, texts, threat="words", sampling=Sampling(n=2000), reading=Reading(antonyms=False))
    best = sorted((one for one in report if one.radius >= 1), key=lambda one: -one.radius)[:4]
    assert len(best) == 4
    strange = ["q" * 30, "☃", "[MASK]", "\u200b", "GOOD!!", "0"]
    assembler, rng = WordAssembler(model), np.random.default_rng(1)
    flipped = 0
    for one in best:
        words = np.array([*one.texts[0].split(), *WORDS, *strange])
        filler = ["x"] * 8
        shown: list[Encoded] = []
        for place, word in itertools.product(range(8), words):
            (own,) = assembler.read([(" ".join([*filler[:place], word, *filler[place + 1 :]]),)])
            shown.append(assembler.shown(own, {place}))
        label = answers(model, shown).reshape(8, len(words)) == clf.labels.index(str(one.label))
        original = np.tile(np.arange(8), (ATTACKS, 1))
        for changes in (int(one.radius), 8):
            attacked = original.copy()
            for row in attacked:
                places = rng.permutation(8)[:changes]
                row[places] = rng.integers(0, len(words), changes)
            # The strongest attack there is: at each place a word that votes against, if there is one.
            against = np.array([np.flatnonzero(~own)[0] if (~own).any() else 0 for own in label])
            for number, places_ in enumerate(itertools.combinations(range(8), changes)):
                attacked[number] = np.arange(8)
                attacked[number, list(places_)] = against[list(places_)]
            votes = label[np.arange(8), attacked].sum(axis=1)
            if changes == int(one.radius):
                assert (votes > 4).all()
            else:
                flipped += int((votes < 4).sum())
    assert flipped > 0  # the attack can flip: outside the certificate it does


@pytest.mark.full
def test_any_allowed_synonyms(model: TextModel, tmp_path: Path) -> None:
    """All texts that can be drawn are enumerated, so each attacked text's exact majority is known."""
    synonyms = {
        "good": ["fine", "great"],
        "great": ["lovely"],
        "film": ["movie", "story"],
        "story": ["plot"],
        "bad": ["poor", "awful"],
        "old": ["tired", "long"],
        "long": ["last"],
    }
    path = tmp_path / "synonyms.json"
    path.write_text(json.dumps(synonyms))
    table = load_table(str(path), expand=False)
    clf = Classifier(model, SynonymVote(table=str(path), expand=False), labels=["down", "up"])
    base = ["good film is old", "bad story was long", "old film of good war", "great movie but bad plot"]
    texts = [f"{start} {text}" for start in ("a", "the", "this", "not") for text in base]
    certified = [
        one
        for one in certify(
            clf, texts, threat="synonyms", sampling=Sampling(n=2000), reading=Reading(antonyms=False)
        )
        if one.radius >= 1
    ]
    assert {one.radius for one in certified} & {1, 2, 3}  # some, and not only trivial ones
    rng = np.random.default_rng(2)
    for one in certified[:6]:
        words = one.texts[0].split()
        wanted = clf.labels.index(str(one.label))
        options = [(word, *table.allowed(word)) for word in words]
        universe = [sorted({d for option in own for d in table.sampled(option)}) for own in options]
        every = [" ".join(drawn) for drawn in itertools.product(*universe)]
        right = (answers(model, model.encode(every)) == wanted).reshape([len(own) for own in universe])
        for _ in range(ATTACKS // 6):
            attacked = list(words)
            for place in rng.permutation(len(words))[: int(one.radius)]:
                attacked[place] = options[place][rng.integers(len(options[place]))]
            sets = [
                [own.index(drawn) for drawn in table.sampled(word)]
                for own, word in zip(universe, attacked, strict=True)
            ]
            assert right[np.ix_(*sets)].mean() > 0.5
