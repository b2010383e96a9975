"""Settings of a recipe that are left open: what they become, and what a journal is kept under."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tiny_attacks import LABELS, Swap, scores, write_examples
from unfooled.api.attack import attack
from unfooled.attacks import RECIPES, make_recipe
from unfooled.attacks.parts.constraints import KeepsMeaning, fitted_to
from unfooled.attacks.tools import Tools
from unfooled.attacks.victims import FunctionVictim
from unfooled.data.inputs import Inputs
from unfooled.errors import UsageError
from unfooled.records.results.attack_report import AttackReport
from unfooled.settings import setting


@dataclass(frozen=True)
class SwapSimilar(Swap, KeepsMeaning):
    """A recipe with a threshold of its paper."""

    name: ClassVar[str] = "swap-similar"
    threshold: ClassVar[str] = "bae"
    vectors: str | None = setting(None, "Word vectors")


class Counted:
    """The tiny victim, which counts what it is asked."""

    def __init__(self) -> None:
        self.texts = 0

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += len(texts)
        return scores(texts)


@pytest.fixture
def data(tmp_path: Path) -> str:
    return str(write_examples(tmp_path / "examples.csv", rows=6))


def run(victim: Counted, data: str, recipe: Any, *, similarity: str = "minilm", **more: Any) -> AttackReport:
    tools = Tools(validity=False, similarity=similarity)
    wrapped = FunctionVictim(victim, labels=LABELS, spec="tiny:scores")
    return attack(wrapped, inputs=Inputs(data=data), recipe=recipe, tools=tools, **more)


@pytest.mark.parametrize(
    ("name", "minilm", "use"),
    [
        ("textfooler", 0.80, 0.84),
        ("synonym", 0.80, 0.84),
        ("random", 0.80, 0.84),
        ("adaptive", 0.80, 0.84),
        ("bae", 0.93, 0.936),
        ("a2t", 0.856, 0.856),
    ],
)
def test_the_threshold_fits_the_encoder_unless_it_was_set(name: str, minilm: float, use: float) -> None:
    recipe: Any = make_recipe(name)
    assert fitted_to("minilm", recipe).min_similarity == minilm
    assert fitted_to("use", recipe).min_similarity == use
    own: Any = make_recipe(name, {"min_similarity": 0.7})
    assert fitted_to("use", own).min_similarity == 0.7


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_without_a_threshold_stay_as_they_are(name: str) -> None:
    recipe = make_recipe(name)
    assert hasattr(recipe, "threshold") or fitted_to("use", recipe) is recipe


@pytest.mark.parametrize(("similarity", "expected"), [("minilm", 0.93), ("use", 0.936)])
def test_the_report_has_the_threshold_that_was_used(
    similarity: str, expected: float, data: str, tmp_path: Path
) -> None:
    run(Counted(), data, SwapSimilar(), similarity=similarity, out=tmp_path / "out")
    saved = json.loads((tmp_path / "out" / "attack.json").read_text(encoding="utf-8"))
    assert saved["recipe"]["settings"] == {"replacement": "thing", "min_similarity": expected}


def test_what_is_left_open_is_reused_as_what_it_stands_for(data: str, tmp_path: Path) -> None:
    first, again, other = Counted(), Counted(), Counted()
    run(first, data, SwapSimilar(), out=tmp_path / "out")
    run(again, data, SwapSimilar(min_similarity=0.93), out=tmp_path / "out")
    run(other, data, SwapSimilar(min_similarity=0.9), out=tmp_path / "other")
    assert first.texts == other.texts > again.texts == 0


def test_other_contents_of_a_file_of_vectors_are_another_attack(data: str, tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    recipe = SwapSimilar(vectors=str(file))
    asked = []
    for content in ("film 1 0\n", "film 1 0\n"):
        file.write_text(content, encoding="utf-8")
        victim = Counted()
        run(victim, data, recipe, out=tmp_path / "out")
        asked.append(victim.texts)
    assert asked[0] > asked[1] == 0
    file.write_text("film 0 1\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"another question \(lexicon\.vectors"):
        run(Counted(), data, recipe, out=tmp_path / "out")


@pytest.mark.parametrize("name", ["textfooler", "synonym", "random", "adaptive", "a2t"])
def test_vectors_and_paraphrases_reach_the_recipe(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from unfooled.attacks import Example, Limits
    from unfooled.attacks.attempt import Attempt

    asked: list[tuple[Any, ...]] = []

    class Loaded(Exception):
        pass

    def load(vectors: str, *, ppdb: Path | None = None) -> None:
        asked.append((vectors, ppdb))
        raise Loaded

    monkeypatch.setattr("unfooled.attacks.parts.candidates.load_vectors", load)
    given: list[dict[str, Any]] = [{}, {"vectors": "glove"}, {"ppdb": "pairs.txt"}]
    for settings in given:
        attempt = Attempt(Example(0, ("a witty film",), 1), Limits(), 0, False)
        with pytest.raises(Loaded):
            next(make_recipe(name, settings).search(attempt))
    assert asked == [("counter-fitted", None), ("glove", None), ("counter-fitted", Path("pairs.txt"))]
