"""Certificates against every word moved a little: who gives them, who is refused, and what they say."""

from __future__ import annotations

import math
from typing import Any

import pytest
from scipy.stats import norm

from tiny_models import TEXTS, tiny_classifier
from unfooled.api.certify import certify
from unfooled.certificates.sampling import Reading, Sampling
from unfooled.errors import UsageError
from unfooled.models import TextModel
from unfooled.predictors import CertifiedMasked, Classifier, Vote
from unfooled.predictors.registry import make_predictor

QUICK: dict[str, Any] = {"sampling": Sampling(n=200), "reading": Reading(antonyms=False)}
SHARP = CertifiedMasked(sigma=0.3, masked_tokens=1, threat="each-word")


@pytest.fixture(scope="module")
def model() -> TextModel:
    return tiny_classifier("bert", labels=2, seed=3)


def deployed(model: TextModel, predictor: Any) -> Classifier:
    return Classifier(model, predictor, labels=["down", "up"], defence="certified-rsmi")


@pytest.mark.full
@pytest.mark.parametrize(
    "predictor", [Vote(sigma=0.3, noise_layers=("embeddings",)), CertifiedMasked(sigma=0.3), SHARP]
)
@pytest.mark.parametrize("adaptive", [False, True])
def test_the_radius_is_that_of_all_words_together_over_the_root_of_their_number(
    model: TextModel, predictor: Any, adaptive: bool
) -> None:
    texts = [text for text in TEXTS if " " in text]
    report = certify(
        deployed(model, predictor),
        texts,
        threat="each-word",
        bounds=["gaussian"],
        sampling=Sampling(n=200, adaptive=adaptive),
        reading=Reading(antonyms=False),
    )
    assert report.notes == [] and report.summary["counts"]["certified"] > 0
    from unfooled.statistics.bounds import gaussian_l2

    for one, item in zip(report, model.encode(texts), strict=True):
        if one.status == "certified":
            words = len(item) - 2  # [CLS] and [SEP] cannot be moved
            together = gaussian_l2(one.p_top, one.p_second, 0.3)
            assert one.radius == pytest.approx(together / math.sqrt(words), rel=1e-9)
            assert one.radius <= 0.3 * norm.ppf(one.p_top) / math.sqrt(words)
            assert "no token's embedding lies further" in one.sentence
            assert one.unit == "embedding distance of each word"


def test_a_sharper_second_look_is_certified_for_its_own_threat_alone(model: TextModel) -> None:
    with pytest.raises(UsageError, match=r"less noise behind its mask.*--threat each-word.*threat=l2"):
        certify(deployed(model, SHARP), ["a good film"], threat="l2", **QUICK)
    with pytest.raises(UsageError, match="Gaussian noise, which has no l1"):
        certify(deployed(model, SHARP), ["a good film"], threat="l1", **QUICK)
    each, largest = (
        certify(deployed(model, SHARP), ["a good film of love"], threat=threat, **QUICK)[0]
        for threat in ("each-word", "linf")
    )
    assert each.bound == "composed" and each.votes == largest.votes
    assert 0 < largest.radius <= each.radius / math.sqrt(32)


def test_a_text_of_which_nothing_is_left_is_refused(model: TextModel) -> None:
    report = certify(deployed(model, SHARP), ["dull", "dull film"], threat="each-word", **QUICK)
    assert report[0].status == "refused" and "hides all of the text's word tokens (1;" in report[0].message
    assert report[1].status != "refused"
    decision = SHARP.decide(model, model.encode(["dull"]))[0]
    assert sum(decision.votes[0]) == 20  # it is answered, without a promise
    whole = CertifiedMasked(sigma=0.3, masked_tokens=1)
    assert certify(deployed(model, whole), ["dull"], threat="each-word", **QUICK)[0].status != "refused"


def test_the_calibration_is_a_setting_and_is_saved() -> None:
    made = make_predictor("certified-masked", {"threat": "each-word"})
    assert made.describe()["threat"] == "each-word"
    assert make_predictor("certified-masked").describe()["threat"] == "l2"
    with pytest.raises(UsageError, match="threat"):
        make_predictor("certified-masked", {"threat": "linf"})
