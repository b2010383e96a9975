"""The recipes with the real WordNet, word vectors, tagger and sentence encoder."""

from __future__ import annotations

from typing import Any

import pytest
from keyword_victim import KeywordVictim, services

from unfooled.attacks import Example, Limits, make_recipe, run_attacks
from unfooled.lexicon.similarity import THRESHOLDS, load_similarity
from unfooled.lexicon.tagger import load_tagger, pos_of_span
from unfooled.lexicon.vectors import load_vectors
from unfooled.lexicon.wordnet import antonyms, raw_synonyms
from unfooled.words.document import Change

TEXTS = (
    "a gorgeous , witty film about two brothers who leave their village for the city .",
    "The story is great and the old actor is wonderful in it!",
    "it works because the director never lets a witty line go to waste",
)


@pytest.fixture(scope="module")
def real() -> dict[str, Any]:
    found = services(KeywordVictim())
    return found | {"tags": load_tagger().tags, "similarity": load_similarity(device="cpu").scores}


@pytest.mark.network
@pytest.mark.parametrize("name", ["textfooler", "synonym", "a2t", "random", "pwws", "antonym", "negation"])
def test_changes_come_from_the_lexicon(name: str, real: dict[str, Any]) -> None:
    examples = [Example(row, (text,), 1) for row, text in enumerate(TEXTS)]
    outcomes = list(run_attacks(examples, make_recipe(name), real, limits=Limits()))
    assert {outcome.status for outcome in outcomes} <= {"success", "failed", "not-attackable"}
    found = [outcome for outcome in outcomes if outcome.status == "success"]
    assert found or name in ("synonym", "a2t", "random")
    for outcome in found:
        assert outcome.similarity is not None and outcome.similarity > 0.5
        for change in outcome.changes:
            assert allowed(name, change)
        if name == "antonym":
            assert len(outcome.changes) == 1


def allowed(name: str, change: Change) -> bool:
    before, after = change.before.lower(), change.after.lower()
    if name == "pwws":
        return after in {word.lower() for word in raw_synonyms(before)}
    if name == "antonym":
        return after in antonyms(before)
    if name == "negation":
        return True
    cosine = load_vectors("counter-fitted").cosine(before, after)
    return cosine is not None and cosine >= (0.8 if name in ("synonym", "a2t") else 0.5) - 1e-6


@pytest.mark.network
def test_a_substitution_that_changes_the_part_of_speech_is_not_tried(real: dict[str, Any]) -> None:
    asked: list[str] = []
    victim = KeywordVictim()

    def answers(items: Any) -> Any:
        asked.extend(item.query[0] for item in items)
        return victim.answers(items)

    text = "a witty film that everyone will remember for years to come"
    recipe = make_recipe("textfooler", {"min_similarity": 0.0})
    list(run_attacks([Example(0, (text,), 1)], recipe, real | {"victim": answers}, limits=Limits()))
    tried = [query.split()[1] for query in asked if query.split()[2:] == text.split()[2:]]
    tagged = load_tagger().tags([f"a {word} film that everyone will remember" for word in tried])
    found = {pos_of_span(tags, 2, 2 + len(word)) for word, tags in zip(tried, tagged, strict=True)}
    assert len(tried) > 3
    assert found == {"ADJ"}


@pytest.mark.network
def test_the_least_similarity_is_kept(real: dict[str, Any]) -> None:
    measured: dict[str, float] = {}

    def similarity(pairs: Any) -> Any:
        scores = real["similarity"](pairs)
        measured.update({after: score for (_, after), score in zip(pairs, scores, strict=True)})
        return scores

    victim = KeywordVictim()
    text = "a witty film"
    outcomes = run_attacks(
        [Example(0, (text,), 1)],
        make_recipe("textfooler"),
        real | {"victim": victim.answers, "similarity": similarity},
        limits=Limits(),
    )
    list(outcomes)
    threshold = THRESHOLDS["minilm"]["textfooler"]
    tried = {one.query[0] for one in victim.seen}
    assert any(score < threshold for score in measured.values())
    assert {after for after, score in measured.items() if score >= threshold} <= tried
    assert not {after for after, score in measured.items() if score < threshold} & tried
