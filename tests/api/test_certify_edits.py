"""Certificates against edits: what is promised, where a bin ends, and that no edit breaks the promise."""

from __future__ import annotations

import itertools
import math

import pytest

import unfooled as uf
from tiny_models import tiny_classifier
from unfooled.certificates.sampling import Sampling
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
            if _distance(("the", "film"), text) <= found.radius:
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


def _distance(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (left != right))
    return row[-1]


def test_the_radius_of_edits_ends_at_the_bin_and_that_of_replacements_does_not(keyword: TextModel) -> None:
    classifier = deployed(keyword, rates=(0.9, 0.9), bins=(4,))
    (edits,) = uf.certify(classifier, ["a dull film"], threat="edits", sampling=FEW)
    (words,) = uf.certify(classifier, ["a dull film"], threat="words", sampling=FEW)
    assert (edits.radius, words.radius) == (1, 6)


def test_negations_whose_deletion_the_answer_ignores_are_counted(keyword: TextModel) -> None:
    text = "the film is not dull , never flat"
    (found,) = uf.certify(deployed(keyword), [text], threat="edits", sampling=FEW)
    assert found.radius >= 1
    assert found.negations_inside == 2


def test_a_run_without_deletion_is_told_which_predictor_is_certified(keyword: TextModel) -> None:
    from unfooled.predictors import Plain

    plain = Classifier(keyword, Plain(), labels=["no", "yes", "never"])
    report = uf.certify(plain, ["a dull film"], threat="edits", sampling=FEW)
    assert any("random-delete" in note for note in report.notes)
