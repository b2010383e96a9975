"""Ray actors leave the rows that this process leaves, also when an actor dies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attacked import attacked, write_noisy
from tiny_jobs import ITEMS, Squares, rows, work
from unfooled.errors import UserError
from unfooled.work.executor import Inline, make_executor
from unfooled.work.ray_executor import RayActors, connected

pytestmark = pytest.mark.ray
pytest.importorskip("ray", reason="Ray is not installed: pip install 'unfooled[ray]'")


@pytest.fixture(scope="module")
def local() -> Iterator[RayActors]:
    """Starting Ray takes ten seconds, so all tests share it."""
    with connected("local", 3):
        executor = make_executor(3, "local")
        assert isinstance(executor, RayActors)
        yield executor


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, ...]]:
    folder = tmp_path_factory.mktemp("inline")
    work(folder / "journal.sqlite", Inline(), Squares(folder))
    return rows(folder / "journal.sqlite")


def test_actors_leave_the_rows_of_this_process_and_open_once_each(
    tmp_path: Path, local: RayActors, expected: list[tuple[Any, ...]]
) -> None:
    spec = Squares(tmp_path, together=3)
    work(tmp_path / "journal.sqlite", local, spec)
    assert rows(tmp_path / "journal.sqlite") == expected
    assert len(spec.noted("opened.txt")) == len(set(spec.noted("opened.txt"))) == 3
    assert len(spec.noted("done.txt")) == ITEMS


def test_a_dead_actor_is_replaced_and_nothing_is_lost_or_kept_twice(
    tmp_path: Path, local: RayActors, expected: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]
) -> None:
    made: list[Any] = []
    spec = Squares(tmp_path, deadly=117, deaths=1)
    work(tmp_path / "journal.sqlite", local, spec, take=made.append)
    assert spec.noted("deaths.txt") == ["117"]
    assert rows(tmp_path / "journal.sqlite") == expected and len(made) == ITEMS
    assert "A worker died (Ray" in capfd.readouterr().err


def test_an_input_that_kills_every_actor_is_named(tmp_path: Path, local: RayActors) -> None:
    with pytest.raises(UserError, match=r"number 105"):
        work(tmp_path / "journal.sqlite", local, Squares(tmp_path, deadly=105))
    assert len(rows(tmp_path / "journal.sqlite")) == ITEMS - 1


def test_errors_of_an_actor_are_raised_here(tmp_path: Path, local: RayActors) -> None:
    with pytest.raises(UserError, match=r"^Row 7 has no text\. Give it one\.$"):
        work(tmp_path / "journal.sqlite", local, Squares(tmp_path, deadly=120, broken="user"))


def test_an_attack_leaves_the_rows_of_this_process(tmp_path: Path, local: RayActors) -> None:
    run = write_noisy(tmp_path)
    here = attacked(run, run, tmp_path / "here")
    assert attacked(run, run, tmp_path / "ray", workers=2, ray="local") == here


def test_a_program_that_uses_ray_keeps_it(local: RayActors) -> None:
    import ray

    with connected("local", 2):
        pass
    assert ray.is_initialized()
