"""Runs on questions: trained, saved, opened, verified and asked, as any other run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import unfooled as uf
from commands import command
from tiny_questions import tiny_records, write_squad
from unfooled.errors import UsageError, UserError

CONTEXT = "the film is witty in war 3"


@pytest.fixture
def inputs(question_inputs: dict[str, Any]) -> dict[str, Any]:
    return question_inputs


@pytest.fixture
def run(question_run: Path) -> Path:
    return question_run


@pytest.mark.full
def test_a_tiny_model_learns_to_answer_and_its_folder_says_how_well(run: Path) -> None:
    test = json.loads((run / "metrics.json").read_text())["test"]
    assert test["metric"] == "f1"
    assert test["f1"] > 0.6, "the answer is the word after «is» or «in»"
    low, high = test["f1_interval"]
    assert low <= test["f1"] <= high
    assert test["exact_match"] <= test["f1"]
    card = (run / "README.md").read_text()
    assert "pipeline_tag: question-answering" in card and "Labels" not in card
    marker = json.loads((run / "unfooled.json").read_text())
    assert marker["questions"] == {
        "max_length": 32,
        "stride": 128,
        "longest_answer": 30,
        "unanswerable": False,
    }
    assert (run / "test.jsonl").is_file()


@pytest.mark.full
def test_a_saved_run_answers_as_the_trained_one_and_is_verified(run: Path) -> None:
    clf = uf.load(run, precision="float32")
    found = clf.predict(["the film is", ""], [CONTEXT, CONTEXT])
    assert found[0].label is not None and found[0].label in CONTEXT
    assert found[0].span is not None
    assert CONTEXT[slice(*found[0].span)] == found[0].label
    assert found[1].refused == "the question is empty"
    assert uf.verify(run).passed


@pytest.mark.full
def test_the_command_shows_the_answer_in_its_sentence(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--question", "the film is", "--context", f"Who knows? {CONTEXT}. It ends."]
    assert command(monkeypatch, "predict", run, *asked) == 0
    shown = capsys.readouterr().out
    assert "[" in shown and "It ends" not in shown
    assert command(monkeypatch, "predict", run, *asked, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["label"] and answer["span"][1] > answer["span"][0]
    assert command(monkeypatch, "predict", run, "a text") == 2
    assert "--question" in capsys.readouterr().err
    test, out = run / "test.jsonl", tmp_path / "a.jsonl"
    assert command(monkeypatch, "predict", run, "--file", test, "--out", out) == 0
    assert len(out.read_text().splitlines()) == len(test.read_text().splitlines())


@pytest.mark.full
def test_a_stopped_training_goes_on_to_the_same_weights(inputs: dict[str, Any], tmp_path: Path) -> None:
    short = {**inputs, "epochs": 2.0, "checkpoint_every": 5}
    uf.train(tmp_path / "whole", **short)
    from unfooled.training.trainer import SessionTrainer

    steps = 0
    original = SessionTrainer.training_step

    def stopping(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal steps
        steps += 1
        if steps == 9:
            raise KeyboardInterrupt
        return original(self, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SessionTrainer, "training_step", stopping)
        with pytest.raises(KeyboardInterrupt):
            uf.train(tmp_path / "parts", **short)
    again = uf.train(tmp_path / "parts", **short)
    assert again.metrics["train"]["resumed"]
    same = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "parts")]
    assert same[0] == same[1]


@pytest.mark.full
def test_unanswerable_questions_train_a_model_that_may_give_no_answer(
    inputs: dict[str, Any], tmp_path: Path
) -> None:
    data = write_squad(tmp_path / "two.json", tiny_records(60, unanswerable=True), "v2.0")
    clf = uf.train(tmp_path / "run", **{**inputs, "data": str(data), "epochs": 1.0})
    assert clf.metrics["test"]["no_answer"]["examples"] > 0
    assert uf.load(tmp_path / "run").model.unanswerable  # type: ignore[attr-defined]


def test_settings_for_other_data_are_refused(inputs: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--text-column.*not for questions"):
        uf.train(tmp_path / "run", **{**inputs, "text_column": "question"})
    with pytest.raises(UsageError, match="--lenient is for questions"):
        uf.train(tmp_path / "run", task="movie-reviews", lenient=True)


def test_a_bad_record_stops_the_training_before_a_folder_is_made(
    inputs: dict[str, Any], tmp_path: Path
) -> None:
    records = tiny_records(8)
    records[3]["answers"][0]["answer_start"] += 1
    data = write_squad(tmp_path / "bad.json", records)
    with pytest.raises(UserError, match=f"id '{records[3]['id']}'"):
        uf.train(tmp_path / "run", **{**inputs, "data": str(data)})
    assert not (tmp_path / "run").exists()


@pytest.mark.full
def test_a_model_of_your_own_answers_questions(tmp_path: Path) -> None:
    from tiny_questions import tiny_reader

    own = tiny_reader()
    clf = uf.wrap(own.module, own.tokenizer, max_length=48)
    (answer,) = clf.predict(["the film is"], [CONTEXT])
    assert answer.label in CONTEXT
    with pytest.raises(UsageError, match="give their contexts too"):
        clf.predict(["the film is"])


@pytest.mark.full
def test_a_damaged_run_is_told(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    marker = json.loads((copy / "unfooled.json").read_text())
    marker["questions"]["stride"] = -1
    (copy / "unfooled.json").write_text(json.dumps(marker))
    with pytest.raises(UserError, match="stride"):
        uf.load(copy)


@pytest.mark.full
def test_clean_and_adversarial_files_are_measured_side_by_side(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [json.loads(line) for line in (run / "test.jsonl").read_text().splitlines()]
    copies = [
        {**one, "id": f"{one['id']}-turk{n}", "context": f"{one['context']} the actor is funny in love {n}"}
        for one in records[:10]
        for n in range(2)
    ]
    file = write_squad(tmp_path / "added.json", [*records, *copies])
    report = uf.evaluate(run, adversarial=[file])
    (found,) = report.adversarial
    assert found["questions"] == len(records) and found["attacked"] == 10 and found["copies"] == 20
    assert found["clean_f1"] == pytest.approx(report.clean["f1"])
    assert found["robust_f1"] <= found["clean_f1"]
    assert "robust F1" in repr(report)
    assert len(report.to_frame()) == len(records)
    (kept,) = run.glob("evaluations/*/evaluation.json")
    assert json.loads(kept.read_text())["clean"]["f1"] == report.clean["f1"]
    assert uf.verify(run).passed
    assert command(monkeypatch, "evaluate", run, "--adversarial", file, "--limit", 4, "--json") == 0
    assert json.loads(capsys.readouterr().out)["adversarial"][0]["questions"] == 4


@pytest.mark.full
def test_questions_on_trained_paragraphs_are_left_out(
    run: Path, inputs: dict[str, Any], tmp_path: Path
) -> None:
    everything = uf.evaluate(run, inputs["data"], out=tmp_path / "one")
    assert everything.clean["rows"]["training"] > 100
    assert everything.clean["examples"] == 240 - everything.clean["rows"]["training"]
    allowed = uf.evaluate(run, inputs["data"], allow_training_rows=True, out=tmp_path / "two")
    assert allowed.clean["examples"] == 240
    # A copy of a question on a trained paragraph is one, too.
    records = tiny_records(120)
    changed = [{**one, "context": f"{one['context']} and more"} for one in records]
    copies = [{**one, "id": f"{one['id']}-turk0"} for one in changed]
    both = write_squad(tmp_path / "both.json", [*records, *copies])
    found = uf.evaluate(run, both, adversarial=[both], out=tmp_path / "three")
    assert found.adversarial[0]["questions"] == everything.clean["examples"]


def test_labels_are_needed_elsewhere_and_certificates_of_noise_are_refused_plainly(tmp_path: Path) -> None:
    from tiny_questions import tiny_reader

    own = tiny_reader()
    clf = uf.wrap(own.module, own.tokenizer, max_length=48)
    with pytest.raises(UsageError, match="no certificate of answers to questions against --threat l2"):
        uf.certify(clf, uf.Inputs(texts=["a"], pairs=["b"]), threat="l2")
    with pytest.raises(UsageError, match="This run answers questions, and this needs labels"):
        uf.repeat(clf, uf.Inputs(texts=["a"], labels=["b"]))
    with pytest.raises(UsageError, match="This run answers questions: name a file"):
        uf.attack(clf, uf.Inputs(texts=["a"], labels=["b"]))


@pytest.mark.parametrize("name", ["certified-rsmi", "advaug", "a2t", "bat-pairwise", "bat-triplet"])
def test_a_defence_that_cannot_serve_questions_says_why(
    name: str, inputs: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=f"'{name}' does not serve questions: it"):
        uf.train(tmp_path / "run", **inputs, defence=name)


@pytest.mark.full
def test_distractors_are_made_here_and_verified_for_a_predictor_that_draws_noise(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unfooled.attacks.questions.add_sent import QuestionLexicon
    from unfooled.words.word import WORD

    lexicon = QuestionLexicon(
        lambda text: [(one.start(), one.end(), "NOUN") for one in WORD.finditer(text)],
        lambda word, pos: ["actor"] if word in ("film", "movie", "story", "people", "man") else [],
        lambda word: [],
    )
    monkeypatch.setattr("unfooled.api.inputs.generated_questions.own_lexicon", lambda: lexicon)
    noisy = {"name": "vote", "votes": 3, "sigma": 0.5, "noise_layers": [0], "masking": "none"}
    report = uf.evaluate(
        run,
        generate=["addsent", "addonesent"],
        predictor=noisy,
        fresh_answers=4,
        limit=20,
        out=tmp_path / "out",
    )
    many, one = report.adversarial
    assert many["attacked"] == one["attacked"] == one["copies"] > 0
    assert many["copies"] > one["copies"]
    assert many["fresh_answers"] == 4
    assert 0 <= many["robust_f1_verified"] <= 1
    assert many["asr_exact_match_verified"]["count"] <= many["asr_exact_match"]["count"]
    assert "re-verified" in repr(report)
    # What was made can be asked again as a file.
    again = uf.evaluate(
        run, adversarial=[tmp_path / "out" / "addonesent.jsonl"], limit=20, out=tmp_path / "again"
    )
    assert again.adversarial[0]["copies"] == one["copies"]
    with pytest.raises(UsageError, match="no generator 'addsents'"):
        uf.evaluate(run, generate=["addsents"])


@pytest.mark.full
def test_the_report_shows_files_side_by_side_and_marks_answers_and_distractors(
    run: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "qa"
    shutil.copytree(run, copy, ignore=shutil.ignore_patterns("evaluations"))
    records = [json.loads(line) for line in (copy / "test.jsonl").read_text().splitlines()]
    copies = [
        {**one, "id": f"{one['id']}-turk0", "context": f"{one['context']} the <b> is funny in love in love"}
        for one in records
    ]
    report = uf.evaluate(copy, adversarial=[write_squad(tmp_path / "added.json", [*records, *copies])])
    uf.report(copy, out=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Drop of F1" in page and "added.json" in page
    assert 'id="mistakes"' not in page, "there is no confusion of labels"
    if report.adversarial[0]["broken"]:
        assert 'class="added' in page and "&lt;b&gt;" in page


@pytest.mark.full
def test_anchored_words_of_a_question_and_its_context_are_shown() -> None:
    from tiny_questions import tiny_reader

    own = tiny_reader()
    clf = uf.wrap(own.module, own.tokenizer, max_length=48)
    (answer,) = uf.predict(clf, ["the film is"], [CONTEXT * 4], show="anchored")
    assert answer.anchored_words
    assert set(answer.anchored_words) <= {"the", "film", "is", "witty", "in", "war", "3", "3the"}


@pytest.mark.full
def test_a_run_is_certified_on_its_test_questions_by_any_number_of_workers(
    inputs: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    trained = tmp_path / "mask"
    settings = {"kept": 0.5, "votes": 5}
    uf.train(trained, **{**inputs, "epochs": 4.0}, defence="random-mask", settings=settings)
    sampling = uf.Sampling(n0=20, n=200, adaptive=True, two_class=True)
    here = uf.certify(trained, limit=6, sampling=sampling)
    assert here.about["threat"] == "words" and len(here) == 6
    assert (
        "f1" in here.summary and here.summary["curve"][0]["f1"] >= here.summary["certified_accuracy"]["value"]
    )
    assert all(one.texts[1] for one in here)
    there = uf.certify(trained, limit=6, sampling=sampling, workers=2, out=tmp_path / "there")
    same = [[(one.label, one.radius, one.votes) for one in own] for own in (here, there)]
    assert same[0] == same[1]
    asked = ["--question", "the film is", "--context", CONTEXT, "--n", "200", "--n0", "20"]
    assert command(monkeypatch, "certify", trained, *asked, "--threat", "words") == 0
    assert "draws" in capsys.readouterr().out
