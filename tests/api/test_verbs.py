"""The verbs are plain functions: every parameter is visible, has a type, and there are few of them."""

from __future__ import annotations

import ast
import inspect
import os
import types
from pathlib import Path
from typing import Any

import pytest

import unfooled as uf
from tiny_attacks import LABELS, Swap, scores
from tiny_models import tiny_classifier
from tiny_runs import write_inputs
from unfooled.data.inputs import Inputs
from unfooled.errors import UsageError

VERBS = (
    "attack",
    "benchmark",
    "certify",
    "load",
    "predict",
    "repeat",
    "report",
    "represent",
    "save",
    "sweep",
    "train",
    "wrap",
)
MOST = 16
PLAIN: dict[str, Any] = {"recipe": Swap(), "tools": uf.Tools(validity=False)}


@pytest.mark.parametrize("name", VERBS)
def test_verb_is_a_function_whose_parameters_can_be_seen(name: str) -> None:
    verb = getattr(uf, name)
    assert isinstance(verb, types.FunctionType)
    parameters = inspect.signature(verb).parameters.values()
    assert all(one.annotation is not inspect.Parameter.empty for one in parameters)
    assert not any(one.kind is one.VAR_KEYWORD for one in parameters)
    assert len(parameters) <= MOST or name == "train"
    assert inspect.signature(verb).return_annotation is not inspect.Signature.empty
    assert inspect.getdoc(verb)


def test_everything_that_is_exported_is_there() -> None:
    for name in uf.__all__:
        assert getattr(uf, name) is not None
    assert set(VERBS) <= set(dir(uf))


def test_every_export_is_loaded_from_where_type_checkers_see_it() -> None:
    source = ast.parse(Path(uf.__file__).read_text(encoding="utf-8"))
    (checked,) = (node for node in source.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == uf._LAZY
    assert sorted([*seen, "__version__"]) == sorted(uf.__all__)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verbs")
    size = {"epochs": 1.0, "lr": 3e-3, "limit": 64, "limit_dev": 8, "limit_test": 12}
    uf.train(folder / "run", **write_inputs(folder), defence="noise-augment", **size)
    return folder / "run"


def test_predict_answers_for_a_folder_as_for_its_classifier(run: Path) -> None:
    texts = ["the film is fine", "", "a dull story"]
    answers = uf.predict(run, texts, device="cpu")
    assert (
        answers == uf.predict(uf.load(run, device="cpu"), texts) == uf.load(run, device="cpu").predict(texts)
    )
    assert isinstance(answers, uf.Predictions) and len(answers) == 3
    assert answers[1].refused and answers[0].label in ("down", "up")
    assert [one.label for one in answers[1:]] == [answers[1].label, answers[2].label]
    assert answers[0].votes != uf.predict(run, texts, predictor={"votes": 3}, device="cpu")[0].votes
    assert uf.predict(run, texts, predictor="plain", device="cpu")[0].votes == ()
    with pytest.raises(UsageError, match="brackets"):
        uf.predict(run, "one text", device="cpu")


def test_a_loaded_classifier_knows_its_data_and_where_results_go(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.parent)
    classifier = uf.load("run", device="cpu")
    assert classifier.folder == run
    monkeypatch.chdir(tmp_path)
    attacked = uf.attack(classifier, limit=4, **PLAIN)
    assert attacked.about["source"] == "reviews (test)" and attacked.summary["examples"] == 4
    assert (run / "attacks/swap/attack.json").is_file()
    quick: dict[str, Any] = {"sampling": uf.Sampling(n=50), "reading": uf.Reading(antonyms=False)}
    certified = uf.certify(classifier, limit=3, **quick)
    assert len(certified) == 3 and (run / "certificates/l2/certificate.json").is_file()
    repeated = uf.repeat(classifier, repeats=2, limit=4)
    assert repeated.summary["repeats"] == 2 and list(run.glob("repeats/*/repeat.json"))
    assert uf.verify(classifier).passed
    assert uf.represent(classifier)["run"] == str(run)
    written = uf.report(classifier, out="page.html", static=True)
    assert written.path.is_file() and written.runs[0]["folder"] == str(run)
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_classifier_without_a_folder_is_told_what_a_report_needs() -> None:
    loose = tiny_classifier("bert", labels=2)
    classifier = uf.wrap(loose.module, loose.tokenizer)
    for verb in (uf.report, uf.verify, uf.represent):
        with pytest.raises(UsageError, match="loaded from one"):
            verb(classifier)


def test_a_loaded_classifier_shows_how_it_was_measured(run: Path) -> None:
    classifier = uf.load(run, device="cpu")
    frame = classifier.to_frame()
    assert list(frame["split"]) == ["dev", "test"] and frame["examples"][1] == 12
    shown = f"accuracy {100 * frame['accuracy'][1]:.1f} % ("
    assert shown in repr(classifier) and shown in classifier._repr_html_()
    classifier.metrics = {"test": {"accuracy": "high"}}
    assert "  test " not in repr(classifier), "a changed file does not break it"


def test_given_texts_are_attacked_with_their_labels_by_name_or_number() -> None:
    victim = uf.as_victim(scores, labels=list(LABELS))
    texts = ["so fine", "so dull"]
    named = uf.attack(victim, Inputs(texts=texts, labels=["up", "down"]), **PLAIN)
    numbered = uf.attack(victim, Inputs(texts=texts, labels=[1, 0]), **PLAIN)
    assert [one.original for one in named.outcomes] == [("so fine",), ("so dull",)]
    assert [one.truth for one in named.outcomes] == [one.truth for one in numbered.outcomes] == [1, 0]
    with pytest.raises(UsageError, match="true labels"):
        uf.attack(victim, texts, **PLAIN)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"task": "spam", "data": "a.csv"}, "not both"),
        ({"texts": ["a"], "data": "a.csv"}, "not both"),
        ({"labels": ["up"]}, "belong to texts"),
        ({"text_column": "review"}, "Columns are for --data"),
        ({"split": "tset"}, "test, dev or train"),
    ],
)
def test_inputs_that_contradict_themselves_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Inputs(**wrong)


def test_a_recipe_is_a_name_a_name_with_settings_or_an_object() -> None:
    victim = uf.as_victim(scores, labels=list(LABELS))
    options: dict[str, Any] = {"inputs": Inputs(texts=["so fine"], labels=["up"]), "tools": PLAIN["tools"]}
    made = uf.attack(victim, recipe={"name": "deepwordbug", "max_distance": 4}, **options)
    assert made.about["recipe"]["settings"]["max_distance"] == 4
    with pytest.raises(UsageError, match="has no name"):
        uf.attack(victim, recipe={"max_distance": 4}, **options)
    with pytest.raises(UsageError, match="max_distance"):
        uf.attack(victim, recipe={"name": "deepwordbug", "max_distanc": 4}, **options)
