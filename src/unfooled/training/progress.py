"""A progress bar of training: steps, time left, the latest loss and dev score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from transformers import TrainerCallback, TrainerState

from unfooled.live_bar import NotebookBars, in_notebook, rich_bars

if TYPE_CHECKING:
    from rich.progress import TaskID

Figures = Mapping[str, float]


class ProgressBar(TrainerCallback):
    """A progress bar with the latest loss and dev score, on stderr or in a notebook."""

    def __init__(self, *, shown: bool = True) -> None:
        self._progress = NotebookBars() if shown and in_notebook() else rich_bars(shown=shown)
        self._note: dict[str, str] = {}
        self._work: tuple[str, TaskID] | None = None

    def on_train_begin(self, args: object, state: TrainerState, control: object, **_: object) -> None:
        self._progress.start()
        self._task = self._progress.add_task(
            "training", total=state.max_steps, completed=state.global_step, note=""
        )

    def on_step_end(self, args: object, state: TrainerState, control: object, **_: object) -> None:
        self._progress.update(self._task, completed=state.global_step, total=state.max_steps)

    def on_log(
        self, args: object, state: TrainerState, control: object, logs: Figures | None = None, **_: object
    ) -> None:
        for name, value in (logs or {}).items():
            shown = name.replace("eval_", "dev ") if name.startswith("eval_") else name
            if name == "loss" or name.startswith("eval_"):
                self._note[shown] = f"{shown} {float(value):.3f}"
        self._progress.update(self._task, note="  ".join(self._note.values()))

    def on_evaluate(
        self, args: object, state: TrainerState, control: object, metrics: Figures | None = None, **_: object
    ) -> None:
        bars = self._progress
        if isinstance(bars, NotebookBars) or not metrics or bars.disable or bars.console.is_terminal:
            return  # the bar itself says it
        told = ", ".join(
            f"{name.replace('eval_', 'dev ')} {value:.4f}"
            for name, value in metrics.items()
            if name != "epoch"
        )
        bars.console.print(f"epoch {state.epoch or 0:.2f}: {told}")

    def warn(self, message: str | None) -> None:
        """Say what looks wrong, above the bar, whether the bar is drawn or not."""
        bars = self._progress
        if not message or bars.disable:
            return
        if isinstance(bars, NotebookBars):
            bars.say(f"Warning: {message}")
        else:
            bars.console.print("Warning:", message, style="yellow", markup=False, soft_wrap=True)

    def work(self, what: str, done: int, total: int) -> None:
        """Show long work between steps, on a line of its own that goes when it is done."""
        if self._work is None or self._work[0] != what:
            self._progress.start()
            self._work = what, self._progress.add_task(what, total=total, note="")
        self._progress.update(self._work[1], completed=done, total=total)
        if done >= total:
            self._progress.remove_task(self._work[1])
            self._work = None

    def on_train_end(self, args: object, state: TrainerState, control: object, **_: object) -> None:
        self._progress.stop()

    def close(self) -> None:
        self._progress.stop()
