"""No certificate at the embeddings for a model that learns of its words on another way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tiny_models import tiny_classifier, tiny_decoder
from unfooled.api.certify import certify
from unfooled.certificates.sampling import Reading, Sampling
from unfooled.errors import UsageError
from unfooled.models import Encoded, TextModel
from unfooled.predictors import CertifiedMasked, Classifier, Vote

QUICK: dict[str, Any] = {"sampling": Sampling(n=100), "reading": Reading(antonyms=False)}
NOISY = Vote(sigma=0.2, noise_layers=("embeddings",))


def deployed(model: TextModel, predictor: Any = NOISY) -> Classifier:
    return Classifier(model, predictor, labels=["down", "up"], defence="noise-augment")


@pytest.mark.parametrize("predictor", [NOISY, CertifiedMasked(sigma=0.2, masked_tokens=0)])
@pytest.mark.parametrize("threat", ["l2", "linf", "each-word"])
def test_padding_that_can_stand_in_a_text_is_refused_for_every_text(predictor: Any, threat: str) -> None:
    """«zzz» is unknown and so padding, which moves the place of the answer: at the same embeddings too."""
    with pytest.raises(UsageError, match=r"can hold the token <unk>.*--threat words"):
        certify(
            deployed(tiny_decoder(pad="<unk>"), predictor), ["a good film is bad"], threat=threat, **QUICK
        )


def test_padding_of_its_own_is_certified() -> None:
    report = certify(deployed(tiny_decoder()), ["a good film is bad", "a good film is zzz"], **QUICK)
    assert report.summary["counts"]["refused"] == 0


def test_a_text_with_the_padding_token_in_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_classifier("bert", labels=2, seed=3)
    own = model.encode

    def spoilt(texts: Any, pairs: Any = None) -> list[Encoded]:
        padding = model.tokenizer.pad_token_id
        return [
            replace(item, ids=(*item.ids[:2], padding, *item.ids[3:])) if "war" in text else item
            for text, item in zip(texts, own(texts, pairs), strict=True)
        ]

    monkeypatch.setattr(model, "encode", spoilt)
    report = certify(deployed(model), ["a good film", "bold old war"], **QUICK)
    assert [one.status == "refused" for one in report] == [False, True]
    assert "padding token stands inside" in report[1].message


def test_a_model_that_looks_at_its_ids_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from unfooled.models import ids

    monkeypatch.setattr(ids, "ids_matter", lambda text, item: True)
    with pytest.raises(UsageError, match=r"\(bert\) gives another answer for other token ids"):
        certify(deployed(tiny_classifier("bert", labels=2)), ["a good film"], **QUICK)


def test_a_model_of_one_output_has_no_certificate() -> None:
    one = Classifier(tiny_classifier("bert", labels=1), NOISY, labels=["only"])
    for threat in ("l2", "words"):
        with pytest.raises(UsageError, match="has 1 output"):
            certify(one, ["a good film"], threat=threat, **QUICK)
