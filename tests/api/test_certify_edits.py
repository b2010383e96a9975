"""Certificates against edits: what is promised, where a bin ends, and that no edit breaks the promise."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from rapidfuzz.distance import Levenshtein

import unfooled as uf
from tiny_models import tiny_classifier
from unfooled.certificates.sampling import Sampling
from unfooled.errors import UsageError
from unfooled.models import TextModel
from unfooled.predictors import Classifier
from unfooled.predictors.smoothing import RandomWordDelete, WordAssembler
from unfooled.predictors.smoothing.vote_labels import answers
from unfooled.statistics.bounds import deletion_edits

FEW = Sampling(n0=50, n=2000)


@pytest.fixture(scope="module")
def keyword() -> TextModel:
    """A BERT whose answer is class 1 exactly if the token of «good» is there."""
    import torch

    model = tiny_classifier("bert")
    good = model.tokenizer.convert_tokens_to_ids("good")
    module = model.module

    def forward(input_ids: torch.Tensor, **_: object) -> object:
        found = (input_ids == good).any(dim=1)
        logits = torch.stack([1.0 - found.float(), found.float(), torch.full(found.shape, -1.0)], dim=1)
        return type("Output", (), {"logits": logits})()

    module.forward = forward
    return model


def deployed(model: TextModel, **settings: object) -> Classifier:
    return Classifier(model, RandomWordDelete(**settings), labels=["no", "yes", "never"])  # type: ignore[arg-type]


def test_an_answer_that_stands_in_every_draw_has_the_largest_radius(keyword: TextModel) -> None:
    """Without «good» no draw shows it, so all votes agree."""
    (found,) = uf.certify(deployed(keyword, rates=(0.9,)), ["a dull film"], threat="edits", sampling=FEW)
    assert found.label == "no"
    assert found.radius == deletion_edits(0.001 ** (1 / 2000), 0.9) == 6
    assert "at most 6 edits" in found.sentence
    assert "inserts, deletes or replaces one word" in found.sentence


def test_no_edit_inside_the_radius_changes_the_majority(keyword: TextModel) -> None:
    """Every text within the radius, over a vocabulary that holds the one word that matters, exactly."""
    classifier = deployed(keyword, rates=(0.75,))
    (found,) = uf.certify(classifier, ["the film"], threat="edits", sampling=FEW)
    assert (found.label, found.radius) == ("no", 2)
    assembler, shares = WordAssembler(keyword), []
    for size in range(5):
        for text in itertools.product(["good", "film", "plot"], repeat=size):
            if Levenshtein.distance(("the", "film"), text) <= found.radius:
                (words,) = assembler.read_all([(" ".join(text),)])
                subsets = list(itertools.product((False, True), repeat=size))
                labels = answers(keyword, [assembler.left(words, kept) for kept in subsets])
                chances = [math.prod(0.25 if shown else 0.75 for shown in kept) for kept in subsets]
                shares.append(
                    sum(chance for chance, label in zip(chances, labels, strict=True) if label == 0)
                )
                assert shares[-1] > 0.5, text
    assert len(shares) > 20
    assert min(shares) == pytest.approx(0.75**2)  # two of the edits put «good» there


def share(classifier: Classifier, text: list[str], label: str) -> float:
    """The probability of the label over all deletions, exactly."""
    model, predictor = classifier.model, classifier.predictor
    assert isinstance(model, TextModel) and isinstance(predictor, RandomWordDelete)
    assembler, rate = WordAssembler(model), predictor.rate(len(text))
    (words,) = assembler.read_all([(" ".join(text),)])
    subsets = list(itertools.product((False, True), repeat=len(text)))
    labels = answers(model, [assembler.left(words, kept) for kept in subsets])
    chances = [math.prod(1 - rate if shown else rate for shown in kept) for kept in subsets]
    wanted = classifier.labels.index(label)
    return sum(chance for chance, found in zip(chances, labels, strict=True) if found == wanted)


def bag_of_words(seed: int) -> TextModel:
    """A classifier that adds up a random weight of each token; «good» and «dull» weigh most."""
    import torch

    model = tiny_classifier("bert", labels=2)
    chance = torch.Generator().manual_seed(seed)
    weights = torch.randn(len(model.tokenizer), generator=chance)
    weights[model.tokenizer.convert_tokens_to_ids(["good", "dull"])] = torch.tensor([3.0, -3.0])

    def forward(input_ids: torch.Tensor, attention_mask: torch.Tensor, **_: object) -> object:
        score = (weights[input_ids] * attention_mask).sum(dim=1)
        return type("Output", (), {"logits": torch.stack([-score, score], dim=1)})()

    model.module.forward = forward
    return model


def worst_edit(classifier: Classifier, text: list[str], label: str) -> tuple[list[str], float]:
    """The single edit that leaves the label least probable, and how probable that is."""
    every = {tuple(other): share(classifier, other, label) for other in edited(text, ("good", "dull"))}
    lowest = min(every, key=every.__getitem__)
    return list(lowest), every[lowest]


def edited(text: list[str], vocabulary: tuple[str, ...]) -> list[list[str]]:
    """Every text that is one insertion, deletion or replacement away."""
    places = range(len(text) + 1)
    inserted = [[*text[:place], word, *text[place:]] for place in places for word in vocabulary]
    deleted = [[*text[:place], *text[place + 1 :]] for place in places[:-1]]
    replaced = [[*text[:place], word, *text[place + 1 :]] for place in places[:-1] for word in vocabulary]
    return inserted + deleted + replaced


@pytest.mark.full
@pytest.mark.parametrize(
    "settings", [{"rates": (0.8,)}, {"rates": (0.75, 0.85), "bins": (5,)}], ids=["one rate", "length bins"]
)
def test_a_greedy_editor_flips_no_certified_text(settings: dict[str, Any]) -> None:
    """It inserts, deletes and replaces by whatever lowers the exact probability of the answer most."""
    certified = edits = flips = 0
    for seed in range(3):
        classifier = Classifier(bag_of_words(seed), RandomWordDelete(**settings), labels=["no", "yes"])
        texts = ["a film", "good film", "never too long", "the plot is flat"]
        for found in uf.certify(classifier, texts, threat="edits", sampling=FEW):
            if not found.radius or found.label is None:
                continue
            text, certified = found.texts[0].split(), certified + 1
            before = share(classifier, text, found.label)
            for _ in range(int(found.radius)):
                text, lowest = worst_edit(classifier, text, found.label)
                assert lowest > 0.5, (seed, found.texts, text)
                edits += lowest < before - 0.05
            flips += worst_edit(classifier, text, found.label)[1] <= 0.5
    assert certified >= 3 and edits >= 3, "the editor had something to attack, and did harm"
    assert flips, "one edit more than certified flips some"


def test_a_radius_of_edits_is_a_whole_number(keyword: TextModel) -> None:
    with pytest.raises(UsageError, match="whole number"):
        uf.certify(deployed(keyword), ["a film"], threat="edits", sampling=Sampling(radius=1.5))


def test_the_radius_of_edits_ends_at_the_bin_and_that_of_replacements_does_not(keyword: TextModel) -> None:
    classifier = deployed(keyword, rates=(0.9, 0.9), bins=(4,))
    (edits,) = uf.certify(classifier, ["a dull film"], threat="edits", sampling=FEW)
    (words,) = uf.certify(classifier, ["a dull film"], threat="words", sampling=FEW)
    assert (edits.radius, words.radius) == (1, 6)


def test_negations_whose_deletion_the_answer_ignores_are_counted(keyword: TextModel) -> None:
    text = "the film is NOT, never flat and didn’t bore nobody knows"
    (found,) = uf.certify(deployed(keyword), [text], threat="edits", sampling=FEW)
    assert found.radius >= 1
    assert found.negations_inside == 4


def test_a_run_without_deletion_is_told_which_predictor_is_certified(keyword: TextModel) -> None:
    from unfooled.predictors import Plain

    plain = Classifier(keyword, Plain(), labels=["no", "yes", "never"])
    report = uf.certify(plain, ["a dull film"], threat="edits", sampling=FEW)
    assert any("random-delete" in note for note in report.notes)
