"""Attacks on runs of images: resumed, shared by workers, at several sizes; and training against them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unfooled as uf
from commands import unfooled
from journals import timeless
from unfooled.api.jobs.attack_job import TABLE, read_attack
from unfooled.attacks.image.image_story import run_image_attacks
from unfooled.attacks.victims.image_victim import ImageVictim
from unfooled.certificates.sampling import Sampling
from unfooled.data.inputs import Inputs
from unfooled.errors import UsageError
from unfooled.records.results.attack_report import AttackReport

pytest.importorskip("sklearn")
TRAIN: dict[str, Any] = {
    "task": "digits",
    "encoder": "small-cnn:width=8",
    "epochs": 5.0,
    "batch_size": 64,
    "lr": 3e-3,
    "limit": 600,
    "limit_dev": 60,
    "limit_test": 100,
    "device": "cpu",
}
DEFENCES: dict[str, dict[str, Any]] = {
    "standard": {},
    "noise-augment": {"sigma": 0.15},
    "ars": {"sigma": 0.2, "channels": 4},
    "pgd": {"radius": 0.08, "steps": 3},
    "trades": {"radius": 0.08, "steps": 3, "weight": 3},
}
SIZES = (0.02, 0.06, 0.12)
HOW: dict[str, Any] = {"limit": 12, "device": "cpu"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    for defence, settings in DEFENCES.items():
        own = TRAIN | ({"limit": 1200} if defence in ("pgd", "trades") else {})
        uf.train(folder / defence, **own, defence=defence, settings=settings)
    return {defence: folder / defence for defence in DEFENCES}


def records(folder: Path) -> dict[Any, Any]:
    return timeless(folder / "journal.sqlite", TABLE)


def curve(report: AttackReport, key: str = "racc") -> list[float]:
    return [point[key]["value"] for point in report.summary["curve"]]


RECIPES: dict[str, dict[str, Any]] = {
    "pgd-linf": {"steps": 5},
    "pgd-l2": {"steps": 5},
    "apgd-ce": {"steps": 5},
    "apgd-t": {"steps": 5, "norm": "l2", "targets": 3},
    "square": {"queries": 60, "norm": "l2"},
    "cw-l2": {"steps": 20, "rounds": 3},
    "boundary": {"steps": 40},
    "worst": {"steps": 5},
}


@pytest.mark.full
@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_attacks_a_run_and_is_read_back(
    runs: dict[str, Path], name: str, tmp_path: Path
) -> None:
    report = uf.attack(runs["standard"], recipe={"name": name, **RECIPES[name]}, **HOW, out=tmp_path / "a")
    assert report.summary["examples"] == 12 and report.summary["counts"]["error"] == 0
    assert report.summary["sacc"]["value"] > 0.8 and report.summary["counts"]["success"] > 0
    assert read_attack(tmp_path / "a").summary == json.loads(json.dumps(report.summary))
    won = next(one for one in report.outcomes if one.status == "success")
    assert won.image is not None and won.original[0].startswith("image 8×8×1")
    before, after = won.image.pixels()
    again = uf.load(runs["standard"], device="cpu").predict(np.stack([before, after]))
    assert [one.label for one in again] == [str(won.truth), report.labels[won.label or 0]]
    frame = report.to_frame()
    assert {"size", "distance", "gradients"} <= set(frame.columns) and len(frame) == 12
    assert "distance" in repr(report)


@pytest.mark.full
@pytest.mark.parametrize("defence", ["standard", "noise-augment", "ars"])
def test_accuracy_only_falls_as_the_attack_grows(runs: dict[str, Path], defence: str, tmp_path: Path) -> None:
    given: dict[str, Any] = {"recipe": {"name": "pgd-linf", "steps": 5, "eot": 4}, "sizes": SIZES, **HOW}
    report = uf.attack(runs[defence], **given, out=tmp_path / "a")
    assert len(report.outcomes) == 36 and report.summary["examples"] == 12
    found = curve(report)
    assert found == sorted(found, reverse=True) and found[0] > found[-1]
    assert found[-1] == report.summary["racc"]["value"]
    if defence != "standard":
        verified = curve(report, "racc_verified")
        assert verified == sorted(verified, reverse=True)
        assert all(one >= other for one, other in zip(verified, found, strict=True))
        assert any(one.fresh_total == 20 for one in report.outcomes)
    for one in report.outcomes:
        assert one.image is not None
        if one.status == "success":
            assert one.image.distance is not None and one.image.distance <= one.image.size
    if defence == "noise-augment":
        uf.attack(runs[defence], **given, out=tmp_path / "b", workers=2)
        assert records(tmp_path / "a") == records(tmp_path / "b")


@pytest.mark.full
def test_interrupted_attack_goes_on_to_the_same_results(
    runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {"recipe": {"name": "pgd-l2", "steps": 5}, "sizes": (0.2, 0.6), **HOW}
    whole = uf.attack(runs["noise-augment"], **given, out=tmp_path / "whole")

    def stopped(*args: Any, **named: Any) -> Any:
        for number, outcome in enumerate(run_image_attacks(*args, **named)):
            if number == 7:
                raise KeyboardInterrupt
            yield outcome

    monkeypatch.setattr("unfooled.api.jobs.image_attack.run_image_attacks", stopped)
    with pytest.raises(KeyboardInterrupt):
        uf.attack(runs["noise-augment"], **given, out=tmp_path / "part", in_flight=2)
    assert not read_attack(tmp_path / "part").about["complete"] and len(records(tmp_path / "part")) == 7
    monkeypatch.undo()
    again = uf.attack(runs["noise-augment"], **given, out=tmp_path / "part")
    assert again.about["reuse"]["from_journal"] == 7
    assert records(tmp_path / "whole") == records(tmp_path / "part")
    assert curve(whole) == curve(again)


@pytest.mark.full
def test_more_sizes_and_more_images_go_on_in_the_same_set(runs: dict[str, Path], tmp_path: Path) -> None:
    run = shutil.copytree(runs["standard"], tmp_path / "run")
    recipe = {"name": "pgd-linf", "steps": 3}
    first = uf.attack(run, recipe={**recipe, "eps": 0.05}, limit=6, device="cpu")
    more = uf.attack(run, recipe=recipe, sizes=(0.05, 0.1), limit=8, device="cpu")
    assert first.about["result_set"]["name"] == more.about["result_set"]["name"] == "pgd-linf"
    assert more.about["reuse"] == {"from_journal": 6, "asked": 10}
    other = uf.attack(run, recipe={**recipe, "steps": 4}, limit=6, device="cpu")
    assert other.about["result_set"]["name"] == "pgd-linf-2"
    assert "steps: 3 → 4" in other.about["result_set"]["note"]


@pytest.mark.full
def test_transfer_crafts_on_the_source_and_asks_the_victim(runs: dict[str, Path], tmp_path: Path) -> None:
    source = str(runs["standard"])
    recipe = {"name": "transfer", "source": source, "eps": 0.25, "steps": 5}
    report = uf.attack(runs["noise-augment"], recipe=recipe, **HOW, out=tmp_path / "a")
    own = uf.attack(runs["standard"], recipe=recipe, **HOW)
    assert report.summary["counts"]["success"] > 0
    assert own.summary["asr"]["value"] >= report.summary["asr"]["value"]
    asked = [one for one in report.outcomes if one.status == "failed"]
    assert all(one.queries == 2 for one in asked)  # the image, and what was crafted
    uf.attack(runs["noise-augment"], recipe=recipe, **HOW, out=tmp_path / "b", workers=2)
    assert records(tmp_path / "a") == records(tmp_path / "b")
    with pytest.raises(UsageError, match="transfer needs a run"):
        uf.attack(runs["standard"], recipe="transfer", **HOW)


@pytest.mark.full
def test_images_can_be_given_with_their_labels(runs: dict[str, Path]) -> None:
    from unfooled.data.images import load_images

    rows = load_images("digits").test
    images, labels = np.asarray(rows.images[:4]), [int(label) for label in rows.labels[:4]]
    report = uf.attack(runs["standard"], Inputs(tensors=images, labels=labels), device="cpu")
    assert [one.truth for one in report.outcomes] == labels and report.about["source"].startswith("images")
    with pytest.raises(UsageError, match="true labels are needed"):
        uf.attack(runs["standard"], Inputs(tensors=images), device="cpu")


@pytest.mark.full
@pytest.mark.parametrize("defence", ["pgd", "trades"])
def test_adversarial_training_learns_and_holds_better_than_plain(runs: dict[str, Path], defence: str) -> None:
    found = {
        name: uf.attack(runs[name], recipe={"name": "pgd-linf", "eps": 0.1}, limit=60, device="cpu").summary
        for name in ("standard", defence)
    }
    assert found[defence]["sacc"]["value"] > 0.75
    assert found[defence]["racc"]["value"] > found["standard"]["racc"]["value"] + 0.1


@pytest.mark.full
def test_no_certificate_of_ars_is_flipped_inside_its_ball(runs: dict[str, Path]) -> None:
    """PGD with expectation over ARS's own noise and masks, at the very radius that was certified."""
    classifier = uf.load(runs["ars"], device="cpu")
    certified = [
        one
        for one in uf.certify(classifier, limit=30, sampling=Sampling(n=400, n0=30, alpha=0.001))
        if one.status == "certified" and one.correct
    ]
    assert len(certified) >= 8
    rows = {one.row: one.radius for one in certified}
    smallest = min(rows.values())
    recipe = {"name": "pgd-linf", "eot": 8, "steps": 10, "loss": "margin"}
    sizes = sorted({smallest, *sorted(rows.values())[:: max(1, len(rows) // 4)], 0.3})
    report = uf.attack(classifier, recipe=recipe, sizes=sizes, limit=30)
    victim = ImageVictim(
        uf.predictors.override.with_predictor(classifier, {"votes": 1000})  # type: ignore[attr-defined]
    )
    from unfooled.attacks import Asked

    inside = outside = 0
    for one in report.outcomes:
        change = one.image
        if one.row not in rows or change is None or one.status not in ("success", "failed"):
            continue
        if change.size > rows[one.row]:
            outside += one.verified
            continue
        inside += 1
        if one.status == "success":  # a vote of few may err; the majority may not
            (answer,) = victim.answers([Asked(change.pixels()[1], 5)])
            assert answer.label == one.truth
    assert inside >= 8 and outside >= 3


@pytest.mark.full
def test_commands_show_export_and_report(runs: dict[str, Path], tmp_path: Path) -> None:
    run = shutil.copytree(runs["standard"], tmp_path / "run")
    base = ["attack", str(run), "--limit", "6", "--device", "cpu"]
    shown = unfooled(
        *base, "--sizes", "0.05,0.1", "--set", "steps=3", "--show", "1", "--export", str(tmp_path / "a.csv")
    )
    told = shown.stdout.decode()
    assert shown.returncode == 0, shown.stderr
    assert "accuracy against the size of the attack (ℓ∞)" in told and "ℓ∞ distance" in told
    assert "words" not in told
    assert "size" in (tmp_path / "a.csv").read_text().splitlines()[0]
    several = unfooled(*base, "--recipe", "all", "--set", "steps=4", "--set", "rounds=2")
    left_out = " ".join(several.stderr.decode().split())
    assert several.returncode == 0 and "Left out: transfer needs a run" in left_out
    names = ("pgd-linf", "pgd-l2", "cw-l2", "boundary", "worst")
    assert all(name in several.stdout.decode() for name in names)
    uf.report(run, out=tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Accuracy against the size of the attack, ℓ∞" in page and "difference × " in page


@pytest.mark.full
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"recipe": "textfooler"},
            "textfooler attacks texts, and this victim reads images. Choose one of: pgd",
        ),
        ({"sizes": (0.1,), "recipe": {"name": "pgd-linf", "eps": 0.1}}, "--sizes or --set eps, not both"),
        ({"sizes": (0.0, 0.1)}, "--sizes 0: a size is above 0 and at most 1"),
        ({"sizes": (2.0,)}, "at most 1, in pixels from 0 to 1"),
        ({"limits": uf.Limits(protect=["not"])}, "--protect is for attacks on texts"),
        ({"tools": uf.Tools(similarity="use")}, "--similarity is for attacks on texts"),
        ({"inputs": uf.Inputs(task="spam")}, "reads images, and spam has texts"),
    ],
)
def test_what_does_not_fit_images_is_refused(
    runs: dict[str, Path], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        uf.attack(runs["standard"], **given, **HOW)


def test_what_is_for_images_is_refused_for_texts() -> None:
    def answers(texts: list[str]) -> list[list[float]]:
        return [[0.4, 0.6] for _ in texts]

    texts = uf.Inputs(texts=["a b"], labels=[1])
    with pytest.raises(UsageError, match="pgd-linf attacks images, and this victim reads texts"):
        uf.attack(answers, texts, recipe="pgd-linf")
    with pytest.raises(UsageError, match="--sizes are sizes of attacks on images"):
        uf.attack(answers, texts, recipe="deepwordbug", sizes=(0.1,))
    with pytest.raises(UsageError, match="attacks images, and this victim reads texts"):
        uf.defences.make_defence("advaug", {"recipe": "pgd-linf"})  # type: ignore[attr-defined]
