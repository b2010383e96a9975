"""Tiny classifiers shared by all tests; read-only: a test that trains one builds its own.

The process that starts the test processes reads this file too, and they wait for it: nothing here imports
torch before it is needed.
"""

from __future__ import annotations

import gc
import os

# Before torch is loaded, and for the commands that tests start: tiny tensors gain nothing from more
# threads, and lose much where test processes share the cores.
os.environ["OMP_NUM_THREADS"] = "1"

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from run_folders import MakeRun, write_run
from tiny_attacks import Swap
from unfooled.attacks import RECIPES

if TYPE_CHECKING:
    from unfooled.models import TextModel

# A busy machine is not a failure.
hypothesis.settings.register_profile("unfooled", deadline=None)
hypothesis.settings.load_profile("unfooled")


FAST_SECONDS = 2.0
"""What a test of `make test-fast` may take."""


LONGEST = (
    "test_readme.py",
    "test_attack_workers.py",
    "test_train.py",
    "test_ray.py",
    "test_textattack_bridge.py",
    "test_commands.py",
    "test_registry.py",
    "test_toy_training.py",
    "test_notebook.py",
    "test_methods_killed.py",
    "test_certify_workers.py",
    "test_repeat_workers.py",
    "test_packaging.py",
)
"""Files to begin with, so that no worker is left alone with one of them at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    import torch

    torch.set_num_threads(1)
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(LONGEST)))


def pytest_collection_finish() -> None:
    """Every training searches memory for garbage: a third of a second, if that means all that is imported."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the tests that are too long for the fast set: setup and call together, on a free machine."""
    if "not full" not in config.option.markexpr:
        return
    seconds: dict[str, float] = {}
    for report in (one for reports in terminalreporter.stats.values() for one in reports):
        if isinstance(report, pytest.TestReport):
            seconds[report.nodeid] = seconds.get(report.nodeid, 0.0) + report.duration
    long = sorted((spent, name) for name, spent in seconds.items() if spent > FAST_SECONDS)
    for spent, name in reversed(long):
        terminalreporter.write_line(f"{spent:.1f} s is long for the fast set, mark it `full`: {name}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "any_classifier" in metafunc.fixturenames:
        from tiny_models import FAMILIES

        metafunc.parametrize("any_classifier", FAMILIES, indirect=True, scope="session")


@pytest.fixture(scope="session")
def any_classifier(request: pytest.FixtureRequest) -> TextModel:
    """A tiny classifier of each encoder family in turn."""
    from tiny_models import tiny_classifier

    return tiny_classifier(request.param)


@pytest.fixture(scope="session")
def bert() -> TextModel:
    """A tiny BERT with three classes."""
    from tiny_models import tiny_classifier

    return tiny_classifier("bert")


@pytest.fixture(scope="session")
def t5() -> TextModel:
    """A tiny T5 with three classes: encoder and decoder read the same text."""
    from tiny_models import tiny_classifier

    return tiny_classifier("t5")


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """Writes a finished run by hand, in a folder of its own."""
    return lambda name="plain", **what: write_run(tmp_path / name, **what)


@pytest.fixture
def rsmi_marker() -> dict[str, Any]:
    return {
        "defence": {"name": "rsmi", "settings": {"sigma": 0.2, "masked_tokens": 1}},
        "predictor": {"name": "two-step", "sigma": 0.2, "first_votes": 5},
    }


@pytest.fixture(autouse=True)
def _no_chart_library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that do not need the chart library do not fetch it."""
    if request.node.get_closest_marker("network") is None:
        monkeypatch.setattr("unfooled.api.report.chart_library", lambda: None)


@pytest.fixture(scope="module")
def swap_recipe() -> Iterator[None]:
    """A recipe that needs no lexicon, and a page that needs no chart library."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(RECIPES, "swap", Swap)
        patch.setattr("unfooled.api.report.chart_library", lambda: None, raising=False)
        yield
