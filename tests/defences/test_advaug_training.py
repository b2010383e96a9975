"""advaug: what is attacked before training, what of it is trained on and shown, and what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import unfooled as uf
from tiny_models import balanced, tiny_classifier
from tiny_runs import write_inputs
from tiny_training import TASK
from unfooled.api.jobs import prepare_training
from unfooled.api.jobs.attack_job import read_attack
from unfooled.api.read_evidence import read_report_data
from unfooled.attacks import RECIPES
from unfooled.benchmarks.sweep import sweep
from unfooled.defences import MadeExample, MadeExamples, Training, TrainingData, make_defence, preparations
from unfooled.errors import UsageError, UserError
from unfooled.files import read_json

pytestmark = pytest.mark.usefixtures("swap_recipe")
SMALL = {"epochs": 1, "limit": 32, "limit_dev": 8, "limit_test": 8, "lr": 1e-4}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Training settings for an encoder whose answers vary from the start."""
    made = write_inputs(tmp_path_factory.mktemp("inputs")) | SMALL
    with Path(made["data"]).open(encoding="utf-8") as file:
        texts = [row["review"] for row in csv.DictReader(file)]
    balanced(tiny_classifier("bert", labels=2), texts).module.save_pretrained(made["encoder"])
    return made


@pytest.fixture(scope="module")
def plain(inputs: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> str:
    """A plain run."""
    folder = tmp_path_factory.mktemp("plain") / "run"
    uf.train(folder, **inputs)
    return str(folder)


def advaug(out: Path, inputs: dict[str, Any], **settings: Any) -> uf.Classifier:
    defence = inputs.get("defence", "advaug")
    return uf.train(out, **inputs | {"defence": defence, "settings": {"recipe": "swap", **settings}})


def test_the_examples_follow_the_data_with_their_labels() -> None:
    model = tiny_classifier("bert", labels=2)
    data = TrainingData(model.encode(["a fine film"], ["a dull film"]), [1])
    made = MadeExamples(
        [MadeExample(("a poor film", "a dull film"), 1), MadeExample(("a film", "dull"), 0)], {"appended": 2}
    )
    defence = make_defence("safer+advaug", {"recipe": "swap"})
    session = defence.begin(Training(model, data, TASK, seed=0, steps=1, made={"advaug": made}))
    for epoch in (0, 1):
        found = session.on_epoch(epoch, data)
        assert found is not None
        assert [item.texts for item in found.encoded] == [  # type: ignore[attr-defined]
            ("a fine film", "a dull film"),
            ("a poor film", "a dull film"),
            ("a film", "dull"),
        ]
        assert found.labels == [1, 1, 0]
    assert session.figures() == {"advaug": {"appended": 2}}
    assert session.warnings() == []
    assert set(preparations(defence)) == {"advaug"}
    assert preparations(make_defence("safer")) == {}


@pytest.mark.full
def test_a_named_plain_run_is_attacked_and_nothing_is_shown_as_an_evaluation(
    inputs: dict[str, Any], plain: str, tmp_path: Path
) -> None:
    classifier = advaug(tmp_path / "run", inputs, plain=plain, sample=20)
    folder = tmp_path / "run" / "preparation"
    report = read_attack(folder / "advaug" / "attack")
    assert report.about["victim"]["weights"] == read_json(Path(plain) / "unfooled.json")["weights"]
    assert len(report.outcomes) == 20
    assert report.about["rows"]["training"] == 20, "they are training rows, and that is meant"
    figures = classifier.metrics["defence"]
    counts = report.summary["counts"]
    assert (figures["sampled"], figures["appended"]) == (20, counts["success"])
    assert 0 < figures["appended"] <= figures["attacked"] == counts["success"] + counts["failed"]
    assert figures["plain"] == {"run": plain, "weights": report.about["victim"]["weights"]}
    assert figures["recipe"]["name"] == "swap"
    assert not (folder / "plain").exists()
    (model,) = read_report_data([tmp_path / "run"]).models
    assert not model.attacks
    assert not (Path(plain) / "attacks").exists(), "the plain run has no result that it was not asked for"


@pytest.mark.full
def test_without_a_plain_run_one_is_trained_and_removed(
    inputs: dict[str, Any], plain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics = advaug(tmp_path / "run", inputs, sample=8).metrics
    figures, took = metrics["defence"], metrics["train"]
    assert figures["plain"] == {
        "run": None,
        "weights": read_json(Path(plain) / "unfooled.json")["weights"],
    }, "the plain model is that of the same configuration"
    assert figures["seconds"]["plain"] > 0
    assert took["preparation_seconds"] == pytest.approx(sum(figures["seconds"].values()))
    assert took["seconds"] > took["preparation_seconds"]
    card = (tmp_path / "run" / "README.md").read_text(encoding="utf-8")
    before = f"{took['preparation_seconds']:.0f} s of them before training"
    assert f"| training time | {took['seconds']:.0f} s, {before} |" in card
    assert sorted(path.name for path in (tmp_path / "run" / "preparation").iterdir()) == ["advaug"]
    told = capsys.readouterr().err
    assert "a plain model is trained first" in told
    assert "swap attacks 8 training texts" in told


@pytest.mark.full
def test_training_that_starts_from_a_run_attacks_that_run(
    inputs: dict[str, Any], plain: str, tmp_path: Path
) -> None:
    figures = advaug(tmp_path / "run", inputs | {"encoder": plain}, sample=8).metrics["defence"]
    assert figures["plain"]["weights"] == read_json(Path(plain) / "unfooled.json")["weights"]
    assert figures["seconds"]["plain"] is None


@pytest.mark.full
def test_nothing_found_is_a_warning_in_the_records(
    inputs: dict[str, Any], plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def finds_nothing(self: object, attempt: Any) -> Any:
        yield from attempt.ask([attempt.original.replace(0, "thing")])

    monkeypatch.setattr(RECIPES["swap"], "search", finds_nothing)
    metrics = advaug(tmp_path / "run", inputs, plain=plain).metrics
    assert metrics["defence"]["appended"] == 0
    assert any(
        "advaug: swap found no adversarial example (of 32 training texts" in told
        for told in metrics["warnings"]
    )
    card = (tmp_path / "run" / "README.md").read_text(encoding="utf-8")
    assert "found no adversarial example" in card


def test_an_attack_that_breaks_on_every_text_is_refused_and_can_go_on(
    inputs: dict[str, Any], plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: object, attempt: object) -> None:
        raise ValueError("boom")

    with monkeypatch.context() as patch:
        patch.setattr("unfooled.attacks.scheduler.wrong_label", broken)
        with pytest.raises(UserError, match=r"advaug: the attack broke on every text. The first: TypeError"):
            advaug(tmp_path / "run", inputs, plain=plain, sample=4)
    assert not (tmp_path / "run" / "preparation" / "advaug" / "examples.json").exists()


@pytest.mark.parametrize("case", ["missing", "labels", "pairs"])
def test_a_plain_run_that_does_not_fit_is_refused_before_anything_is_written(
    case: str, inputs: dict[str, Any], plain: str, tmp_path: Path
) -> None:
    told = {
        "missing": "it is not a finished run of unfooled",
        "labels": "it answers good, bad, and the data have down, up",
        "pairs": "one of it and the data has single texts, the other pairs",
    }
    folder = tmp_path / "plain"
    if case != "missing":
        folder.mkdir()
        marker = read_json(Path(plain) / "unfooled.json")
        marker |= {"labels": ["good", "bad"]} if case == "labels" else {"task": {"kind": "pair"}}
        (folder / "unfooled.json").write_text(json.dumps(marker), encoding="utf-8")
    with pytest.raises(UsageError, match=f"advaug: plain={folder}: {told[case]}. Name a finished run"):
        advaug(tmp_path / "run", inputs, plain=str(folder))
    assert not (tmp_path / "run").exists()


def test_workers_are_for_defences_that_attack_before_training(inputs: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"attack that a defence makes .* and standard makes none"):
        uf.train(tmp_path / "run", **inputs, workers=2)
    assert not (tmp_path / "run").exists()


@pytest.mark.full
def test_workers_share_the_attack(
    inputs: dict[str, Any], plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int | None, str | None]] = []
    attack = prepare_training.attack

    def watched(*given: Any, workers: int | None, ray: str | None, **more: Any) -> Any:
        asked.append((workers, ray))
        return attack(*given, **more)

    monkeypatch.setattr(prepare_training, "attack", watched)
    settings = {"recipe": "swap", "plain": plain, "sample": 4}
    uf.train(tmp_path / "run", **inputs, defence="advaug", settings=settings, workers=2)
    plan = {
        "name": "two",
        "train": {name: inputs[name] for name in ("encoder", "batch_size", "device", "precision", *SMALL)},
        "tasks": [
            {"name": "reviews", **{name: inputs[name] for name in ("data", "text_column", "label_column")}}
        ],
        "defences": [{"name": "standard"}, {"name": "advaug", "settings": settings}],
    }
    assert uf.benchmark(plan, tmp_path / "plan", workers=2)["counts"]["done"] == 2
    assert asked == [(2, None), (2, None)]


@pytest.mark.full
def test_pairs_are_attacked_and_a_sweep_ranks_samples(inputs: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    with (
        Path(inputs["data"]).open(encoding="utf-8") as file,
        path.open("w", newline="", encoding="utf-8") as out,
    ):
        rows = csv.writer(out)
        rows.writerow(["review", "second", "stars"])
        rows.writerows([row["review"], "a film", row["stars"]] for row in list(csv.DictReader(file))[:120])
    train = inputs | {"data": str(path), "pair_column": "second", "defence": "advaug+stability"}
    table = sweep(
        tmp_path / "sweep",
        grid={"advaug.sample": [6, 12]},
        train=train | {"settings": {"recipe": "swap", "votes": 2}},
    )
    assert len(table["rows"]) == 2
    for size in (6, 12):
        (saved,) = tmp_path.glob(f"sweep/**/*sample={size}*/preparation/advaug/examples.json")
        made = read_json(saved)
        assert made["about"]["sampled"] == size
        assert made["examples"] and all(len(one["texts"]) == 2 for one in made["examples"])
