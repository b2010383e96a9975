"""Fuzz cases that call the library with odd values: settings of every kind, every verb on a tiny model."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from mutations import TEXTS, odd

import unfooled as uf
from run_folders import write_everything
from tiny_attacks import Swap
from tiny_models import tiny_classifier
from tiny_runs import write_inputs
from unfooled.attacks import RECIPES, make_recipe
from unfooled.benchmarks.plan_file import make_plan
from unfooled.defences import DEFENCES, make_defence
from unfooled.parsing import parse_json, parse_yaml
from unfooled.predictors import PREDICTORS, Classifier, TwoStep, make_predictor
from unfooled.settings import build, describe_settings, parse_assignments
from unfooled.storage.config import TrainConfig

Case = Callable[[Random], object]
Make = Callable[[str, Mapping[str, Any]], object]

GROUPS = (uf.Limits, uf.Tools, uf.Sampling, uf.Reading, TrainConfig)


def library_cases(folder: Path) -> dict[str, Case]:
    """The cases by name; the verbs work in ``folder``."""
    cases: dict[str, Case] = {
        "defence": _made(DEFENCES, make_defence),
        "recipe": _made(RECIPES, make_recipe),
        "predictor": _made(PREDICTORS, make_predictor),
        "parse_json": lambda chooser: parse_json(str(odd(chooser)), "text"),
        "parse_yaml": lambda chooser: parse_yaml(f"a: {odd(chooser)}", "text"),
        "parse_assignments": lambda chooser: parse_assignments([f"{chooser.choice(TEXTS)}={odd(chooser)}"]),
        "plan": lambda chooser: make_plan(_some(uf_plan(), chooser)),
    }
    cases |= {f"settings {group.__name__}": _group(group) for group in GROUPS}
    return cases | _verbs(folder)


def uf_plan() -> dict[str, Any]:
    return {"name": "trial", "tasks": ["movie-reviews"], "defences": ["standard"], "seeds": [0], "train": {}}


def _made(registry: Mapping[str, Any], make: Make) -> Case:
    names = list(registry)

    def case(chooser: Random) -> None:
        name = chooser.choice(names)
        known = [info.name for info in describe_settings(registry[name])]
        if chooser.random() < 0.05:
            name = odd(chooser)
        make(name, _settings(known, chooser))

    return case


def _group(cls: type[Any]) -> Case:
    known = [info.name for info in describe_settings(cls)]
    return lambda chooser: build(cls, _settings(known, chooser), owner=cls.__name__)


def _settings(known: list[str], chooser: Random) -> dict[str, Any]:
    chosen = chooser.sample(known, min(len(known), chooser.choice((0, 1, 1, 2, 3))))
    made = {name: odd(chooser) for name in chosen}
    return made | ({chooser.choice(TEXTS): odd(chooser)} if chooser.random() < 0.05 else {})


def _some(values: Mapping[str, Any], chooser: Random) -> dict[str, Any]:
    """The arguments with one to three of them odd."""
    names = chooser.sample(list(values), min(len(values), chooser.choice((1, 1, 2, 3))))
    return {**values, **{name: odd(chooser) for name in names}}


def things_to_work_on(folder: Path) -> tuple[Path, Path, dict[str, Any]]:
    """A run with results, a saved classifier, and what a training needs."""
    run = write_everything(folder / "run", examples=4)
    saved = folder / "saved"
    classifier = Classifier(
        tiny_classifier("bert", labels=2),
        TwoStep(sigma=0.3, noise_layers=("embeddings",), first_votes=2, second_votes=3),
        labels=["down", "up"],
        defence="rsmi",
        task={"kind": "single", "name": "films"},
    )
    uf.save(classifier, saved)
    return run, saved, write_inputs(folder)


def _verbs(folder: Path) -> dict[str, Case]:
    folder.mkdir(parents=True, exist_ok=True)
    run, saved, training = things_to_work_on(folder)
    classifier = uf.load(saved)
    texts = ["a fine film", "dull and flat"]
    labelled = uf.Inputs(texts=texts, labels=["up", "down"])
    quick = uf.Sampling(n0=2, n=4, alpha=0.3)
    tools = uf.Tools(validity=False)
    vote = {"name": "vote", "votes": 2, "sigma": 0.3, "noise_layers": ["embeddings"], "masking": "none"}
    plan = uf_plan() | {"tasks": [{"name": "mine", **training}]}
    calls: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
        "predict": (
            uf.predict,
            {"classifier": classifier, "inputs": texts, "pairs": None, "seed": 0, "predictor": None}
            | {"certified": False, "error_rate": 0.3, "max_votes": 4, "device": "cpu"},
        ),
        "Classifier.predict": (classifier.predict, {"inputs": texts, "pairs": None, "seed": 0}),
        "attack": (
            uf.attack,
            {"victim": classifier, "inputs": labelled, "recipe": "swap", "limit": 2, "predictor": None}
            | {
                "seed": 0,
                "device": "cpu",
                "in_flight": 2,
                "out": None,
                "tools": tools,
                "limits": uf.Limits(),
            },
        ),
        "certify": (
            uf.certify,
            {"classifier": classifier, "inputs": texts, "threat": "l2", "limit": 2, "sampling": quick}
            | {"bounds": (), "predictor": vote, "seed": 0, "device": "cpu", "out": None}
            | {"reading": uf.Reading(antonyms=False), "sigma": None},
        ),
        "repeat": (
            uf.repeat,
            {"classifier": classifier, "inputs": labelled, "repeats": 2, "limit": 2, "predictor": None}
            | {"seed": 0, "device": "cpu", "out": None},
        ),
        "load": (uf.load, {"path": saved, "device": "cpu", "precision": "float32"}),
        "report": (
            lambda run, **more: uf.report(run, **more),
            {"run": run, "out": "page.html", "format": "html", "static": True},
        ),
        "represent": (
            uf.represent,
            {"run": saved, "attacks": None, "limit": 2, "device": "cpu", "out": None},
        ),
        "train": (uf.train, {"out": "new", **training, "settings": {}, "seed": 0, "epochs": 1.0}),
        "benchmark": (uf.benchmark, {"plan": plan, "out": "trial", "scale": 1.0, "dry_run": True}),
        "as_victim": (uf.as_victim, {"obj": lambda texts: [[0.1, 0.9]] * len(texts)}),
    }
    return {f"uf.{name}": _call(folder / "work", *call) for name, call in calls.items()}


def _call(folder: Path, function: Callable[..., Any], arguments: dict[str, Any]) -> Case:
    def case(chooser: Random) -> None:
        with at_work(folder):
            function(**_some(arguments, chooser))

    return case


@contextlib.contextmanager
def at_work(folder: Path) -> Iterator[None]:
    """In a folder of its own, with a quick recipe, and with trainings that end before the first step."""
    from unittest import mock

    from unfooled.errors import UserError

    before = Path.cwd()
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    stop = mock.patch("unfooled.api.train.fit", side_effect=UserError("no training in fuzz cases"))
    library = mock.patch("unfooled.api.report.chart_library", return_value=None)
    recipe = mock.patch.dict(RECIPES, {"swap": Swap})
    offline = mock.patch("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    try:
        with stop, library, recipe, offline:
            yield
    finally:
        os.chdir(before)
    check_whole_files(folder)


def check_whole_files(folder: Path) -> None:
    """No file that is written beside its place is left, and every JSON document can be read."""
    from unfooled.files import read_json

    left = [path for path in folder.rglob(".*") if path.is_file() and "lock" not in path.name]
    assert not left, f"left behind: {left}"
    for path in folder.rglob("*.json"):
        read_json(path)
