"""Registries: our own entries, and those that other installed packages add through entry points."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tiny_attacks import write_examples
from tiny_runs import write_inputs
from unfooled.errors import UsageError, did_you_mean
from unfooled.registry import PluginWarning, Registry

PLUGIN = Path(__file__).parent / "plugin"


class Entry:
    def __init__(self, name: str, summary: str = "") -> None:
        self.name, self.summary = name, summary


def write_package(folder: Path, package: str, points: dict[str, str], code: str) -> None:
    """A package with entry points of the group ``unfooled.gadgets``, as an installer leaves it."""
    module = package.replace("-", "_")
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {module}:{where}" for name, where in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[unfooled.gadgets]", *lines]) + "\n")


CODE = """
class Thing:
    def __init__(self, name): self.name, self.summary = name, "from outside"
lamp, fan = Thing("lamp"), Thing("fan")
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages that Python finds."""
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for file in tmp_path.glob("*.py"):
        sys.modules.pop(file.stem, None)


def gadgets(**more: object) -> Registry[Entry]:
    return Registry("gadget", (Entry("clock"), Entry("radio")), **more)  # type: ignore[arg-type]


def test_entries_of_other_packages_come_after_our_own(site: Path) -> None:
    write_package(site, "lights-one", {"lamp": "lamp", "fan": "fan"}, CODE)
    registry = gadgets()
    assert list(registry) == ["clock", "radio", "fan", "lamp"]
    assert registry.choose("lamp").summary == "from outside"
    assert len(registry) == 4 and "fan" in registry


def test_other_packages_are_imported_only_when_a_name_is_not_ours(site: Path) -> None:
    write_package(site, "lights-two", {"lamp": "lamp"}, CODE)
    registry = gadgets()
    assert registry.choose("clock").name == "clock" and "radio" in registry
    assert "lights_two" not in sys.modules
    registry.choose("lamp")
    assert "lights_two" in sys.modules


def test_an_unknown_name_is_answered_with_the_nearest_one_also_from_outside(site: Path) -> None:
    write_package(site, "lights-three", {"lamp": "lamp"}, CODE)
    with pytest.raises(
        UsageError, match=r"no gadget 'lampp'. Did you mean 'lamp'\? Choose one of: clock, radio, lamp"
    ):
        gadgets().choose("lampp")


def test_the_beginning_of_names_is_answered_with_all_of_them() -> None:
    assert (
        did_you_mean("bat", ["a2t", "bat-pairwise", "bat-triplet"])
        == " Did you mean 'bat-pairwise' or 'bat-triplet'?"
    )
    assert did_you_mean("s", ["stability", "safer"]) == "", "one letter says little"


def test_a_package_that_cannot_be_imported_costs_a_warning_that_names_it(site: Path) -> None:
    write_package(site, "broken-lights", {"lamp": "lamp"}, "raise ValueError('no power')")
    write_package(site, "good-lights", {"fan": "fan"}, CODE)
    registry = gadgets()
    with pytest.warns(PluginWarning, match=r"'lamp' of package broken-lights .*ValueError: no power"):
        assert list(registry) == ["clock", "radio", "fan"]
    with pytest.raises(UsageError, match="broken-lights cannot be imported"):
        registry.choose("lamp")


def test_our_own_name_wins_with_a_warning_that_names_the_other_package(site: Path) -> None:
    write_package(site, "rival-lights", {"clock": "lamp"}, CODE)
    registry = gadgets()
    with pytest.warns(PluginWarning, match="rival-lights adds a gadget 'clock', which unfooled has itself"):
        assert list(registry) == ["clock", "radio"]
    assert isinstance(registry.choose("clock"), Entry)


def test_a_name_that_two_packages_add_is_refused_naming_both(site: Path) -> None:
    write_package(site, "lights-a", {"lamp": "lamp", "fan": "fan"}, CODE)
    write_package(site, "lights-b", {"lamp": "lamp"}, CODE)
    registry = gadgets()
    with pytest.warns(PluginWarning, match="lights-a and lights-b"):
        assert list(registry) == ["clock", "radio", "fan"]
    with pytest.raises(UsageError, match="'lamp' is added by the packages lights-a and lights-b"):
        registry.choose("lamp")


@pytest.mark.parametrize(
    ("name", "needs", "message"),
    [
        ("torch-light", (), "calls itself 'lamp'"),
        ("lamp", ("paper",), "has no paper"),
    ],
)
def test_an_entry_that_does_not_fit_is_refused_with_the_reason(
    site: Path, name: str, needs: tuple[str, ...], message: str
) -> None:
    write_package(site, f"odd-lights-{len(name)}", {name: "lamp"}, CODE)
    registry = gadgets(needs=needs)
    with pytest.warns(PluginWarning, match=message):
        assert list(registry) == ["clock", "radio"]
    with pytest.raises(UsageError, match=message):
        registry.choose(name)


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


ONE_AFTER_ANOTHER = """
import json, sys
from commands import unfooled
shown = [unfooled(*arguments) for arguments in json.loads(sys.argv[1])]
print(json.dumps([[one.returncode, one.stdout.decode(), one.stderr.decode()] for one in shown]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands with the toy package run."""
    return tmp_path_factory.mktemp("beside")


@pytest.fixture(scope="module")
def shown(folder: Path) -> dict[str, Done]:
    """Commands with the toy package of tests/plugin installed beside unfooled, in one process."""
    inputs = write_inputs(folder)
    options = [part for name, value in inputs.items() for part in (f"--{name.replace('_', '-')}", value)]
    sizes = ["--epochs", 1, "--limit", 64, "--limit-dev", 16, "--limit-test", 16]
    trained = ["--defence", "softened", "--set", "amount=0.2", "--out", "run"]
    write_examples(folder / "examples.csv", 12)
    attack = ["--recipe", "shout", "--set", "word=loud", "--data", "examples.csv", "--no-validity"]
    weather = ["--task", "weather", "--epochs", 1, "--encoder", inputs["encoder"], "--out", "weather"]
    commands: dict[str, Sequence[object]] = {
        "defences": ["train", "--list-defences", "--json"],
        "tasks": ["train", "--list-tasks", "--json"],
        "recipes": ["attack", "--list", "--json"],
        "unknown recipe": ["attack", "x.py:f", "--recipe", "shoot"],
        "unknown setting": ["train", "--task", "spam", "--defence", "softened", "--set", "amout=1"],
        "trained": ["train", *options, *sizes, *trained],
        "attacked": ["attack", "run", *attack, "--json"],
        "trained on weather": ["train", *weather],
    }
    path = os.pathsep.join([str(PLUGIN), str(PLUGIN.parent), os.environ.get("PYTHONPATH", "")])
    given = json.dumps([[str(part) for part in one] for one in commands.values()])
    done = subprocess.run(
        [sys.executable, "-c", ONE_AFTER_ANOTHER, given],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(commands, (Done(*one) for one in json.loads(done.stdout)), strict=True))


@pytest.mark.full
def test_a_defence_of_another_package_trains_predicts_and_is_attacked_by_its_recipe(
    folder: Path, shown: dict[str, Done]
) -> None:
    assert shown["trained"].returncode == 0, shown["trained"].stderr
    assert shown["attacked"].returncode == 0, shown["attacked"].stderr
    marker = json.loads((folder / "run" / "unfooled.json").read_text())
    assert marker["defence"] == {"name": "softened", "settings": {"amount": 0.2}}
    assert marker["predictor"]["name"] == "toy-plain"
    result = json.loads(shown["attacked"].stdout)
    assert result["recipe"]["name"] == "shout" and result["recipe"]["settings"] == {"word": "loud"}
    assert result["summary"]["attacked"] > 0


@pytest.mark.full
def test_a_task_of_another_package_is_trained_on(folder: Path, shown: dict[str, Done]) -> None:
    assert shown["trained on weather"].returncode == 0, shown["trained on weather"].stderr
    marker = json.loads((folder / "weather" / "unfooled.json").read_text())
    assert marker["labels"] == ["dry", "wet"]


@pytest.mark.full
def test_names_of_another_package_appear_in_lists_and_suggestions(shown: dict[str, Done]) -> None:
    for kind, name in (("defences", "softened"), ("tasks", "weather"), ("recipes", "shout")):
        assert shown[kind].returncode == 0, shown[kind].stderr
        assert name in [one["name"] for one in json.loads(shown[kind].stdout)[kind]]
    recipe, setting = shown["unknown recipe"], shown["unknown setting"]
    assert recipe.returncode == 2 and "Did you mean 'shout'?" in recipe.stderr
    assert setting.returncode == 2 and "Did you mean 'amount'?" in setting.stderr


@pytest.mark.full
def test_a_broken_package_is_told_in_one_line_and_does_not_stop_a_command(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    write_package(site, "broken", {"zap": "zap"}, "import nothing_of_this_name")
    points = site / "broken-1.0.dist-info" / "entry_points.txt"
    points.write_text(points.read_text().replace("gadgets", "recipes"))
    done = subprocess.run(
        [sys.executable, "-m", "unfooled", "attack", "--list", "--json"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "pwws" in done.stdout
    (line,) = [line for line in done.stderr.splitlines() if "broken" in line]
    assert line.startswith("Warning:") and "nothing_of_this_name" in line
