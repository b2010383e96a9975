"""``verify``: a run that is as it was saved passes; what was changed since is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

import unfooled as uf
from commands import unfooled
from tiny_models import bert_tokenizer, tiny_classifier, tiny_model
from unfooled.errors import UserError
from unfooled.predictors import Classifier, Plain


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tokenizer = bert_tokenizer()
    folder = tmp_path_factory.mktemp("saved") / "run"
    uf.save(uf.wrap(tiny_model("bert", tokenizer), tokenizer, defence="rsmi", max_length=32), folder)
    return folder


@pytest.fixture
def run(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "run"))


def verdicts(run: Path, *wanted: str) -> dict[str, str]:
    """The names of the checks with one of these verdicts, and what they found."""
    return {check.name: check.detail for check in uf.verify(run).checks if check.verdict in wanted}


def test_a_run_as_it_was_saved_passes_and_nothing_is_written(run: Path) -> None:
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    found = uf.verify(run)
    assert found.passed
    assert {check.verdict for check in found.checks} == {"passed"}
    names = {check.name for check in found.checks}
    assert names >= {
        "model.safetensors",
        "config.json",
        "tokenizer.json",
        "unfooled.json",
        "model",
        "answers",
    }
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


@pytest.mark.parametrize("family", ["t5", "roberta"])
def test_pairs_and_other_families_pass_too(family: str, tmp_path: Path) -> None:
    task = {"kind": "pair", "name": "inference"}
    uf.save(Classifier(tiny_classifier(family), Plain(), labels=["a", "b", "c"], task=task), tmp_path)
    assert uf.verify(tmp_path).passed


def test_the_result_shows_itself_in_every_form(run: Path) -> None:
    found = uf.verify(run)
    assert f"{len(found.checks)} checks passed, 0 failed" in repr(found)
    assert "<table>" in found._repr_html_()
    assert list(found.to_frame().columns) == ["name", "verdict", "detail"]
    assert len(found.to_frame()) == len(found.checks)


def test_changed_weights_are_found_by_hash_identity_and_answers(run: Path) -> None:
    weights = load_file(run / "model.safetensors")
    weights["classifier.weight"] = -weights["classifier.weight"]
    save_file(weights, run / "model.safetensors", metadata={"format": "pt"})
    failed = verdicts(run, "failed")
    assert set(failed) == {"model.safetensors", "model", "answers"}
    assert "stored answers are not reproduced" in failed["answers"]


def test_answers_are_compared_under_the_recorded_seed(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Votes under noise: the recorded answers are those of one seed."""
    predict = Classifier.predict
    monkeypatch.setattr(
        Classifier, "predict", lambda self, *given, seed: predict(self, *given, seed=seed + 1)
    )
    assert set(verdicts(run, "failed")) == {"answers"}


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json", "unfooled.json"])
def test_a_file_that_was_edited_or_taken_away_is_named(name: str, run: Path) -> None:
    (run / name).write_text((run / name).read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert "bytes are not those" in verdicts(run, "failed")[name]
    if name != "unfooled.json":
        (run / name).unlink()
        failed = verdicts(run, "failed")
        assert failed[name].startswith("missing")
        assert f"{name} is missing" in failed["model"]


def test_a_run_saved_without_checks_says_what_could_not_be_checked(run: Path) -> None:
    (run / "checks.json").unlink()
    found = uf.verify(run)
    assert found.passed
    assert set(verdicts(run, "not checked")) == {"checks.json"}
    assert "1 could not be made" in repr(found)


@pytest.mark.parametrize(
    "changed", [{"files": {}}, {"predictions": ""}, {"seed": float("nan")}, {"sha256": 1}]
)
def test_edited_checks_are_a_failure(changed: dict[str, Any], run: Path) -> None:
    recorded = json.loads((run / "checks.json").read_text(encoding="utf-8"))
    (run / "checks.json").write_text(json.dumps(recorded | changed), encoding="utf-8")
    assert set(verdicts(run, "failed")) == {"checks.json"}


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"format": 1}', "null"])
def test_damaged_checks_are_a_failure(text: str, run: Path) -> None:
    (run / "checks.json").write_text(text, encoding="utf-8")
    assert set(verdicts(run, "failed")) == {"checks.json"}


def test_results_of_another_model_are_named(run: Path) -> None:
    identity = uf.load(run, device="cpu", precision="float32").identity()
    results = {
        "attacks/own/attack.json": {"victim": {"name": "run", **identity, "predictor": {"name": "plain"}}},
        "attacks/other/attack.json": {"victim": {**identity, "weights": "0" * 64}},
        "certificates/words/certificate.json": {"model": {**identity, "tokenizer": "0" * 64}},
        "repeats/own/repeat.json": {"accuracy": {}},
    }
    for name, result in results.items():
        (run / name).parent.mkdir(parents=True)
        (run / name).write_text(json.dumps(result), encoding="utf-8")
    assert "attacks/own/attack.json" in verdicts(run, "passed")
    failed = verdicts(run, "failed")
    assert set(failed) == {"attacks/other/attack.json", "certificates/words/certificate.json"}
    assert "another model (weights differ)" in failed["attacks/other/attack.json"]
    assert set(verdicts(run, "not checked")) == {"repeats/own/repeat.json"}


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a folder saved by unfooled"):
        uf.verify(tmp_path)


def test_the_command_shows_a_table_and_fails_with_a_failed_check(run: Path) -> None:
    shown = unfooled("verify", run)
    assert shown.returncode == 0, shown.stderr.decode()
    assert b"model.safetensors" in shown.stdout
    assert b"0 failed" in shown.stdout
    assert b"[" not in shown.stdout, "marks of colours are not shown as text"
    (run / "tokenizer.json").unlink()
    shown = unfooled("verify", run, "--json")
    assert shown.returncode == 1
    told = json.loads(shown.stdout)
    assert not told["passed"]
    assert b"Traceback" not in shown.stderr
