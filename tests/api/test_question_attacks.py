"""Attacks on runs that answer questions: resumed, shared by workers, re-verified, shown and reported."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import unfooled as uf
from commands import unfooled
from journals import timeless
from tiny_questions import LIKED, PLACES, tiny_reader, tiny_records, write_squad
from unfooled.api.jobs.attack_job import TABLE, read_attack
from unfooled.attacks import run_attacks
from unfooled.errors import UsageError
from unfooled.records.results.attack_report import AttackReport

HOW: dict[str, Any] = {"limit": 16, "device": "cpu", "tools": uf.Tools(validity=False)}
NOISY = {"name": "vote", "votes": 3, "sigma": 0.5, "noise_layers": [0], "masking": "none"}


@pytest.fixture
def sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Distractors without a lexicon, so long that the tiny model, which goes by places, reads two windows."""

    def made(
        generator: str, id: str, question: str, truth: Sequence[str], *, count: int, seed: int, **_: Any
    ) -> list[str]:
        words = [word for word in LIKED if word not in truth]
        return [] if id.endswith("2x0") else [" ".join([words[n + seed]] * 20) for n in range(count)]

    monkeypatch.setattr("unfooled.api.inputs.generated_questions.sentences_for", made)


def records(folder: Path) -> dict[Any, Any]:
    return timeless(folder / "journal.sqlite", TABLE)


def check(report: AttackReport) -> None:
    """What holds for every attack on the tiny run, which is nearly always right without one."""
    summary = report.summary
    assert summary["counts"]["error"] == 0 and summary["counts"]["success"] > 0
    assert summary["right"] == "exact match"
    assert summary["exact_match_before"]["value"] == pytest.approx(summary["sacc"]["value"])
    assert summary["f1_before"]["value"] > summary["f1_after"]["value"]
    low, high = summary["f1_after"]["interval"]
    assert low <= summary["f1_after"]["value"] <= high
    clf = uf.load(report.about["victim"]["name"], device="cpu", precision="float32")
    for one in (own for own in report.outcomes if own.status == "success"):
        assert one.perturbed is not None and one.question is not None and one.question.after is not None
        assert one.perturbed[0] == one.original[0]
        for start, end in one.question.right:
            assert one.original[1][start:end] in one.perturbed[1]
        if not summary["randomised"]:
            (again,) = clf.predict([one.perturbed[0]], [one.perturbed[1]])
            assert (again.label, again.span) == (one.question.after.text, one.question.after.span)
            assert again.label not in one.question.truth


@pytest.mark.full
@pytest.mark.parametrize("recipe", ["deepwordbug", "addsent"])
def test_an_attack_is_read_back_and_two_workers_find_the_same(
    question_run: Path, recipe: str, tmp_path: Path, sentences: None
) -> None:
    report = uf.attack(question_run, recipe=recipe, **HOW, out=tmp_path / "a")
    check(report)
    assert report.summary["examples"] == 16 and report.about["source"] == "test split"
    again = read_attack(tmp_path / "a")
    assert again.summary == report.summary and list(again.outcomes) == list(report.outcomes)
    frame = report.to_frame()
    assert {"id", "f1_before", "f1_after", "added"} <= set(frame.columns) and len(frame) == 16
    assert set(frame["first_answer"]) <= set(LIKED) | set(PLACES)
    assert "F1 under attack" in repr(report)
    if recipe == "addsent":
        uf.attack(question_run, recipe=recipe, **HOW, out=tmp_path / "b", workers=2)
        assert rounded(records(tmp_path / "a")) == rounded(records(tmp_path / "b"))


def rounded(value: Any) -> Any:
    """Scores to four places: the last bits of a score may depend on the batch that a worker asks."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return round(value, 4) if isinstance(value, float) else value


@pytest.mark.full
@pytest.mark.parametrize("recipe", ["deepwordbug", "addsent"])
def test_an_interrupted_attack_on_a_randomised_run_goes_on_to_the_same_results(
    question_run: Path, recipe: str, tmp_path: Path, sentences: None
) -> None:
    given: dict[str, Any] = {"recipe": recipe, "predictor": NOISY, "seed": 2, **HOW}
    whole = uf.attack(question_run, **given, out=tmp_path / "whole")
    check(whole)
    assert whole.summary["asr_verified"]["count"] <= whole.summary["asr"]["count"]
    assert whole.summary["f1_after_verified"]["n"] == whole.summary["f1_after"]["n"]
    successes = [one for one in whole.outcomes if one.status == "success"]
    assert {one.fresh_total for one in successes} == {20}
    assert all(one.question and one.question.fresh_f1 is not None for one in successes)

    def stopped(*args: Any, **named: Any) -> Any:
        for number, outcome in enumerate(run_attacks(*args, **named)):
            if number == 7:
                raise KeyboardInterrupt
            yield outcome

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unfooled.api.jobs.attack_job.run_attacks", stopped)
        with pytest.raises(KeyboardInterrupt):
            uf.attack(question_run, **given, out=tmp_path / "part", in_flight=2)
    assert not read_attack(tmp_path / "part").about["complete"] and len(records(tmp_path / "part")) == 7
    again = uf.attack(question_run, **given, out=tmp_path / "part")
    assert again.about["reuse"]["from_journal"] == 7
    assert records(tmp_path / "whole") == records(tmp_path / "part")


@pytest.mark.full
@pytest.mark.parametrize("name", ["addsent", "addonesent"])
def test_attack_and_evaluate_add_the_same_sentences_and_count_the_same(
    question_run: Path, name: str, tmp_path: Path, sentences: None
) -> None:
    attacked = uf.attack(question_run, recipe=name, **HOW, seed=1, out=tmp_path / "a")
    found = uf.evaluate(question_run, generate=[name], limit=16, seed=1, out=tmp_path / "b").adversarial[0]
    both = ("count", "n", "value")
    assert [attacked.summary["asr"][key] for key in both] == [found["asr_exact_match"][key] for key in both]
    copies = [one.question.copies for one in attacked.outcomes if one.question and one.attacked]
    assert sum(copies) == found["copies"] and set(copies) == {5 if name == "addsent" else 1}
    made = {
        json.loads(line)["context"] for line in (tmp_path / "b" / f"{name}.jsonl").read_text().splitlines()
    }
    successes = [one.perturbed[1] for one in attacked.outcomes if one.perturbed]
    assert successes and set(successes) <= made
    assert attacked.summary["counts"]["not-attackable"] == 16 - found["attacked"]


@pytest.mark.full
def test_questions_on_trained_paragraphs_are_left_out_and_copies_are_not_attacked(
    question_run: Path, question_inputs: dict[str, Any], tmp_path: Path
) -> None:
    given: dict[str, Any] = {"recipe": "deepwordbug", **HOW, "limit": None}
    own = uf.attack(question_run, **given, out=tmp_path / "own")
    whole = uf.attack(question_run, uf.Inputs(data=question_inputs["data"]), **given, out=tmp_path / "file")
    assert whole.about["rows"]["training"] > 100
    assert whole.summary["examples"] == 240 - whole.about["rows"]["training"]
    assert own.summary["examples"] < whole.summary["examples"], "dev questions are in the file too"
    allowed = uf.Inputs(data=question_inputs["data"], allow_training_rows=True)
    report = uf.attack(question_run, allowed, **{**given, "limit": 5}, out=tmp_path / "all")
    assert report.summary["examples"] == 5 and "are training rows" in repr(report)
    records = [json.loads(line) for line in (question_run / "test.jsonl").read_text().splitlines()]
    copies = [{**one, "id": f"{one['id']}-turk0", "context": f"{one['context']} more"} for one in records]
    mixed = write_squad(tmp_path / "mixed.json", [*records[:3], *copies[:3]])
    report = uf.attack(question_run, uf.Inputs(data=str(mixed)), **given, out=tmp_path / "mixed")
    assert [one.question.id for one in report.outcomes if one.question] == [one["id"] for one in records[:3]]


@pytest.mark.full
def test_the_command_shows_answers_and_the_report_marks_them(
    question_run: Path, tmp_path: Path, sentences: None
) -> None:
    run = tmp_path / "qa"
    shutil.copytree(question_run, run, ignore=shutil.ignore_patterns("evaluations", "attacks"))
    shown = unfooled(
        "attack", run, "--recipe", "addsent,deepwordbug", "--limit", 8, "--no-validity", "--show", 1
    )
    assert shown.returncode == 0, shown.said
    text = shown.stdout.decode()
    assert "right answers: exact match" in text and "F1    under attack" in text
    assert "→ «" in text and "(right: " in text
    added, words = text.split("deepwordbug on")
    assert "{+" in added and "[-" not in added and "[-" in words
    export = tmp_path / "rows.csv"
    again = unfooled("attack", run, "--limit", 8, "--no-validity", "--success", "f1", "--export", export)
    assert again.returncode == 0 and "F1 of at least 0.5" in again.stdout.decode()
    assert "addsent-2" in again.stdout.decode() + again.said, "another question, another result set"
    assert export.read_text().count("addsent,") == 8
    uf.report(run, out=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "F1 under attack" in page and "Right answers to questions: exact match" in page
    assert 'id="mistakes"' not in page, "right and wrong are no classes to tell apart"
    payload = json.loads(page.split('id="examples-data">')[1].split("</script>")[0])
    pieces = [
        piece for item in payload["items"] for one in item["records"] for piece in one.get("pieces", [])
    ]
    classes = {name for _, own in pieces for name in own.split()}
    assert classes == {"added", "right", "given", "new", "del"}
    assert all(
        item["text"][1][start:end] == item["truth"]
        for item in payload["items"]
        for _, start, end in item.get("right", [])
    )
    assert uf.verify(run).passed


def test_what_does_not_fit_questions_is_refused(tmp_path: Path) -> None:
    own = tiny_reader()
    clf = uf.wrap(own.module, own.tokenizer, max_length=48)
    inputs = uf.Inputs(data=str(write_squad(tmp_path / "some.json", tiny_records(4))))
    for given, message in (
        ({"recipe": "antonym"}, "antonym does not attack questions: it changes the meaning"),
        ({"recipe": "a2t"}, "a2t does not attack questions: it follows the gradient"),
        ({"recipe": "pgd-linf"}, "pgd-linf attacks images, and this victim reads questions"),
        ({"recipe": "addsents"}, "Did you mean 'addsent'"),
        ({"recipe": "deepwordbug", "sizes": (0.1,)}, "--sizes are sizes of attacks on images"),
        ({"recipe": "deepwordbug", "limits": uf.Limits(sentence="second")}, "--sentence is for pairs"),
        (
            {"recipe": "addsent", "limits": uf.Limits(max_changed=0.5)},
            "--max-changed is for attacks on words",
        ),
    ):
        with pytest.raises(UsageError, match=message):
            uf.attack(clf, inputs, out=tmp_path / "out", **given)
    with pytest.raises(UsageError, match="no questions of its own: name a file with --data"):
        uf.attack(clf, recipe="deepwordbug")
    with pytest.raises(UsageError, match="name a file of them with --data, no task"):
        uf.attack(clf, uf.Inputs(task="spam"), recipe="deepwordbug")


def test_a_model_in_memory_is_attacked_on_a_file(tmp_path: Path) -> None:
    """Right answers are what the model itself says: then it is always right without an attack."""
    own = tiny_reader()
    clf = uf.wrap(own.module, own.tokenizer, max_length=48)
    given = tiny_records(6)
    answers = clf.predict([one["question"] for one in given], [one["context"] for one in given])
    for record, answer in zip(given, answers, strict=True):
        assert answer.span is not None
        record["answers"] = [{"text": answer.label, "answer_start": answer.span[0]}]
    data = write_squad(tmp_path / "own.json", given)
    report = uf.attack(clf, uf.Inputs(data=str(data)), recipe="deepwordbug", **HOW, out=tmp_path / "out")
    assert report.summary["sacc"]["value"] == 1 and report.summary["f1_before"]["value"] == 1
    assert report.about["rows"] is None
    assert report.summary["attacked"] + report.summary["counts"]["not-attackable"] == 12


def test_what_is_for_questions_is_refused_for_texts() -> None:
    def answers(texts: list[str]) -> list[list[float]]:
        return [[0.4, 0.6] for _ in texts]

    texts = uf.Inputs(texts=["a b"], labels=[1])
    with pytest.raises(UsageError, match="addsent attacks questions, and this victim reads texts"):
        uf.attack(answers, texts, recipe="addsent")
    with pytest.raises(UsageError, match="--success is for attacks on questions"):
        uf.attack(answers, texts, recipe="deepwordbug", limits=uf.Limits(success="f1"))
