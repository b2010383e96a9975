"""When checkpoints are written within an epoch: after so many steps or minutes."""

from __future__ import annotations

import time

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from unfooled.storage.config import Every


class CheckpointTimes(TrainerCallback):
    """Asks for a checkpoint when one is due; the end of an epoch has its own."""

    def __init__(self, every: Every, *, processes: int = 1) -> None:
        self._every, self._processes = every, processes
        self._step, self._time = 0, time.monotonic()

    def on_train_begin(self, args: object, state: TrainerState, control: object, **_: object) -> None:
        self._restart(state)

    def on_save(self, args: object, state: TrainerState, control: object, **_: object) -> None:
        self._restart(state)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> TrainerControl:
        at_the_end = not (state.epoch or 0) % 1 or state.global_step >= state.max_steps
        if not at_the_end and self._due(args, state):
            control.should_save = True
        return control

    def _restart(self, state: TrainerState) -> None:
        self._step, self._time = state.global_step, time.monotonic()

    def _due(self, args: TrainingArguments, state: TrainerState) -> bool:
        if self._every.steps:
            return state.global_step - self._step >= self._every.steps
        if not self._every.seconds:
            return False
        due = time.monotonic() - self._time >= self._every.seconds
        if self._processes == 1:
            return due
        told = torch.tensor(int(due), device=args.device)  # clocks differ: all processes follow the first
        torch.distributed.broadcast(told, src=0)
        return bool(told)
