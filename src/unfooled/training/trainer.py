"""The Hugging Face ``Trainer`` driven by a defence's session.

The optimiser, the checkpoints and distributed training see one module, :class:`Trained`: the model and the
session's own modules. Every pass that is differentiated is called through it, so that gradients are averaged
over processes whatever the method computes. Epochs may differ in length (``Session.on_epoch``): the learning
rate and ``Step.done`` follow the share of the epoch that is done, not the number of steps. Checkpoints are
written at the end of epochs. The epoch that is kept is the one with the best dev score *as deployed*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from accelerate.utils import broadcast_object_list
from torch import Tensor, nn
from torch.utils.data import Dataset, Sampler
from transformers import Trainer, TrainingArguments, set_seed
from transformers.trainer_pt_utils import get_length_grouped_indices

from unfooled.defences import Session, Step, TrainingData
from unfooled.models import EncodedInput, mix
from unfooled.training.watch import check_finite

WEIGHTS = "model.safetensors"
SESSION = "session.pt"


class Trained(nn.Module):
    """All that is trained: the model and the modules of the session."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.model = session.model.module
        self.extra = nn.ModuleDict(dict(session.modules))
        if hasattr(session.model.module, "config"):
            # The Trainer writes the tokenizer's special tokens into it.
            self.config = session.model.module.config

    def forward(self, compute: Callable[[], Tensor]) -> Tensor:
        """A pass of the session: it calls the modules itself, inside whatever wraps this one."""
        return compute()


class EpochData(Dataset):
    """The training data of the present epoch, by number."""

    def __init__(self, data: TrainingData) -> None:
        self.now = data

    def __len__(self) -> int:
        return len(self.now)

    def __getitem__(self, index: int) -> tuple[EncodedInput, int]:
        return self.now.encoded[index], self.now.labels[index]


class EpochOrder(Sampler[int]):
    """A random order of the present epoch's data in which neighbours have similar lengths."""

    def __init__(self, data: EpochData, batch_size: int, generator: torch.Generator | None) -> None:
        self.data = data
        self.batch_size = batch_size
        self.generator = generator

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[int]:
        lengths = [len(item) for item in self.data.now.encoded]
        return iter(get_length_grouped_indices(lengths, self.batch_size, generator=self.generator))


class SessionTrainer(Trainer):
    """Trains the model of a session with its steps."""

    def __init__(
        self, session: Session, *, metric: str, dev_score: Callable[[], float], **kwargs: Any
    ) -> None:
        self._session = session
        self._metric, self._dev_score = metric, dev_score
        self._original = session.training.data
        self._data = EpochData(self._original)
        self._trained = Trained(session)
        super().__init__(
            model=self._trained,
            train_dataset=self._data,
            data_collator=lambda items: {
                "batch": session.model.batch([item for item, _ in items], [label for _, label in items])
            },
            **kwargs,
        )
        # Sessions call the modules of this process: copies on other devices of it would not be trained.
        self.args._n_gpu = min(self.args.n_gpu, 1)
        self._order = torch.Generator() if self.args.world_size > 1 else None
        # The present epoch: its number, the steps before it, and how many it has.
        self._per_epoch = planned_steps(len(self._original), self.args)
        self._total = math.ceil(self.args.num_train_epochs * self._per_epoch)
        self._epoch, self._before, self._steps = 0, 0, self._per_epoch

    def training_step(
        self, model: nn.Module, inputs: dict[str, Any], num_items_in_batch: object = None
    ) -> Tensor:
        model.train()
        number = self.state.global_step
        step = Step(
            done=self._planned(number) / max(1, self._total),
            number=number,
            accumulate=partial(self._accumulate, model),
        )
        loss = self._session.backward(inputs["batch"], step)
        self._check(float(loss), "the loss")
        return loss

    def _check(self, value: float, what: str) -> None:
        step, folder = self.state.global_step, Path(str(self.args.output_dir))
        check_finite(value, what, step=step, rate=self.args.learning_rate, checkpoints=folder)

    @torch.no_grad()
    def _check_weights(self) -> None:
        """The loss of a step does not tell what the step made of the weights."""
        sums = [weight.sum(dtype=torch.float64) for weight in self._trained.parameters()]
        self._check(float(torch.stack(sums).sum()), "the sum of the weights")

    def _accumulate(self, model: nn.Module, compute: Callable[[], Tensor]) -> Tensor:
        loss = model(compute)
        self.accelerator.backward(loss)
        return loss.detach()

    def _planned(self, number: int) -> float:
        """The step of the plan that step ``number`` stands for: epochs of other lengths are stretched."""
        return self._epoch * self._per_epoch + (number - self._before) * self._per_epoch / self._steps

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        scheduler: Any = super().create_scheduler(num_training_steps, optimizer)
        scheduler.lr_lambdas = [
            lambda number, rate=rate: rate(self._planned(number)) for rate in scheduler.lr_lambdas
        ]
        return scheduler

    def _get_train_sampler(self, train_dataset: object = None) -> EpochOrder:
        return EpochOrder(self._data, self.args.train_batch_size, self._order)

    def _run_epoch(self, **now: Any) -> None:  # type: ignore[override]  # the Trainer calls it by keyword
        self._epoch, self._before = now["epoch"], self.state.global_step
        self._change_data(now["epoch"])
        self._steps = len(now["train_dataloader"])
        planned, total = self._per_epoch, self._total
        last = -(
            -(total - self._epoch * planned) * self._steps // planned
        )  # training may end within an epoch
        later = max(0, total - (self._epoch + 1) * planned)
        self.state.max_steps = self._before + min(last, self._steps) + later
        super()._run_epoch(**now | {"steps_in_epoch": self._steps, "num_update_steps_per_epoch": self._steps})

    def _change_data(self, epoch: int) -> None:
        """Ask the session for the data of this epoch; all processes take those of the first."""
        seed = mix(self._session.training.seed, epoch)
        if self._order is not None:
            # Processes draw different amounts of noise: only a generator of its own gives all the same order.
            self._order.manual_seed(seed)
        self._trained.eval()
        with _seeded(seed % 2**32):
            made = self._session.on_epoch(epoch, self._original)
        if self.args.world_size > 1:
            made = broadcast_object_list([made])[0]
        self._data.now = self._original if made is None else made

    def _init_training_state(self, *args: Any, **kwargs: Any) -> tuple[int, int]:
        """The epoch to go on with. The Trainer divides steps by a fixed length of epochs."""
        epochs, steps = super()._init_training_state(*args, **kwargs)
        if not self.state.global_step:
            return epochs, steps
        saved: Any = self.state.stateful_callbacks
        # A checkpoint of the last epoch, or of one after which training was stopped: nothing is left to do.
        done = saved["TrainerControl"]["args"]["should_training_stop"]
        return (self.state.num_train_epochs if done else int(self.state.epoch or 0)), 0

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        self._check_weights()
        folder = Path(str(output_dir or self.args.output_dir))
        folder.mkdir(parents=True, exist_ok=True)
        safetensors.torch.save_model(self._trained, str(folder / WEIGHTS), metadata={"format": "pt"})
        torch.save(self._session.state_dict(), folder / SESSION)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: object = None) -> None:
        folder = Path(resume_from_checkpoint)
        safetensors.torch.load_model(self._trained, folder / WEIGHTS)
        self._session.load_state_dict(torch.load(folder / SESSION, map_location="cpu", weights_only=True))

    def _load_best_model(self) -> None:
        safetensors.torch.load_model(self._trained, Path(str(self.state.best_model_checkpoint)) / WEIGHTS)

    def evaluate(self, *args: Any, metric_key_prefix: str = "eval", **kwargs: Any) -> dict[str, float]:
        training = self._trained.training
        self._check_weights()
        self._trained.eval()
        with torch.no_grad():
            metrics = {f"{metric_key_prefix}_{self._metric}": self._dev_score()}
        self._trained.train(training)
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics


def planned_steps(examples: int, arguments: TrainingArguments) -> int:
    """Steps of an epoch of so many examples, on all processes together."""
    return -(-examples // (arguments.train_batch_size * arguments.world_size))


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seeded global generators inside; afterwards they go on as if nothing had been drawn."""
    import random

    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng():
        set_seed(seed)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)
