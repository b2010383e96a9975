"""The bar of long work: in a terminal, in a notebook, and where there is neither."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from unfooled.live_bar import NotebookBars, following, in_notebook


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A kernel that keeps what is displayed: every drawing of its one output."""
    drawn: list[str] = []

    class Handle:
        def update(self, shown: str) -> None:
            drawn.append(shown)

    def display(shown: str, display_id: bool) -> Handle:
        assert not drawn, "one output for all drawings"
        drawn.append(shown)
        return Handle()

    shell = types.SimpleNamespace(kernel=object())
    display_module = types.SimpleNamespace(HTML=str, display=display)
    package: Any = types.SimpleNamespace(get_ipython=lambda: shell, display=display_module)
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", display_module)  # type: ignore[arg-type]
    return drawn


def told(done: int, total: int) -> tuple[int, int, str]:
    return done, total, f"{done} <b>kept</b>"


def test_notebook_shows_one_bar_that_ends_as_the_work_does(notebook: list[str]) -> None:
    assert in_notebook()
    with following(None, "attack <x>", told) as follow:
        for done in range(4):
            follow(done, 3)
    assert "<progress value='3' max='3'>" in notebook[-1]
    assert "attack &lt;x&gt;: 3 of 3, 0:00:00, 3 &lt;b&gt;kept" in notebook[-1]
    assert len(notebook) <= 3, "it is not drawn at every step"


def test_notebook_shows_the_last_state_of_work_that_broke(notebook: list[str]) -> None:
    def broken() -> None:
        with following(None, "certify", told) as follow:
            follow(1, 3)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()
    assert "1 of 3" in notebook[-1]


def test_no_bar_where_nobody_looks_or_wants_one(
    notebook: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with following(False, "attack", told) as follow:
        follow(1, 3)
    assert notebook == []
    monkeypatch.delitem(sys.modules, "IPython")
    with following(None, "attack", told) as follow:  # stderr of a test is no terminal
        follow(1, 3)
    assert capsys.readouterr().err == ""
    with following(True, "attack", told) as follow:
        follow(3, 3)
    assert "attack" in capsys.readouterr().err


def test_a_function_is_called_with_what_the_work_tells() -> None:
    heard: list[tuple[int, int]] = []
    with following(lambda *now: heard.append(now), "attack", told) as follow:
        follow(2, 3)
    assert heard == [(2, 3)]


def test_training_draws_its_bar_and_warnings_in_a_notebook(notebook: list[str]) -> None:
    from transformers import TrainerState

    from unfooled.training.progress import ProgressBar

    bar, state = ProgressBar(), TrainerState(max_steps=10)
    bar.on_train_begin(None, state, None)
    bar.warn("few steps")
    state.global_step = 10
    bar.on_step_end(None, state, None)
    bar.on_log(None, state, None, {"loss": 0.5, "eval_accuracy": 0.75})
    bar.on_train_end(None, state, None)
    assert "10 of 10" in notebook[-1] and "loss 0.500  dev accuracy 0.750" in notebook[-1]
    assert "Warning: few steps" in notebook[-1]


def test_work_between_steps_has_a_line_that_goes(notebook: list[str]) -> None:
    bars = NotebookBars()
    training = bars.add_task("training", total=2)
    other = bars.add_task("attack", total=1)
    assert "attack" in notebook[-1]
    bars.remove_task(other)
    bars.update(training, completed=2)
    bars.stop()
    assert "attack" not in notebook[-1] and "2 of 2" in notebook[-1]
