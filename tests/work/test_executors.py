"""Executors: the same records from this process, from worker processes and from Ray, whoever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from child_processes import start, wait_until
from tiny_jobs import ITEMS, Squares, rows, work
from unfooled.errors import UsageError, UserError
from unfooled.work.executor import Inline, make_executor
from unfooled.work.handout import WAIT, Handout
from unfooled.work.processes import Processes


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, ...]]:
    folder = tmp_path_factory.mktemp("inline")
    work(folder / "journal.sqlite", Inline(), Squares(folder))
    found = rows(folder / "journal.sqlite")
    assert len(found) == ITEMS
    return found


@pytest.mark.parametrize("workers", [2, 3])
def test_processes_leave_the_rows_of_this_process_and_open_once_each(
    tmp_path: Path, workers: int, expected: list[tuple[Any, ...]]
) -> None:
    spec = Squares(tmp_path, together=workers)
    work(tmp_path / "journal.sqlite", make_executor(workers), spec)
    assert rows(tmp_path / "journal.sqlite") == expected
    opened = spec.noted("opened.txt")
    assert len(opened) == len(set(opened)) == workers and str(os.getpid()) not in opened
    assert len(spec.noted("done.txt")) == ITEMS


def test_what_the_journal_has_is_not_done_again_and_more_inputs_only_add(tmp_path: Path) -> None:
    spec = Squares(tmp_path)
    journal = tmp_path / "journal.sqlite"
    work(journal, Processes(2), spec, count=10)
    first = rows(journal)
    work(journal, Processes(2), spec)
    assert len(rows(journal)) == ITEMS and first == rows(journal)[:10]
    assert sorted(spec.noted("done.txt"), key=int) == [str(number + 100) for number in range(ITEMS)]
    opened = len(spec.noted("opened.txt"))
    work(journal, Processes(2), spec)
    assert len(spec.noted("opened.txt")) == opened, "nothing is opened when nothing is left"


def test_records_to_be_tried_again_are_replaced_and_settled_ones_need_no_work(tmp_path: Path) -> None:
    spec, seen = Squares(tmp_path), []
    journal = tmp_path / "journal.sqlite"
    settled = [(("refused", 7), {"number": 7, "square": None})]
    work(journal, Inline(), spec, settled=settled)

    def again(record: Any) -> bool:
        return record["square"] is None or record["number"] % 10 == 3

    found = work(journal, Inline(), spec, take=seen.append, settled=settled, again=again)
    assert [one["number"] for one in seen[-4:]] == [103, 113, 123, 133]
    assert [one["number"] for one in found] == [*range(100, 100 + ITEMS), 7], "in the order of the inputs"
    assert len(seen) == len(rows(journal)) == ITEMS + 1
    assert spec.noted("done.txt").count("103") == 2 and "7" not in spec.noted("done.txt")


def test_a_killed_worker_is_replaced_and_nothing_is_lost_or_kept_twice(
    tmp_path: Path, expected: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]
) -> None:
    spec = Squares(tmp_path, deadly=117, deaths=2)
    made: list[Any] = []
    work(tmp_path / "journal.sqlite", Processes(2), spec, take=made.append)
    assert rows(tmp_path / "journal.sqlite") == expected
    assert len(made) == ITEMS
    assert len(spec.noted("opened.txt")) >= 3
    message = capfd.readouterr().err
    assert "killed (SIGKILL)" in message and "Another one does its" in message and "Traceback" not in message


def test_an_input_that_kills_every_worker_is_named_after_all_others_are_done(tmp_path: Path) -> None:
    spec = Squares(tmp_path, deadly=105)
    with pytest.raises(UserError, match=r"number 105.*SIGKILL"):
        work(tmp_path / "journal.sqlite", Processes(2), spec)
    assert len(spec.noted("deaths.txt")) == 3
    assert len(rows(tmp_path / "journal.sqlite")) == ITEMS - 1
    assert len(spec.noted("done.txt")) == ITEMS - 1


def test_workers_that_cannot_start_end_the_job(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"could not start.*exit code 3"):
        work(tmp_path / "journal.sqlite", Processes(2), Squares(tmp_path, broken="open"))


def test_errors_of_a_worker_are_raised_here(tmp_path: Path) -> None:
    spec = Squares(tmp_path, deadly=120, broken="user")
    with pytest.raises(UserError, match=r"^Row 7 has no text\. Give it one\.$"):
        work(tmp_path / "journal.sqlite", Processes(2), spec)
    assert rows(tmp_path / "journal.sqlite"), "what was finished before is kept"
    spec = Squares(tmp_path, deadly=120, broken="bug")
    with pytest.raises(ZeroDivisionError) as caught:
        work(tmp_path / "journal.sqlite", Processes(2), spec)
    assert "_misbehave" in str(caught.value.__cause__), "where it happened is told"


def test_what_cannot_travel_is_refused(tmp_path: Path) -> None:
    spec = Squares(tmp_path, broken=lambda: "x")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"module that can be imported.*leave out --workers"):
        work(tmp_path / "journal.sqlite", Processes(2), spec)
    with pytest.raises(UsageError, match="at least 1"):
        make_executor(0)


@pytest.mark.full
def test_cores_are_divided_unless_the_environment_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unfooled.work.processes.cores", lambda: 7)
    monkeypatch.delenv("OMP_NUM_THREADS")
    found = []
    for workers, given in ((3, None), (8, None), (3, "5")):
        if given:
            monkeypatch.setenv("OMP_NUM_THREADS", given)
        made: list[Any] = []
        work(tmp_path / f"{workers}-{given}", Processes(workers), Threads(), take=made.append)
        found.append({one["threads"] for one in made})
    assert found == [{"2"}, {"1"}, {"5"}]


class Threads:
    """Tells how many threads torch would use."""

    def open(self, at_once: int) -> Threads:
        return self

    def run(self, pieces: Any) -> Any:
        for place, _ in pieces:
            yield place, {"threads": os.environ["OMP_NUM_THREADS"]}


def test_progress_is_told_with_what_is_there_when_work_begins_and_after_each_record(tmp_path: Path) -> None:
    journal, seen, told = tmp_path / "journal.sqlite", [], []
    work(journal, Inline(), Squares(tmp_path), count=3)
    work(journal, Inline(), Squares(tmp_path), count=5, take=seen.append, tell=lambda: told.append(len(seen)))
    assert told == [3, 3, 4, 5]


def started(folder: Path, workers: int, seconds: float) -> subprocess.Popen[bytes]:
    """The program in tiny_jobs, which sees the folders that this process sees."""
    code = (
        "import runpy, sys; sys.path[:0] = sys.argv.pop(1).split('|');"
        "runpy.run_module('tiny_jobs', run_name='__main__')"
    )
    path = "|".join([str(Path(__file__).parents[1]), *sys.path])
    return start([sys.executable, "-c", code, path, str(folder), str(workers), str(seconds)])


def wait_for_rows(process: subprocess.Popen[bytes], journal: Path, count: int) -> None:
    wait_until(process, lambda: len(rows(journal)) >= count, seconds=60)


def gone(pids: list[str]) -> bool:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        alive = [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        if not alive:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")
def test_when_the_parent_is_killed_the_workers_end_and_running_again_goes_on(
    tmp_path: Path, expected: list[tuple[Any, ...]]
) -> None:
    journal, spec = tmp_path / "journal.sqlite", Squares(tmp_path)
    process = started(tmp_path, 2, 0.05)
    wait_for_rows(process, journal, 6)
    process.kill()
    process.wait()
    assert gone(spec.noted("opened.txt")), "workers outlive their parent"
    before = rows(journal)
    assert 6 <= len(before) < ITEMS and set(before) < set(expected)
    (tmp_path / "done.txt").unlink()
    assert started(tmp_path, 3, 0.0).wait(60) == 0
    assert rows(journal) == expected
    kept = {str(number) for _, number, _ in before}
    assert not kept & set(spec.noted("done.txt")), "a finished input was done again"


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")
def test_ctrl_c_ends_workers_without_a_word_and_keeps_what_is_finished(
    tmp_path: Path, expected: list[tuple[Any, ...]]
) -> None:
    journal, spec = tmp_path / "journal.sqlite", Squares(tmp_path)
    process = started(tmp_path, 2, 0.05)
    wait_for_rows(process, journal, 4)
    for pid in spec.noted("opened.txt"):  # as a terminal does, to all of them
        os.kill(int(pid), signal.SIGINT)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=30)
    assert (process.returncode, message) == (130, b"")
    assert gone(spec.noted("opened.txt"))
    assert 4 <= len(rows(journal)) < ITEMS
    assert started(tmp_path, 2, 0.0).wait(60) == 0
    assert rows(journal) == expected


def test_an_input_that_killed_twice_waits_until_nobody_else_is_at_work() -> None:
    handout = Handout(iter([(0, "deadly"), (1, "slow")]), count=2, workers=2, name=str)
    assert [handout.answer(one, amid=False) for one in ("first", "second")] == [
        [(0, "deadly")],
        [(1, "slow")],
    ]
    handout.died("first", how="was killed", was_ready=True)
    assert handout.answer("third", amid=False) == [(0, "deadly")]
    handout.died("third", how="was killed", was_ready=True)
    assert handout.answer("fourth", amid=False) == WAIT  # the second has its input still
    handout.done("second", 1)
    assert handout.answer("fourth", amid=False) == [(0, "deadly")]
