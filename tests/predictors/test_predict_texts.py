"""``Classifier.predict`` on whatever people send: an answer or a clear refusal, never a crash."""

from __future__ import annotations

import json

import pytest

from tiny_models import TEXTS, tiny_classifier
from unfooled.errors import UsageError
from unfooled.models import TextModel
from unfooled.models.encoding import MAX_CHARACTERS
from unfooled.predictors import (
    CertifiedMasked,
    Classifier,
    Plain,
    RandomWordMask,
    Sequential,
    TwoStep,
    Vote,
)
from unfooled.predictors.override import with_predictor
from unfooled.predictors.predictor import Predictor

STRANGE = {
    "long": "a witty film " * 7_700,
    "one long word": "x" * 100_000,
    "emoji": "🎬🔥 👩‍👩‍👧‍👦",
    "right to left": "هذا فيلم جميل جدا",
    "mixed scripts": "film фильм 映画 \u202eelif\u202c",
    "lone surrogate": "a \ud800 film \udfff",
    "nul inside": "a\x00film\x07",
    "combining marks": "f" + "\u0301" * 500,
    "newlines": "a\r\nfilm\u2028long",
    "special tokens": "[CLS] [MASK] [SEP] [PAD] </s> <extra_id_0>",
}
UNREADABLE = {"empty": "", "spaces": " \t\n ", "nul": "\x00\x00", "controls": "\x07\x1b", "wide": "\u3000"}
PREDICTORS = [Plain(), TwoStep(sigma=0.5, noise_layers=(0,), second_votes=5), Sequential(max_votes=9)]


@pytest.fixture(params=PREDICTORS, ids=lambda predictor: type(predictor).__name__)
def deployed(request: pytest.FixtureRequest, bert: TextModel) -> Classifier:
    return Classifier(bert, request.param, labels=["bad", "fair", "good"])


def test_strange_texts_are_answered(deployed: Classifier) -> None:
    for name, answer in zip(STRANGE, deployed.predict(list(STRANGE.values())), strict=True):
        assert answer.leader in deployed.labels, name
        assert answer.label == (None if answer.abstained else answer.leader), name
        assert answer.refused == ""
        assert answer.truncated == (name == "long"), name
        json.dumps(answer.to_dict(), allow_nan=False).encode()


def test_texts_with_nothing_to_read_are_refused_and_the_others_answered(deployed: Classifier) -> None:
    texts = [part for text in UNREADABLE.values() for part in (text, TEXTS[0])]
    answers = deployed.predict(texts)
    (expected,) = deployed.predict([TEXTS[0]])
    for refused, answered in zip(answers[::2], answers[1::2], strict=True):
        assert refused.label is None
        assert "empty" in refused.refused or "nothing to read" in refused.refused
        assert refused.forwards == 0
        assert answered.label == expected.label
        assert answered.votes == expected.votes


def test_only_unreadable_texts_or_none_at_all(deployed: Classifier) -> None:
    assert [answer.label for answer in deployed.predict(["", "\x00"])] == [None, None]
    assert len(deployed.predict([])) == 0


def test_a_monstrous_text_is_refused_without_tokenising_it(plain: Classifier) -> None:
    (answer,) = plain.predict(["a" * (MAX_CHARACTERS + 1)])
    assert answer.label is None
    assert "1,000,001 characters" in answer.refused


def test_masked_words_are_the_words_of_the_text(bert: TextModel) -> None:
    predictor = TwoStep(sigma=0.1, noise_layers=(0,), masked_tokens=2, candidates=3)
    classifier = Classifier(bert, predictor, labels=["bad", "fair", "good"])
    text = "A Gorgeous, WITTY film \ud800"
    (answer,) = classifier.predict([text])
    assert len(answer.masked_words) == 2
    for word, (which, start, end) in zip(answer.masked_words, answer.masked_spans, strict=True):
        assert which == 0
        assert word in (text[start:end], "?")
        assert word
    (pair,) = classifier.predict(["film"], ["dull"])
    assert sorted(pair.masked_words) == ["dull", "film"]
    assert sorted(which for which, _, _ in pair.masked_spans) == [0, 1]


def test_labels_scores_and_votes_carry_their_names(bert: TextModel) -> None:
    labels = ["bad", "fair", "good"]
    (answer,) = Classifier(bert, TwoStep(sigma=0.0), labels=labels).predict(["a bold film"])
    assert list(answer.scores) == labels
    assert [list(stage) for stage in answer.votes] == [labels]
    assert answer.label == answer.leader == max(answer.scores, key=answer.scores.__getitem__)
    assert (answer.stage, answer.forwards, answer.abstained) == (1, 6, False)


def test_an_abstention_has_a_leader_but_no_label(bert: TextModel) -> None:
    undecided = Sequential(sigma=0.1, max_votes=1, abstain=True)
    (answer,) = Classifier(bert, undecided, labels=["bad", "fair", "good"]).predict(["a bold film"])
    assert answer.abstained
    assert answer.label is None
    assert answer.leader in ("bad", "fair", "good")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a film",), r"list of texts.*brackets"),
        ((["a film"], "a film"), "list of texts"),
        ((["a film", 3],), r"texts\[1\] is int, not text"),
        (([None],), r"texts\[0\] is NoneType"),
        (([b"film"],), r"texts\[0\] is bytes"),
        ((["a"], [2.5]), r"pairs\[0\] is float"),
        ((["a", "b"], ["c"]), "2 texts but 1 pairs"),
        ((["a"], []), "1 texts but 0 pairs"),
    ],
)
def test_misuse_is_explained(plain: Classifier, arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plain.predict(*arguments)  # type: ignore[arg-type]


def test_pairs_are_asked_for_where_the_task_has_them(bert: TextModel) -> None:
    labels = ["a", "b", "c"]
    nli = Classifier(bert, Plain(), labels=labels, task={"kind": "pair"})
    with pytest.raises(UsageError, match="trained on pairs"):
        nli.predict(["a film"])
    assert nli.predict(["a film"], ["it was long"])[0].label in labels
    assert nli.predict(["a film"], [" "])[0].refused
    single = Classifier(bert, Plain(), labels=labels, task={"kind": "single"})
    with pytest.raises(UsageError, match="single texts"):
        single.predict(["a film"], ["it was long"])


def test_t5_answers_strange_texts_and_pairs(t5: TextModel) -> None:
    classifier = Classifier(t5, TwoStep(second_votes=3), labels=["a", "b", "c"])
    assert all(answer.label for answer in classifier.predict(list(STRANGE.values())))
    assert classifier.predict(["film", "a long film"], ["dull", "</s>"])[1].label


def test_a_wrong_number_of_labels_is_refused(bert: TextModel) -> None:
    with pytest.raises(UsageError, match="2 label names for a model with 3 outputs"):
        Classifier(bert, Plain(), labels=["a", "b"])


def test_a_predictor_the_model_cannot_serve_is_refused(bert: TextModel) -> None:
    with pytest.raises(UsageError, match="noise_layers: block 9"):
        Classifier(bert, TwoStep(noise_layers=(9,)), labels=["a", "b", "c"])


def test_another_predictor_keeps_the_settings_both_have() -> None:
    two_step = TwoStep(sigma=0.37, noise_layers=(0, 2), masked_tokens=3, candidates=7, first_votes=3)
    classifier = Classifier(tiny_classifier("bert"), two_step, labels=["a", "b", "c"], defence="rsmi")
    sequential = with_predictor(classifier, {"name": "sequential", "max_votes": 9})
    assert sequential.predictor == Sequential(
        sigma=0.37, noise_layers=(0, 2), masked_tokens=3, candidates=7, max_votes=9
    )
    assert (sequential.defence, sequential.labels) == ("rsmi", ("a", "b", "c"))
    changed = with_predictor(classifier, {"second_votes": 8})
    assert changed.predictor.describe() == {**two_step.describe(), "second_votes": 8}
    assert with_predictor(classifier, "plain").predictor == Plain()
    assert with_predictor(classifier, None) is classifier
    with pytest.raises(UsageError, match="no setting 'max_votes'"):
        with_predictor(classifier, {"max_votes": 9})
    with pytest.raises(UsageError, match="no predictor 'oracle'"):
        with_predictor(classifier, "oracle")


@pytest.mark.parametrize(
    "predictor",
    [
        Vote(sigma=2.0, noise_layers=(0,), votes=9),
        TwoStep(sigma=2.0, noise_layers=(0,), first_votes=9),
        Sequential(sigma=2.0, noise_layers=(0,), max_votes=9),
        RandomWordMask(kept=0.5, votes=9),
        CertifiedMasked(sigma=2.0, votes=9),
    ],
    ids=lambda predictor: str(predictor.name),
)
def test_without_a_seed_copies_of_a_text_draw_noise_of_their_own(
    predictor: Predictor, bert: TextModel
) -> None:
    """Who asks again with copies in one batch must see how the answers vary."""
    classifier = Classifier(bert, predictor, labels=["bad", "fair", "good"])
    copies = [TEXTS[0]] * 16
    assert len({str(answer.votes) for answer in classifier.predict(copies, seed=None)}) > 1
    assert len({str(answer.votes) for answer in classifier.predict(copies, seed=7)}) == 1
