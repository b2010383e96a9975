"""Certificates of answers to questions: every changed context inside the radius keeps the answer, exactly."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest
import torch

import unfooled as uf
from tiny_questions import tiny_reader
from unfooled.certificates import radii
from unfooled.certificates.sampling import Sampling
from unfooled.errors import UsageError
from unfooled.lexicon.substitution import load_table
from unfooled.models import QaModel
from unfooled.predictors import Classifier, Plain
from unfooled.predictors.smoothing import RandomWordDelete, RandomWordMask, SmoothedVote, SynonymVote
from unfooled.predictors.smoothing.answer_votes import AnswerSampler, read_spans
from unfooled.predictors.smoothing.drawn_contexts import DeletedContexts
from unfooled.predictors.smoothing.masked_contexts import ContextMasker
from unfooled.records.summaries.squad_score import normalised
from unfooled.statistics.bounds import deletion_deletions

ASKED = "the film"
FEW = Sampling(n0=50, n=3000)
TASK = {"kind": "qa", "metric": "f1"}


def reader(weights: dict[str, float], *, at: int | None = None, bias: float = 0.0) -> QaModel:
    """It names the one token of the largest weight; the context's token number ``at`` has ``bias`` more."""
    model = tiny_reader("bert", max_length=64)
    table = torch.zeros(len(model.tokenizer))
    for word, weight in weights.items():
        table[model.tokenizer.convert_tokens_to_ids(word)] = weight

    def forward(input_ids: torch.Tensor, token_type_ids: torch.Tensor, **_: object) -> object:
        scores = table[input_ids].clone()
        if at is not None:
            for row, kinds in enumerate(token_type_ids):
                scores[row, int(kinds.argmax()) + at] += bias
        # Where all are alike, the first: nothing is left to chance.
        scores -= 1e-3 * torch.arange(scores.shape[1])
        return type("Output", (), {"start_logits": scores, "end_logits": scores})()

    model.module.forward = forward
    return model


def deployed(model: QaModel, predictor: SmoothedVote) -> Classifier:
    return Classifier(model, predictor, labels=(), task=TASK)


def certified(model: QaModel, predictor: SmoothedVote, context: str, threat: str, **how: Any) -> Any:
    found = uf.certify(
        deployed(model, predictor), uf.Inputs(texts=[ASKED], pairs=[context]), threat=threat, **how
    )
    return found[0]


def by_deletion(model: QaModel, words: tuple[str, ...], rate: float) -> Counter[str]:
    """The probability of each normalised answer over all deletions, from plain answers."""
    plain, found = Classifier(model, Plain(), labels=(), task=TASK), Counter[str]()
    left = Counter[str]()
    for kept in product((False, True), repeat=len(words)):
        text = " ".join(word for word, stays in zip(words, kept, strict=True) if stays)
        left[text] += math.prod(1 - rate if stays else rate for stays in kept)  # type: ignore[assignment]
    read = [text for text in left if text]
    answers = [one.label or "" for one in plain.predict([ASKED] * len(read), read)]
    for text, answer in zip(["", *read], ["", *answers], strict=True):
        found[normalised(answer)] += left[text]
    return found


def edited(words: tuple[str, ...], vocabulary: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Every context that is one insertion, deletion or replacement away."""
    for at in range(len(words) + 1):
        yield from ((*words[:at], word, *words[at:]) for word in vocabulary)
        if at < len(words):
            yield (*words[:at], *words[at + 1 :])
            yield from ((*words[:at], word, *words[at + 1 :]) for word in vocabulary)


OFTEN = ("war",) * 6
LURED = {"war": 2.0, "love": 4.0}


def test_no_edit_inside_the_radius_changes_an_answer_that_stands_often() -> None:
    model = reader(LURED)
    found = certified(model, RandomWordDelete(rates=(0.7,)), " ".join(OFTEN), "edits", sampling=FEW)
    assert (found.label, found.radius) == ("war", 1)
    assert "up to case, punctuation and articles, for every context made from this one" in found.sentence
    near = set(edited(OFTEN, ("love",)))
    shares = [by_deletion(model, other, 0.7)["war"] for other in near]
    assert min(shares) > 0.5 and len(near) == 14
    further = ("love", "love", *OFTEN[2:])
    assert by_deletion(model, further, 0.7)["war"] < 0.5, "one edit more than certified takes it away"


def test_a_bound_that_forgets_insertions_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(radii, "deletion_edits", deletion_deletions)
    found = certified(reader(LURED), RandomWordDelete(rates=(0.7,)), " ".join(OFTEN), "edits", sampling=FEW)
    assert found.radius > 1
    twice = (*OFTEN, "love", "love")
    assert by_deletion(reader(LURED), twice, 0.7)["war"] < 0.5


@pytest.mark.parametrize("rate", [0.3, 0.6, 0.75, 0.9])
@pytest.mark.parametrize("two_class", [False, True])
def test_an_answer_that_stands_once_is_never_certified_against_an_edit(rate: float, two_class: bool) -> None:
    """Deleting it takes it away, whatever the model: a radius of 1 would be false."""
    sampling = Sampling(n0=20, n=500, two_class=two_class)
    found = certified(
        reader(LURED), RandomWordDelete(rates=(rate,)), "a war in film", "edits", sampling=sampling
    )
    assert (found.label in (None, "war", "") and found.radius == 0) or found.label == ""


def test_that_no_edit_lures_a_reader_into_an_answer_can_be_certified() -> None:
    """A context that the tokenizer reads nothing of leaves no answer, and few edits seldom leave one."""
    model = reader(LURED)
    model.unanswerable = True
    null = model.tokenizer.convert_tokens_to_ids("[CLS]")
    scores = model.module.forward

    def forward(input_ids: torch.Tensor, **more: Any) -> Any:
        found = scores(input_ids=input_ids, **more)
        found.start_logits[input_ids == null] = 3.0
        return found

    model.module.forward = forward
    context = "a film in a plot"
    found = certified(model, RandomWordDelete(rates=(0.8,)), context, "edits", sampling=FEW)
    assert (found.label, found.span, found.radius) == ("", (0, 0), 3)
    assert "gives no answer for this question and" in found.sentence and found.answer_text == "(no answer)"
    worst = by_deletion(model, (*context.split(), "love", "love", "love"), 0.8)
    assert worst[""] == pytest.approx(0.8**3) and worst[""] > 0.5


def test_no_replacement_inside_the_radius_moves_a_place() -> None:
    """Two of six words are shown. «love» draws the answer to itself, if it is shown."""
    model = reader({"love": 5.0}, at=3, bias=2.0)
    words = ("the", "film", "is", "war", "in", "plot")
    found = certified(model, RandomWordMask(kept=2), " ".join(words), "words", sampling=FEW)
    assert (found.label, found.span, found.radius) == ("war", (12, 15), 1)
    assert "with the words in the same place of the context" in found.sentence

    def share(own: tuple[str, ...]) -> float:
        (context,) = ContextMasker(model).read([(ASKED, " ".join(own))])
        shown = [(context.shown(set(kept)),) for kept in combinations(range(len(own)), 2)]
        return sum(span == (6, 7) for span in read_spans(model, shown)) / len(shown)

    def replaced(own: tuple[str, ...], times: int) -> set[tuple[str, ...]]:
        if not times:
            return {own}
        return {
            (*one[:at], word, *one[at + 1 :])
            for one in replaced(own, times - 1)
            for at in range(len(own))
            for word in ("love", "film")
        }

    near, further = replaced(words, 1), replaced(words, 2)
    assert min(map(share, near)) > 0.5 > min(map(share, further))


def test_what_a_masked_context_names_depends_on_the_shown_words_alone() -> None:
    """Hidden words leave no trace, neither in the tokens nor in the place, accents at its start included."""
    for family in ("bert", "roberta", "deberta-v2"):
        model = tiny_reader(family)
        if model.mask_refusal():
            continue
        first, second = ContextMasker(model).read(
            [(ASKED, "the film is war in plot"), (ASKED, "a film 👍🏽 ́war, in everything")]
        )
        here, there = (own.shown({1, 4}) for own in (first, second))
        assert (here.ids, here.offsets, here.texts) == (there.ids, there.offsets, there.texts)
        assert here.span(*first.tokens_of(here, (4, 8))) == (2, 3)  # type: ignore[misc]


@pytest.fixture
def synonyms(tmp_path: Path) -> str:
    path = tmp_path / "synonyms.json"
    path.write_text(json.dumps({"good": ["great"], "great": ["fine"], "film": ["movie"], "war": ["love"]}))
    return str(path)


def test_no_synonym_inside_the_radius_moves_a_place(synonyms: str) -> None:
    predictor = SynonymVote(table=synonyms, expand=False)
    table, checked = load_table(synonyms, min_cosine=0.8, most=100, expand=False), 0
    for seed in range(6):
        chance = torch.Generator().manual_seed(seed)
        names = ("good", "great", "fine", "film", "movie", "war", "love", "plot")
        model = reader(dict(zip(names, torch.randn(len(names), generator=chance).tolist(), strict=True)))
        model_words = ("Good", "film", "war", "plot")
        found = certified(model, predictor, "Good film, war plot", "synonyms", sampling=FEW)
        if not found.radius:
            continue
        where = [word.lower() for word in model_words].index(found.label.lower())
        every = [(word, *table.allowed(word)) for word in model_words]
        for other in product(*every):
            if sum(a != b for a, b in zip(other, model_words, strict=True)) > found.radius:
                continue
            shares = Counter[int]()
            draws = list(product(*(table.sampled(word) for word in other)))
            for drawn in draws:
                texts = f"{drawn[0]} {drawn[1]}, {drawn[2]} {drawn[3]}"
                ((span,),) = [read_spans(model, [model.read([(ASKED, texts)])[0].windows])]
                shares[texts[: span[0]].count(" ")] += 1
            assert shares.most_common(1)[0][0] == where, (seed, other)
            checked += 1
    assert checked >= 8


def test_the_spans_of_redrawn_contexts_are_the_characters_of_the_given_one(synonyms: str) -> None:
    model = reader({"war": 3.0, "love": 3.0})
    context = "«Film», (war)…  and a plot"
    predictor = SynonymVote(table=synonyms, votes=40)
    (answer,) = deployed(model, predictor).predict([ASKED], [context])
    assert answer.label == "war" and answer.span is not None
    assert context[slice(*answer.span)] == "war"
    assert answer.scores == {"war": 1.0}, "whichever of the two words was drawn"


def test_selection_and_estimation_have_draws_of_their_own() -> None:
    model = tiny_reader()
    items = model.read([(ASKED, "the film is good and the plot is not bad")])
    first = RandomWordDelete(rates=(0.5,)).sampler(model, items, seed=0, purpose="select")
    assert isinstance(first, AnswerSampler)
    draws: list[list[Any]] = []
    for one in (first, first.again("estimate")):
        one.counts([(0, 0, 64)])
        draws.append(list(one._remembered[0]))
    assert draws[0] != draws[1]


@pytest.mark.parametrize("predictor", [RandomWordDelete(rates=(0.4,)), RandomWordMask(kept=0.5)])
def test_votes_do_not_depend_on_how_draws_are_asked_for(predictor: SmoothedVote) -> None:
    model = tiny_reader()
    items = model.read([(ASKED, "the film is good in war 3"), ("in in", "a dull plot " * 30)])
    together = predictor.sampler(model, items, seed=3, purpose="select")
    assert isinstance(together, AnswerSampler)
    whole = together.counts([(0, 0, 50), (1, 0, 50)])
    for number, item in enumerate(items):
        alone = predictor.sampler(model, [item], seed=3, purpose="select")
        assert isinstance(alone, AnswerSampler)
        parts = [alone.counts([(0, start, 10)])[0] for start in range(0, 50, 10)]
        total = sum(torch.nn.functional.pad(torch.tensor(p), (0, len(parts[-1]) - len(p))) for p in parts)
        assert total.tolist() == whole[number].tolist()  # type: ignore[union-attr]
        assert alone.answers(0) == together.answers(number)


def test_an_answer_is_a_function_of_the_question_and_the_words_that_are_left() -> None:
    """Windows and all: two contexts of which the same words are left get the same answer."""
    model = tiny_reader(max_length=16, stride=4)
    one, other = "the film is good in war 3 " * 4, "oh the film is good in war 3 " * 4
    items = model.read([(ASKED, one), (ASKED, other)])
    draws = DeletedContexts(model, items, lambda total: 0.5)
    flags = [[number % 3 > 0 for number in range(28)], []]
    flags[1] = [
        own for number, kept in enumerate(flags[0]) for own in ([False, kept] if number % 7 == 0 else [kept])
    ]
    drawn = [(owner, bytes(own)) for owner, own in enumerate(flags)]
    windows = draws.windows(drawn)
    assert len(windows[0]) > 1 and [w.ids for w in windows[0]] == [w.ids for w in windows[1]]
    keys = [
        draws.answer(owner, draw, span).key
        for (owner, draw), span in zip(drawn, read_spans(model, windows), strict=True)
    ]
    assert keys[0] == keys[1]


def test_a_reader_whose_rows_see_each_other_or_that_is_random_is_refused() -> None:
    model = tiny_reader()
    plain = model.module.forward

    def leaking(*args: Any, **more: Any) -> Any:
        found = plain(*args, **more)
        found.start_logits = found.start_logits + found.start_logits.flip(0)
        return found

    def random(*args: Any, **more: Any) -> Any:
        found = plain(*args, **more)
        found.start_logits = found.start_logits + torch.randn_like(found.start_logits)
        return found

    for forward, told in (
        (leaking, "another answer in a batch than alone"),
        (random, "two different answers to the same inputs"),
    ):
        model.module.forward = forward
        with pytest.raises(UsageError, match=told):
            certified(
                model, RandomWordDelete(rates=(0.5,)), "the film is good in war 3", "edits", sampling=FEW
            )


def test_threats_that_have_no_certificate_are_refused_by_name() -> None:
    with pytest.raises(UsageError, match=r"no certificate of answers.*l2.*synonyms, words, edits"):
        certified(tiny_reader(), RandomWordDelete(), "a film", "l2")


def test_the_certified_mode_answers_what_has_half_of_all_draws_or_nothing() -> None:
    sure = deployed(reader(LURED), RandomWordMask(kept=2))
    (answer,) = uf.predict(sure, [ASKED], ["the film is"], certified=True)
    assert answer.decided and answer.label
    unsure = deployed(reader(LURED), RandomWordDelete(rates=(0.7,)))
    (answer,) = uf.predict(unsure, [ASKED], ["a war in film"], certified=True, max_votes=200)
    assert answer.abstained and answer.label is None
