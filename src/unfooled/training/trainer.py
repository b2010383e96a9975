"""The Hugging Face ``Trainer`` driven by a defence's session.

The optimiser, the checkpoints and distributed training see one module, :class:`Trained`: the model and the
session's own modules. Every pass that is differentiated is called through it, so that gradients are averaged
over processes whatever the method computes. Epochs may differ in length (``Session.on_epoch``): the learning
rate and ``Step.done`` follow the share of the epoch that is done, not the number of steps. Modules for which
the session names a learning rate (``Session.own_rates``) are trained with it. The epoch that is
kept is the one with the best dev score *as deployed*, among those that end with the method at its full weight
(``Session.whole_from``).

Checkpoints are written at the end of epochs, and within one as often as asked. A training that goes on from
one ends with the same weights, to the byte, as one that was never stopped: the data of the epoch are made
again from the weights that it began with, in the same order, and all random generators are set back.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from accelerate.utils import broadcast_object_list
from torch import Tensor, nn
from transformers import Trainer, TrainingArguments
from transformers.trainer_callback import ExportableState

from unfooled.defences import Session, Step
from unfooled.hub.schedules import Schedule
from unfooled.models import mix
from unfooled.training.checkpoints import checkpoint_path, keep_only, writing
from unfooled.training.epoch_data import EpochData, EpochOrder, loader, seeded
from unfooled.training.watch import check_finite

WEIGHTS = "model.safetensors"
SESSION = "session.pt"
_LOSSES = ("_tr_loss", "_total_loss_scalar", "_globalstep_last_logged", "_noted")
"""Attributes: the loss since it was last logged, the sum before, when that was; what was noted since."""


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


class SessionTrainer(Trainer):
    """Trains the model of a session with its steps."""

    def __init__(
        self,
        session: Session,
        *,
        metric: str,
        dev_score: Callable[[], float],
        schedule: Schedule,
        **kwargs: Any,
    ) -> None:
        self._session = session
        self._schedule = schedule
        self._metric, self._dev_score = metric, dev_score
        self._original = session.training.data
        self._data = EpochData(self._original)
        self._trained = Trained(session)
        super().__init__(
            model=self._trained,
            train_dataset=self._data,
            **kwargs,
        )
        # Sessions call the modules of this process: copies on other devices of it would not be trained.
        self.args._n_gpu = min(self.args.n_gpu, 1)
        generator = torch.Generator() if self.args.world_size > 1 else None
        self._order = EpochOrder(self._data, self.args.train_batch_size, generator)
        # The present epoch: its number, the steps before it, and how many it has.
        self._per_epoch = planned_steps(len(self._original), self.args)
        self._total = math.ceil(self.args.num_train_epochs * self._per_epoch)
        self._epoch, self._before, self._steps = 0, 0, self._per_epoch
        self._noted: dict[str, tuple[Tensor, int]] = {}
        """By name, the sum and the number of what sessions noted since the last log."""
        self._resumed: dict[str, Any] | None = None
        """What the checkpoint that training goes on from says about the epoch and the losses."""
        self._earlier, self._began = 0.0, time.perf_counter()

    @property
    def seconds(self) -> float:
        """Time of this training, with its earlier parts up to the checkpoints that were gone on from."""
        return self._earlier + time.perf_counter() - self._began

    @property
    def kept_epoch(self) -> float | None:
        """The epoch whose weights are kept at the end; None before any was measured."""
        step = self.state.best_global_step
        return next((one["epoch"] for one in self.state.log_history if one["step"] == step), None)

    def training_step(
        self, model: nn.Module, inputs: dict[str, Any], num_items_in_batch: object = None
    ) -> Tensor:
        model.train()
        number = self.state.global_step
        step = Step(
            done=self._planned(number) / max(1, self._total),
            number=number,
            accumulate=partial(self._accumulate, model),
            copies=inputs["drawn"].copies,
            note=self._note,
        )
        loss = self._session.backward(self._data.batch(self._session.model, inputs["drawn"]), step)
        self._check(float(loss), "the loss")
        return loss

    def _note(self, name: str, value: Tensor) -> None:
        before, times = self._noted.get(name, (torch.zeros(()), 0))
        self._noted[name] = (before + value.detach().float(), times + 1)

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        """With the loss, the means of what was noted."""
        if "loss" in logs:
            logs |= {name: float(total) / times for name, (total, times) in self._noted.items()}
            self._noted = {}
        super().log(logs, *args, **kwargs)

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
        warmup = self.args.get_warmup_steps(num_training_steps)

        def rate(number: int, schedule: Schedule) -> float:
            planned = self._planned(number)
            if planned < warmup:
                return planned / warmup
            done = (planned - warmup) / max(1, num_training_steps - warmup)
            return schedule(done, planned / self._per_epoch)

        chosen = [one.schedule or self._schedule for one in self._session.own_rates() for _ in range(2)]
        shared = [self._schedule] * (len(scheduler.lr_lambdas) - len(chosen))
        scheduler.lr_lambdas = [lambda number, own=own: rate(number, own) for own in [*shared, *chosen]]
        return scheduler

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        """The modules with a learning rate of their own come last, two groups each: with decay, without."""
        if self.optimizer is not None:
            return super().create_optimizer(model)
        optimizer = super().create_optimizer(model)
        shared = list(optimizer.param_groups)
        for one in self._session.own_rates():
            own = {id(weight) for weight in one.module.parameters()}
            for group in shared:
                moved = [weight for weight in group["params"] if id(weight) in own]
                group["params"] = [weight for weight in group["params"] if id(weight) not in own]
                settings = {name: value for name, value in group.items() if name != "params"}
                optimizer.add_param_group({**settings, "params": moved, "lr": one.lr})
        return optimizer

    def get_train_dataloader(self) -> Any:
        workers = self.args.dataloader_num_workers if self._session.makes_copies() else 0
        return self.accelerator.prepare(loader(self._data, self._order, workers))

    def _run_epoch(self, **now: Any) -> None:  # type: ignore[override]  # the Trainer calls it by keyword
        self._epoch, self._before = now["epoch"], self.state.global_step
        resumed = self._go_on()
        if resumed is not None and resumed["before"] < resumed["step"]:  # within the epoch
            self._before, self._data.now = resumed["before"], resumed["data"]
            self._order.draw_again_from = resumed["drawn_from"]
        else:
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
        if self._order.generator is not None:
            # Processes draw different amounts of noise: only a generator of its own gives all the same order.
            self._order.generator.manual_seed(seed)
        self._trained.eval()
        with seeded(seed % 2**32):
            original = self._original.at_epoch(epoch)
            made = self._session.on_epoch(epoch, original)
        if self.args.world_size > 1:
            made = broadcast_object_list([made])[0]
        self._data.now = original if made is None else made
        self._data.makers = self._session.copy_makers(epoch, self._data.now)
        self._data.lengths = self._session.lengths(epoch, self._data.now)

    def _init_training_state(self, *args: Any, **kwargs: Any) -> tuple[int, int]:
        """The epoch to go on with and its finished steps. The Trainer divides by a fixed length of epochs."""
        epochs, steps = super()._init_training_state(*args, **kwargs)
        if self._resumed is None:
            return epochs, steps
        if self.state.best_global_step:  # the folder may have been moved since
            self.state.best_model_checkpoint = str(self._checkpoint(self.state.best_global_step))
        saved: Any = self.state.stateful_callbacks
        # A checkpoint of the last epoch, or of one after which training was stopped: nothing is left to do.
        if saved["TrainerControl"]["args"]["should_training_stop"]:
            return self.state.num_train_epochs, 0
        return int(self.state.epoch or 0), self.state.global_step - self._resumed["before"]

    def _go_on(self) -> dict[str, Any] | None:
        """Once, when training goes on from a checkpoint: take over its losses; gives what it says."""
        resumed, self._resumed = self._resumed, None
        if resumed is not None:
            for name in _LOSSES:
                setattr(self, name, resumed["losses"].get(name, {}))
            self._tr_loss = torch.as_tensor(self._tr_loss, device=self.args.device)
            self._initial_global_step = 0
        return resumed

    def _finalize_training(self, *args: Any, **kwargs: Any) -> Any:
        self._go_on()  # if no step was left to do
        return super()._finalize_training(*args, **kwargs)

    def _within_epoch(self) -> bool:
        """Whether the epoch goes on after the present step."""
        return not self.control.should_training_stop and bool((self.state.epoch or 0) % 1)

    def _checkpoint(self, step: int) -> Path:
        return checkpoint_path(Path(str(self.args.output_dir)), step)

    def _save_checkpoint(self, model: nn.Module, trial: object) -> None:
        """Write a checkpoint beside its place, then move it there; the Trainer writes in place."""
        step, first = self.state.global_step, bool(self.args.should_save)
        folder = Path(str(self.args.output_dir))
        needs = {self.state.best_global_step}
        if self._within_epoch() and self._session.overrides("on_epoch"):
            needs.add(self._before)
        others = {one for one in needs if one and one != step}
        if self.state.best_global_step:
            self.state.best_model_checkpoint = str(self._checkpoint(self.state.best_global_step))
        with writing(folder, step, others, first=first, wait=self.accelerator.wait_for_everyone) as beside:
            self._save_rng_state(str(beside))
            if first:
                self._save(str(beside))
                self._save_optimizer_and_scheduler(str(beside))
                self._save_scaler(str(beside))
                saved: Any = self.state.stateful_callbacks
                for part in [*self.callback_handler.callbacks, self.control]:
                    if isinstance(part, ExportableState):
                        saved[type(part).__name__] = part.state()
                self.state.save_to_json(str(beside / "trainer_state.json"))
        if first:
            keep_only(folder, {step, *others})

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        self._check_weights()
        folder = Path(str(output_dir or self.args.output_dir))
        folder.mkdir(parents=True, exist_ok=True)
        safetensors.torch.save_model(self._trained, str(folder / WEIGHTS), metadata={"format": "pt"})
        within = {
            "epoch": self._epoch,
            "step": self.state.global_step,
            "before": self._before if self._within_epoch() else self.state.global_step,
            "drawn_from": self._order.drawn_from,
            "losses": {name: getattr(self, name, 0) for name in _LOSSES},
            "seconds": self.seconds,
        }
        torch.save({"session": self._session.state_dict(), "epoch": within}, folder / SESSION)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: object = None) -> None:
        folder = Path(resume_from_checkpoint)
        self._resumed = self._read_session(folder)["epoch"]
        self._earlier = float(self._resumed.get("seconds", 0.0))
        before = self._resumed["before"]
        if before < self._resumed["step"]:
            # The session makes the data of the epoch from the weights that it began with: now they are there.
            if before and self._session.overrides("on_epoch"):
                self._load_weights(self._checkpoint(before))
            self._change_data(self._resumed["epoch"])
            # The Trainer plans from the original data.
            self._resumed["data"], self._data.now = self._data.now, self._original
        self._load_weights(folder)

    def _load_weights(self, folder: Path) -> None:
        safetensors.torch.load_model(self._trained, folder / WEIGHTS)
        self._session.load_state_dict(self._read_session(folder)["session"])

    def _read_session(self, folder: Path) -> dict[str, Any]:
        return torch.load(folder / SESSION, map_location="cpu", weights_only=True)

    def _load_best_model(self) -> None:
        safetensors.torch.load_model(self._trained, Path(str(self.state.best_model_checkpoint)) / WEIGHTS)

    def _determine_best_metric(self, metrics: dict[str, float], trial: Any) -> bool:
        done = self._planned(self.state.global_step) / max(1, self._total)
        whole_from = self._session.whole_from
        if done < 1 and whole_from and done <= whole_from + 1e-9:
            return False
        return super()._determine_best_metric(metrics, trial)

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
