"""Training on adversarial examples, killed in the attack and within an epoch, and in two processes."""

from __future__ import annotations

import csv
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tiny_models import balanced, tiny_classifier
from tiny_runs import write_inputs
from warm_processes import start_warm

pytestmark = pytest.mark.full

EXAMPLES, BATCH = 32, 16
"""Two steps per epoch, and three with adversarial examples."""
SETTINGS: dict[str, dict[str, Any]] = {
    "advaug": {"recipe": "swap", "sample": 30},
    "a2t": {"recipe": "swap", "share": 0.5},
}
KILLS: dict[str, list[dict[str, Any]]] = {
    # In the plain model's training, in the attack, within the second epoch.
    "advaug": [{"kill_at": 3}, {"kill_in_attack": 5}, {"kill_at": 5}],
    # In the attack of the second epoch, and within that epoch.
    "a2t": [{"kill_in_attack": 4}, {"kill_at": 4}],
}
Log = dict[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each defence undisturbed, killed again and again, and in two processes."""
    folder = tmp_path_factory.mktemp("adversarial")
    train = write_inputs(folder) | {"lr": 3e-4, "epochs": 2, "batch_size": BATCH, "limit": EXAMPLES}
    train |= {"limit_dev": 8, "limit_test": 8}
    with Path(train["data"]).open(encoding="utf-8") as file:
        texts = [row["review"] for row in csv.DictReader(file)]
    # Its answers vary from the start.
    balanced(tiny_classifier("bert", labels=2), texts).module.save_pretrained(train["encoder"])
    jobs = []
    for defence, settings in SETTINGS.items():
        plain = {"train": train | {"defence": defence, "settings": settings}, "kill_at": None, "processes": 1}
        own = [plain | {"out": "undisturbed", "log": "undisturbed"}]
        often = {"train": plain["train"] | {"checkpoint_every": 1}, "out": "killed", "log": "none"}
        own += [plain | often | kill for kill in KILLS[defence]]
        own += [plain | {"out": "killed", "log": "resumed"}]
        own += [plain | {"out": "two", "log": "two", "processes": 2}]
        jobs += [job | {key: str(folder / f"{defence}-{job[key]}") for key in ("out", "log")} for job in own]
    script = Path(__file__).parents[1] / "training" / "toy_runs.py"
    path = os.pathsep.join([str(script.parents[1]), *sys.path])
    process = start_warm([str(script), json.dumps(jobs)], env={**os.environ, "PYTHONPATH": path})
    _, errors = process.communicate()
    assert process.returncode == 0, errors.decode()
    return folder


def log(folder: Path, defence: str, name: str, process: int = 0) -> Log:
    found: Log = json.loads((folder / f"{defence}-{name}-{process}.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("defence", SETTINGS)
def test_killed_in_the_attack_and_within_an_epoch_it_ends_with_the_same_weights(
    defence: str, folder: Path
) -> None:
    undisturbed, resumed = log(folder, defence, "undisturbed"), log(folder, defence, "resumed")
    assert resumed["metrics"]["train"]["resumed"] is True
    assert resumed["seen"]["1"] == undisturbed["seen"]["1"][-len(resumed["seen"]["1"]) :]
    assert len(resumed["seen"]["1"]) < len(undisturbed["seen"]["1"]), "steps of the epoch are not done again"
    assert resumed["data"] == {"1": undisturbed["data"]["1"]}
    assert resumed["weights"] == {"1": undisturbed["weights"]["1"]}
    assert resumed["final"] == undisturbed["final"]
    assert _timeless(resumed["metrics"]["defence"]) == _timeless(undisturbed["metrics"]["defence"])


def _timeless(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in figures.items() if name != "seconds"}


def test_advaug_repeats_neither_the_plain_model_nor_finished_attacks(folder: Path) -> None:
    undisturbed, resumed = log(folder, "advaug", "undisturbed"), log(folder, "advaug", "resumed")
    assert undisturbed["steps_before"] == 2 * EXAMPLES // BATCH
    assert undisturbed["searches"] > KILLS["advaug"][1]["kill_in_attack"]
    assert (resumed["steps_before"], resumed["searches"]) == (0, 0)


def test_advaug_trains_on_the_data_and_exactly_the_successes_with_their_labels(folder: Path) -> None:
    from unfooled.api.jobs.attack_job import read_attack

    trained, run = log(folder, "advaug", "undisturbed"), folder / "advaug-undisturbed"
    outcomes = read_attack(run / "preparation" / "advaug" / "attack").outcomes
    assert len(outcomes) == 30
    successes = [one for one in outcomes if one.status == "success"]
    assert 0 < len(successes) < 30
    for epoch in "01":
        seen = trained["seen"][epoch]
        added = sorted(text for text in seen if "thing" in text)
        assert added == sorted(one.perturbed[0] for one in successes if one.perturbed)
        assert len(seen) == trained["data"][epoch] == EXAMPLES + len(successes)
    saved = json.loads((run / "preparation" / "advaug" / "examples.json").read_text(encoding="utf-8"))
    names = ("down", "up")
    assert [(tuple(one["texts"]), one["label"]) for one in saved["examples"]] == [
        (one.perturbed, names[one.truth]) for one in successes if one.truth is not None
    ]
    assert all(one.label != one.truth for one in successes)
    assert trained["metrics"]["defence"]["appended"] == len(successes)


def test_a2t_trains_on_the_successes_of_the_epoch(folder: Path) -> None:
    trained = log(folder, "a2t", "undisturbed")
    (counts,) = trained["metrics"]["defence"]["epochs"].values()
    assert counts["sampled"] == EXAMPLES // 2
    assert 0 < counts["appended"] <= counts["attacked"] == trained["searches"]
    assert trained["data"] == {"0": EXAMPLES, "1": EXAMPLES + counts["appended"]}
    assert sum("thing" in text for text in trained["seen"]["0"]) == 0
    assert sum("thing" in text for text in trained["seen"]["1"]) == counts["appended"]


@pytest.mark.parametrize("defence", SETTINGS)
def test_two_processes_train_on_the_same_data(defence: str, folder: Path) -> None:
    first, second = log(folder, defence, "two", 0), log(folder, defence, "two", 1)
    assert first["weights"] == second["weights"]
    assert first["final"] == second["final"]
    assert first["data"] == second["data"]
    assert first["metrics"]["defence"] == second["metrics"]["defence"]
    added = [sum("thing" in text for text in one["seen"]["1"]) for one in (first, second)]
    assert min(added) > 0
    if defence == "a2t":
        assert first["searches"] > 0 and second["searches"] > 0, "each attacks its share"
    else:
        assert first["searches"] > 0 and second["searches"] == 0, "one attacks, the other waits"
