"""Benchmarks on images: scaled, certified, with published certified accuracies beside ours."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from unfooled.benchmarks.run import benchmark
from unfooled.cli.show.benchmark_tables import attack_table, certificate_table

pytest.importorskip("sklearn")
PLAN: dict[str, Any] = {
    "name": "digits",
    "train": {"encoder": "small-cnn:width=4", "epochs": 1, "batch_size": 64, "device": "cpu"},
    "tasks": [{"name": "places", "task": "background(digits, size=12, places=2)"}],
    "defences": [{"name": "stn", "defence": "stability", "settings": {"sigma": 0.1}}],
    "certificates": [{"threat": "l2", "limit": 500, "n": 5000, "bounds": ["gaussian", "renyi"]}],
    "published": {
        "source": "a paper",
        "figures": [
            {"task": "places", "model": "STN", "defence": "stn", "sacc": 98.9},
            {
                "task": "places",
                "model": "STN",
                "defence": "stn",
                "certificate": "l2",
                "radius": 0.01,
                "bound": "renyi",
                "certified": 69.0,
            },
        ],
    },
}


@pytest.mark.full
def test_published_certified_accuracy_stands_below_ours_at_the_same_radius(tmp_path: Path) -> None:
    result = benchmark(PLAN, tmp_path / "out", scale=0.001)
    assert result["counts"]["done"] == 2, result["cells"]
    (row,) = result["rows"]
    assert row["clean"]["inputs"] == 50  # what --scale leaves of the test images
    (beside,) = row["certificates"]["l2"]["beside"]
    assert (beside["radius"], beside["bound"], beside["published"]) == (0.01, "renyi", 69.0)
    assert 0 <= beside["ours"]["mean"] <= row["certificates"]["l2"]["certified_accuracy"]["mean"]
    text = io.StringIO()
    console = Console(file=text, width=200)
    for table in (attack_table(result), certificate_table(result)):
        console.print(table)
    shown = text.getvalue()
    assert "published: STN" in shown and "0.989" in shown and "0.690" in shown
    assert "l2 ≥ 0.01 by renyi" in shown


def test_a_source_without_figures_is_no_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from unfooled.cli.show.benchmark_show import show_result

    plan = {**PLAN, "certificates": [], "published": {"source": "a paper", "figures": []}}
    show_result(benchmark(plan, tmp_path / "out", scale=0.001))
    assert "stn" in capsys.readouterr().out


def _transfer(**attack: Any) -> dict[str, Any]:
    """A plan whose transfer attack on one model is crafted on another."""
    return {
        **{key: value for key, value in PLAN.items() if key not in ("certificates", "published")},
        "defences": ["standard", {"name": "other", "defence": "standard", "train": {"lr": 0.01}}],
        "attacks": [
            {"recipe": "transfer", "for": "standard", "limit": 10, "sizes": [0.05, 0.3], "source": "other"}
            | attack
        ],
    }


@pytest.mark.full
def test_transfer_attacks_are_crafted_on_the_named_model_of_the_plan(tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = benchmark(_transfer(), out, scale=0.001)
    assert result["counts"]["done"] == 3, result["cells"]
    (cell,) = [one for one in result["cells"] if one["kind"] == "attack"]
    assert cell["conditions"]["source"]["model"] == "other"
    assert str(out) not in str(cell["conditions"]), "a moved benchmark would be refused"
    assert "source=" in cell["command"] and "places-other-s0" in cell["command"]
    told = json.loads((out / "runs/places-standard-s0/attacks/transfer/attack.json").read_text())
    assert Path(told["recipe"]["settings"]["source"]).resolve() == (out / "runs/places-other-s0").resolve()


@pytest.mark.parametrize(
    ("attack", "says"),
    [
        ({"source": "nobody"}, "no defence 'nobody'"),
        ({"recipe": "pgd-linf"}, "pgd-linf crafts on the model it attacks"),
        ({"settings": {"source": "runs/x"}}, "Give one of the two"),
        ({"source": None}, "transfer needs a model of the plan to craft on"),
    ],
)
def test_a_source_that_cannot_be_is_refused_before_any_work(attack: dict[str, Any], says: str) -> None:
    from unfooled.benchmarks.plan_file import make_plan
    from unfooled.errors import UsageError

    with pytest.raises(UsageError, match=says):
        make_plan(_transfer(**attack))


def test_a_source_is_not_attacked_by_what_is_crafted_on_it() -> None:
    from unfooled.benchmarks.plan_file import make_plan

    (attack,) = make_plan(_transfer(**{"for": None})).attacks
    assert attack.only == ("standard",)


@pytest.mark.parametrize(
    ("attack", "says"),
    [({"sizes": [2.0]}, "at most 1"), ({"limits": {"max_changed": 0.1}}, "texts")],
)
def test_attacks_on_images_are_checked_before_training(
    tmp_path: Path, attack: dict[str, Any], says: str
) -> None:
    from unfooled.errors import UsageError

    with pytest.raises(UsageError, match=says):
        benchmark(_transfer(**attack), tmp_path / "out", scale=0.001)
    assert not (tmp_path / "out" / "runs").exists()
