"""The Hugging Face ``Trainer`` with a defence's loss and the deployed predictor as dev metric.

Batches hold texts of similar length; the model that is kept is the epoch with the best dev accuracy
*as it will be deployed*: measured through the defence's own predictor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback

from unfooled.defences import Defence, Step
from unfooled.models import Batch, Encoded, TextModel, collate


class EncodedDataset(Dataset):
    """Tokenised inputs and labels, as the Trainer wants them."""

    def __init__(self, encoded: Sequence[Encoded], labels: Sequence[int]) -> None:
        self.encoded = encoded
        self.labels = labels

    def __len__(self) -> int:
        return len(self.encoded)

    def __getitem__(self, index: int) -> dict[str, Any]:
        # input_ids is there for the Trainer's length-grouping sampler.
        item = self.encoded[index]
        return {"input_ids": item.ids, "encoded": item, "label": self.labels[index]}


class DefenceTrainer(Trainer):
    """Trains ``classifier.module`` with ``defence.loss``."""

    def __init__(
        self,
        model: TextModel,
        defence: Defence,
        *,
        dev_accuracy: Callable[[], float],
        **kwargs: Any,
    ) -> None:
        pad_id = model.tokenizer.pad_token_id
        super().__init__(
            model=model.module,
            processing_class=model.tokenizer,
            data_collator=lambda items: vars(
                collate(
                    [item["encoded"] for item in items],
                    pad_id=pad_id,
                    labels=[item["label"] for item in items],
                )
            ),
            **kwargs,
        )
        # Our losses are batch means: the Trainer divides them by the accumulation steps.
        self.model_accepts_loss_kwargs = False
        self._model = model
        self._defence = defence
        self._dev_accuracy = dev_accuracy

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        done = self.state.global_step / max(1, self.state.max_steps)
        call = None if model is self._model.module else model
        return self._defence.loss(self._model, Batch(**inputs), Step(done=done, call=call))

    def evaluate(self, *args: Any, metric_key_prefix: str = "eval", **kwargs: Any) -> dict[str, float]:
        training = self._model.module.training
        self._model.module.eval()
        with self.compute_loss_context_manager(), torch.no_grad():
            metrics = {f"{metric_key_prefix}_accuracy": self._dev_accuracy()}
        self._model.module.train(training)
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics


class ProgressBar(TrainerCallback):
    """A rich progress bar on stderr with the latest loss and dev accuracy."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
        )
        self._note: dict[str, str] = {}

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._progress.start()
        self._task = self._progress.add_task(
            "training", total=state.max_steps, completed=state.global_step, note=""
        )

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._progress.update(self._task, completed=state.global_step)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        for name, shown in (("loss", "loss"), ("eval_accuracy", "dev accuracy")):
            if logs and name in logs:
                self._note[shown] = f"{shown} {float(logs[name]):.3f}"
        self._progress.update(self._task, note="  ".join(self._note.values()))

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **_: Any) -> None:
        if metrics and not self._progress.console.is_terminal:
            self._progress.console.print(
                f"epoch {state.epoch or 0:.2f}: dev accuracy {metrics['eval_accuracy']:.4f}"
            )

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._progress.stop()

    def close(self) -> None:
        self._progress.stop()
