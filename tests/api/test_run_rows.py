"""A run knows its rows: what it was trained on is not measured as unseen, wherever the data is and went."""

from __future__ import annotations

import csv
import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import unfooled as uf
from commands import unfooled
from tiny_attacks import Fill, Swap
from tiny_runs import write_inputs
from unfooled import data
from unfooled.api.inputs.load_inputs import load_inputs, training_texts
from unfooled.data.inputs import Inputs
from unfooled.errors import UsageError, UserError

pytestmark = pytest.mark.full

QUICK = uf.Sampling(n0=10, n=50)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project: reviews.csv, runs/plain that keeps its test rows, runs/bare that does not."""
    folder = tmp_path_factory.mktemp("project")
    uf.train(folder / "runs/plain", **write_inputs(folder), epochs=1.0, limit=200)
    shutil.copytree(folder / "runs/plain", folder / "runs/bare")
    (folder / "runs/bare/test.jsonl").unlink()
    return folder


@pytest.fixture
def project(trained: Path, tmp_path: Path) -> Path:
    """A copy in another place, to be changed."""
    return Path(shutil.copytree(trained, tmp_path / "moved"))


@pytest.fixture(scope="module")
def splits(trained: Path) -> dict[str, list[str]]:
    """The texts of each split as training drew them."""
    found = data.load_files(trained / "reviews.csv", text_column="review", label_column="stars", limit=200)
    return {name: rows.text for name, rows in found.rows.items()}


def read_rows(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def write_rows(path: Path, rows: Sequence[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def shuffle(path: Path) -> list[str]:
    """Put the file in another order without three of its rows; gives the texts that are left."""
    header, *rows = read_rows(path)
    random.Random(1).shuffle(rows)
    write_rows(path, [header, *rows[3:]])
    return [row[0] for row in rows[3:]]


def test_the_test_rows_stay_test_rows_when_the_file_is_shuffled_and_shortened(
    project: Path, splits: dict[str, list[str]]
) -> None:
    left = shuffle(project / "reviews.csv")
    again = data.load_files(project / "reviews.csv", text_column="review", label_column="stars")
    assert set(again.rows["test"].text) & set(splits["train"]), (
        "a new split does not leak: this tests nothing"
    )
    expected = {"bare": [text for text in splits["test"] if text in left], "plain": splits["test"]}
    for name, texts in expected.items():
        run = project / "runs" / name
        assert load_inputs(uf.load(run), run, Inputs()).texts == texts
        dev = load_inputs(uf.load(run), run, Inputs(split="dev")).texts
        assert dev == [text for text in splits["dev"] if text in left]
        assert set(training_texts(run, Inputs()) or ()) == set(splits["train"]) & set(left)


def test_no_verb_measures_training_rows_of_a_shuffled_file(
    project: Path, splits: dict[str, list[str]]
) -> None:
    shuffle(project / "reviews.csv")
    run = project / "runs/bare"
    attacked = uf.attack(run, recipe=Swap(), limit=None)
    certified = uf.certify(run, threat="words", limit=20, sampling=QUICK)
    for texts in ([one.original[0] for one in attacked.outcomes], [one.texts[0] for one in certified]):
        assert texts
        assert set(texts) <= set(splits["test"])
    assert uf.repeat(run, repeats=1, limit=None).summary["inputs"] == len(attacked.outcomes)


def test_training_rows_of_a_file_are_left_out_counted_recorded_and_shown(
    project: Path, splits: dict[str, list[str]]
) -> None:
    run, file = project / "runs/plain", project / "reviews.csv"
    options = ["--data", file, "--text-column", "review", "--label-column", "stars"]
    columns: dict[str, Any] = {"text_column": "review", "label_column": "stars"}
    which = uf.Inputs(data=str(file), **columns)
    said = f"{len(splits['train'])} of {len(read_rows(file)) - 1} rows are training rows and were left out"
    attacked = uf.attack(run, which, recipe=Swap(), limit=None)
    assert not {one.original[0] for one in attacked.outcomes} & set(splits["train"])
    assert len(attacked.outcomes) == len(read_rows(file)) - 1 - len(splits["train"])
    for made in (
        attacked,
        uf.certify(run, which, threat="words", limit=5, sampling=QUICK, out=run / "certificates/words"),
        uf.repeat(run, which, repeats=1),
    ):
        assert said in repr(made)
        assert made.about["rows"]["training"] == len(splits["train"])
    assert json.loads((run / "attacks/swap/attack.json").read_text())["rows"]["included"] is False
    page = uf.report(run, out=project / "report.html").path.read_text()
    assert page.count(said) == 3
    for verb in (["certify", run, "--threat", "words", "--n0", 10, "--n", 50], ["repeat", run]):
        shown = unfooled(*verb, *options, "--limit", 4, "--out", project / "elsewhere" / verb[0])
        assert shown.returncode == 0, shown.stderr
        assert said in " ".join(shown.stderr.decode().split())


def test_training_rows_are_included_on_request_and_that_is_said(
    project: Path, splits: dict[str, list[str]]
) -> None:
    run = project / "runs/plain"
    with pytest.raises(UsageError, match=r"trained on all 200 rows.*--allow-training-rows"):
        uf.repeat(run, uf.Inputs(split="train"), repeats=1)
    shown = unfooled("repeat", run, "--split", "train", "--allow-training-rows", "--repeats", 1, "--json")
    assert json.loads(shown.stdout)["rows"] == {
        "rows": 200,
        "training": 200,
        "included": True,
        "dev": 0,
        "missing": 0,
        "checked": True,
    }
    assert "200 of 200 rows are training rows: these are not" in " ".join(shown.stderr.decode().split())


def test_given_texts_are_used_and_those_of_the_training_are_counted(
    trained: Path, splits: dict[str, list[str]]
) -> None:
    given = [splits["train"][0].upper() + "  ", "a text of my own"]
    report = uf.certify(trained / "runs/plain", given, threat="words", sampling=QUICK)
    assert len(report) == 2
    assert "1 of 2 rows are training rows" in repr(report)


def test_a_run_is_measured_in_any_folder_with_its_own_rows_or_with_data_that_moved_along(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (project / "runs/plain/config.yaml").write_text(
        (project / "runs/plain/config.yaml").read_text().replace("data: /", "data: gone/")
    )
    shutil.copy(project / "runs/plain/config.yaml", project / "runs/bare/config.yaml")
    bare = uf.attack("../moved/runs/bare", recipe=Swap(), limit=10)
    (project / "reviews.csv").unlink()
    plain = uf.attack("../moved/runs/plain", recipe=Swap(), limit=10)
    assert [one.to_dict()["original"] for one in plain.outcomes] == [
        one.to_dict()["original"] for one in bare.outcomes
    ]
    assert [one.row for one in plain.outcomes] == [one.row for one in bare.outcomes]
    assert uf.repeat("../moved/runs/plain", repeats=1, limit=10).summary["inputs"] == 10
    with pytest.raises(UserError, match=r"reviews\.csv and gone/.*reviews\.csv do not exist.*--keep-test"):
        uf.attack("../moved/runs/bare", recipe=Swap(), limit=10)


def test_a_recipe_that_needs_the_training_texts_says_what_to_do_without_them(project: Path) -> None:
    (project / "runs/plain/config.yaml").write_text("data: gone.csv\n")
    (project / "reviews.csv").unlink()
    assert uf.attack(project / "runs/plain", recipe=Swap(), limit=4).summary["examples"] == 4
    with pytest.raises(UserError, match=r"reviews\.csv and gone\.csv do not exist.*--masked-lm"):
        uf.attack(project / "runs/plain", recipe=Fill(), limit=4)


def test_a_relative_path_is_found_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = write_inputs(tmp_path) | {"data": "reviews.csv", "epochs": 0.2}
    uf.train("runs/x", **settings, keep_test=False)
    assert not (tmp_path / "runs/x/test.jsonl").exists()
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    assert uf.repeat("../runs/x", repeats=1, limit=4).summary["inputs"] == 4


def test_a_file_without_any_row_of_the_run_is_refused(project: Path) -> None:
    header, *rows = read_rows(project / "reviews.csv")
    write_rows(project / "reviews.csv", [header, *([f"{text} indeed", label] for text, label in rows)])
    with pytest.raises(UserError, match="none of the test rows"):
        uf.repeat(project / "runs/bare", repeats=1)


def test_rows_json_is_small_and_tells_no_text(project: Path, splits: dict[str, list[str]]) -> None:
    saved = (project / "runs/plain/rows.json").read_text()
    assert len(saved) < 16 * sum(map(len, splits.values()))
    assert not any(word in saved for word in ("film", "gorgeous", "awful"))
    assert json.loads(saved)["files"] == {"data": "../../reviews.csv"}


def test_a_damaged_rows_json_is_named(project: Path) -> None:
    path = project / "runs/plain/rows.json"
    saved = json.loads(path.read_text())
    for broken in ({**saved, "test": saved["test"][:-3]}, {**saved, "salt": 7}, {**saved, "format": 9}, []):
        path.write_text(json.dumps(broken))
        with pytest.raises(UserError, match=r"rows\.json.* (train|copy the run folder) again"):
            uf.repeat(project / "runs/plain", repeats=1)
    path.unlink()
    assert "does not say which rows it was trained on" in repr(uf.repeat(project / "runs/plain", repeats=1))


def test_kept_rows_that_someone_changed_are_no_test_rows(project: Path) -> None:
    path = project / "runs/plain/test.jsonl"
    first, second, *others = path.read_text().splitlines()
    path.write_text("\n".join([first.replace("is", "was"), second, *others]) + "\n")
    report = uf.repeat(project / "runs/plain", repeats=1, limit=None)
    assert report.about["rows"]["missing"] == 1
    path.write_text("\n".join([first, '{"text": "no label"}', *others]) + "\n")
    with pytest.raises(UserError, match=r"test\.jsonl, line 2"):
        uf.repeat(project / "runs/plain", repeats=1)


def test_a_training_does_not_go_on_with_other_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = write_inputs(tmp_path) | {"epochs": 1.0}
    with monkeypatch.context() as patch:
        patch.setattr("unfooled.api.train.save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            uf.train(tmp_path / "run", **settings)
    whole = (tmp_path / "reviews.csv").read_text()
    shuffle(tmp_path / "reviews.csv")
    with pytest.raises(UserError, match="changed since its training began"):
        uf.train(tmp_path / "run", **settings)
    (tmp_path / "reviews.csv").write_text(whole)
    assert uf.train(tmp_path / "run", **settings).metrics["train"]["resumed"] is True


def test_duplicates_between_splits_are_counted_at_training_and_on_the_card(tmp_path: Path) -> None:
    settings = write_inputs(tmp_path) | {"epochs": 0.2, "out": tmp_path / "run"}
    header, *rows = read_rows(tmp_path / "reviews.csv")
    write_rows(tmp_path / "dev.csv", [header, *rows[:20]])
    write_rows(tmp_path / "test.csv", [header, *rows[10:40], *rows[40:42]])
    write_rows(tmp_path / "reviews.csv", [header, *rows, *rows[100:107]])
    options = [word for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", value)]
    shown = unfooled(
        "train", *options, "--dev-data", tmp_path / "dev.csv", "--test-data", tmp_path / "test.csv"
    )
    assert shown.returncode == 0, shown.stderr
    expected = {
        "dev rows that are also in test": 10,
        "training rows that are also in dev or test": 42,
        "duplicate rows": 7,
    }
    said, card = shown.stderr.decode(), (tmp_path / "run/README.md").read_text()
    for reason, count in expected.items():
        assert f"{count} {reason}" in " ".join(said.split())
        assert f"{count} {reason}" in card
    assert json.loads((tmp_path / "run/metrics.json").read_text())["data"]["dropped"] == expected
    page = uf.report(tmp_path / "run", out=tmp_path / "report.html").path.read_text()
    assert "left out: dev rows that are also in test</th><td>10<" in page


def test_test_rows_of_large_files_are_kept_only_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unfooled.storage.config import TrainConfig
    from unfooled.training import run_rows

    settings = write_inputs(tmp_path)
    assert run_rows.keeps_test(TrainConfig(**settings))
    monkeypatch.setattr(run_rows, "SMALL", 1000)
    assert not run_rows.keeps_test(TrainConfig(**settings))
    assert run_rows.keeps_test(TrainConfig(**settings, keep_test=True))
    assert not run_rows.keeps_test(TrainConfig(task="spam"))
