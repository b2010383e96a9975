"""``unfooled certify`` as a user meets it: sentences, numbers, files, and messages for wrong use."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from commands import command
from tiny_models import TEXTS, tiny_classifier
from unfooled.api.load import save
from unfooled.predictors import Classifier, Predictor, RandomWordMask, TwoStep, Vote
from unfooled.predictors.smoothing import RandomWordDelete


def saved(folder: Path, predictor: Predictor, defence: str) -> Path:
    model = tiny_classifier("bert", labels=2, seed=3)
    save(
        Classifier(model, predictor, labels=["down", "up"], defence=defence, task={"kind": "single"}), folder
    )
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    saved(tmp_path / "run", Vote(sigma=0.2, noise_layers=("embeddings",)), "noise-augment")
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows([[text, "up" if number % 2 else "down"] for number, text in enumerate(TEXTS)])
    monkeypatch.chdir(tmp_path)
    return tmp_path


BASE = ("run", "--data", "rows.csv", "--n", 300, "--no-antonyms")


def test_numbers_of_a_file_and_where_they_are_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, "certify", *BASE, "--bound", "gaussian,renyi", "--show", 1) == 0
    captured = capsys.readouterr()
    for text in (
        "certified accuracy",
        "abstained",
        "average radius",
        "by renyi",
        "at radius",
        "95 % interval",
    ):
        assert text in captured.out
    assert "with another number of tokens" in captured.out
    assert "wrong with a probability of at most 0.001" in captured.out
    assert "Note: This run was trained" not in captured.err and "Saved in run/certificates/l2" in captured.err
    kept = json.loads((folder / "run/certificates/l2/certificate.json").read_text())
    assert kept["complete"] and kept["command"].startswith("unfooled certify run --data rows.csv")
    assert kept["summary"]["counts"]["refused"] == 0
    assert (folder / "run/certificates/l2/journal.sqlite").is_file()


def test_json_holds_every_certificate(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, "certify", *BASE, "--adaptive", "--radius", 0.05, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["certificates"]) == len(TEXTS)
    assert {one["answer"] for one in found["certificates"]} <= {"yes", "no", "undecided"}
    assert found["summary"]["asked"]["radius"] == 0.05


def test_a_shown_radius_is_never_larger_than_the_certified_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from unfooled.cli.show.certify_show import _curve, show_certificate
    from unfooled.records.certificate import Certificate

    for radius, shown in ((0.95396, "0.9539"), (0.99999, "0.9999"), (2.0, "2"), (0.12345, "0.1234")):
        show_certificate(
            Certificate(0, "certified", "l2", label="up", radius=radius, unit="distance", texts=("a",))
        )
        assert f"radius {shown} (distance)" in capsys.readouterr().out
    _curve([{"radius": 0.0, "value": 1.0}, {"radius": 0.95396, "value": 0.5}], "certified accuracy")
    assert " 0.9539  0.500" in capsys.readouterr().out


def test_a_negation_that_may_be_deleted_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    from unfooled.cli.show.certify_show import show_certificate
    from unfooled.records.certificate import Certificate

    facts = {"label": "up", "radius": 1.0, "unit": "edits", "texts": ("not bad, never dull",)}
    show_certificate(Certificate(0, "certified", "edits", negations_inside=2, **facts))
    assert "2 of its words negate (not, never, no, …)" in capsys.readouterr().out
    show_certificate(Certificate(0, "certified", "edits", negations_inside=0, **facts))
    assert "negate" not in capsys.readouterr().out


def test_a_secret_seed_and_words_by_substitutes_of_as_many_tokens(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "table.json").write_text(json.dumps({"film": ["movie"], "plot": ["story"]}))
    assert command(monkeypatch, "certify", *BASE, "--seed", -1, "--substitutes", "table.json") == 0
    assert "substitutes with as many tokens (others are not covered)" in capsys.readouterr().out
    assert json.loads((folder / "run/certificates/l2/certificate.json").read_text())["seed"] > 2**31


def test_texts_are_certified_one_by_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, "certify", "run", "a good film", " ", "--n", 300, "--no-antonyms") == 1
    captured = capsys.readouterr()
    assert (
        "The smoothed classifier answers «" in captured.out and "refused  the text is empty" in captured.out
    )
    assert "Saved" not in captured.err and not (folder / "run/certificates").exists()


def test_a_run_that_was_not_trained_for_the_threat_is_told_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, "certify", *BASE, "--threat", "words", "--predictor", "random-mask") == 0
    assert "Train with --defence random-mask" in " ".join(capsys.readouterr().err.split())


def test_noise_at_hidden_blocks_alone_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(folder / "rsmi", TwoStep(sigma=0.2, noise_layers=(1, 2)), "rsmi")
    assert command(monkeypatch, "certify", "rsmi", "a good film") == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "after blocks 1, 2 only" in message and "--defence noise-augment" in message
    # What the message recommends works.
    arguments = ["--predictor", "vote", "--predictor-set", "sigma=0.1", "--no-antonyms", "--n", 200]
    arguments += ["--predictor-set", "noise_layers=[embeddings]", "--predictor-set", "masking=none"]
    assert command(monkeypatch, "certify", "rsmi", "a good film", *arguments) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "text", "--data", "rows.csv"), "Give texts, or --task or --data, not both"),
        (("run", "text", "--threat", "typos"), "There is no threat 'typos'"),
        (("run", "text", "--bound", "laplace"), "no bound for l2 'laplace'"),
        (("run", "text", "--show", "-1"), "--show must be at least 0"),
        (("nowhere", "text"), "nowhere is not a folder saved by unfooled"),
    ],
)
def test_wrong_use_is_told_without_a_traceback(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    assert command(monkeypatch, "certify", *arguments) != 0
    assert message in " ".join(capsys.readouterr().err.split())


VICTIM = "def scores(texts):\n    return [[0.1, 0.9] if 'good' in t.split() else [0.9, 0.1] for t in texts]\n"


def test_any_victim_is_certified_within_a_budget_and_the_next_run_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "victim.py").write_text(VICTIM)
    base = ("victim.py:scores", "--labels", "down,up", "--data", "rows.csv", "--threat", "edits", "--n", 300)
    kept = folder / "certificates" / "victim.py-scores" / "edits" / "certificate.json"
    done = []
    for _ in range(20):
        assert command(monkeypatch, "certify", *base, "--no-antonyms", "--max-queries", 400) == 0
        captured = capsys.readouterr()
        assert "Saved in certificates/victim.py-scores/edits" in captured.err
        assert "the majority of victim.py:scores over random deletions of words" in captured.err
        document = json.loads(kept.read_text())
        done.append(sum(document["summary"]["counts"].values()))
        if document["complete"]:
            break
        assert "not complete: run the same command again" in captured.out
    assert len(done) > 1 and done == sorted(set(done)) and done[-1] == len(TEXTS)


def test_options_of_victims_are_refused_for_runs_and_secrets_are_not_recorded(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, "certify", *BASE, "--victim-set", "rate=5") == 2
    assert "rate: victim options are for functions" in capsys.readouterr().err
    assert command(monkeypatch, "certify", *BASE, "--max-queries", 5) == 2
    assert "max_queries is for a victim" in capsys.readouterr().err
    (folder / "victim.py").write_text(VICTIM)
    few = ("--n", 100, "--no-antonyms")
    base = ("victim.py:scores", "a film", "--threat", "words", *few, "--out", "kept", "--victim-set")
    assert command(monkeypatch, "certify", *base, "headers={a: s3cret}") == 2  # a function has no headers
    assert command(monkeypatch, "certify", *base, "batch_size=7") == 0
    assert "batch_size=7" in (folder / "kept" / "certificate.json").read_text()


def test_the_label_of_the_empty_text_is_an_option_of_the_victim(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "strict.py").write_text(VICTIM.replace("    return", "    assert all(texts)\n    return"))
    few = ("--n", 100, "--no-antonyms")
    base = ("strict.py:scores", "a film", "--labels", "down,up", "--threat", "edits", *few)
    assert command(monkeypatch, "certify", *base) == 1
    assert "--victim-set empty=LABEL" in " ".join(capsys.readouterr().err.split())
    assert command(monkeypatch, "certify", *base, "--victim-set", "empty=down") == 0
    assert "answers «down»" in capsys.readouterr().out


def test_a_smaller_limit_other_draws_and_other_data_never_replace_results(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def certified(*more: object) -> str:
        assert command(monkeypatch, "certify", *BASE, *more) == 0
        return " ".join(capsys.readouterr().err.split())

    certified()
    file = folder / "run/certificates/l2/certificate.json"
    kept = file.read_bytes()
    told = certified("--limit", 3)
    assert "3 of 3 from the journal, nothing asked." in told and f"holds more ({len(TEXTS)} inputs)" in told
    rows = (folder / "rows.csv").read_text().splitlines(keepends=True)
    (folder / "other.csv").write_text("".join(rows[:4]) + "a new text,up\n")
    assert "Saved in run/certificates/l2-2" in certified("--data", "other.csv")
    assert "sampling.n: 300 → 400" in certified("--n", 400)
    assert file.read_bytes() == kept
    assert certified("--n", 400).count("from the journal, nothing asked") == 1
    assert command(monkeypatch, "certify", *BASE, "--n", 500, "--name", "l2") == 2
    assert "another question" in capsys.readouterr().err and file.read_bytes() == kept


def test_without_a_threat_the_one_that_the_run_was_trained_for_is_taken(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for defence, predictor, threat in (
        ("random-mask", RandomWordMask(kept=0.5), "words"),
        ("random-delete", RandomWordDelete(rates=(0.5,)), "edits"),
        ("noise-augment", Vote(sigma=0.2, noise_layers=("embeddings",)), "l2"),
    ):
        saved(folder / defence, predictor, defence)
        arguments = [defence, "a good film", "--n", 50, "--no-antonyms", "--json"]
        assert command(monkeypatch, "certify", *arguments) == 0
        assert json.loads(capsys.readouterr().out)["threat"] == threat


def test_dry_run_of_certificates_keeps_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, "certify", *BASE, "--dry-run", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)["dry_run"].values()
    assert found["left"] == found["inputs"] == len(TEXTS) and 0 < found["measured"] <= 8
    assert found["result_set"]["folder"] == "run/certificates/l2"
    assert not (folder / "run/certificates").exists()
