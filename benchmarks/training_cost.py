"""What a training step of each defence costs against plain fine-tuning: ratios, measured in one process.

    python benchmarks/training_cost.py [DEFENCE …] [--task movie-reviews --task snli] [--data questions.json]
        [--rounds 20] [--set freelb.steps=3] [--json FILE]

A round takes one batch, as training makes them (similar lengths, padded to the longest), and lets plain
fine-tuning and every defence make one whole step with it in turn: loss, gradients, clipping and the step of
the optimiser, at a learning rate of 0. The figure is the median over the rounds of seconds by the seconds of
plain fine-tuning in the same round, so that other work on the machine disturbs both alike. Without names, all
defences are measured, those of installed packages too; ``a+b`` is a combination, and ``nomask=rsmi`` with
``--set nomask.masked_tokens=0`` measures a defence once more under another name. Making the data of an epoch
(``on_epoch``) and copies of examples, which the data loader makes beside the steps, is not counted.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from unfooled.defences import DEFENCES, Session, Step, Training, TrainingData, make_defence
from unfooled.errors import UserError
from unfooled.hub.pretrained import quiet
from unfooled.models import Model
from unfooled.settings import parse_assignments
from unfooled.storage.config import TrainConfig
from unfooled.training.data import load_any
from unfooled.training.epoch_data import EpochData
from unfooled.training.kinds import kind_of

PLAIN = "standard"
LIMITS = {"freelb": 2.8, "infobert": 5.4, "infobert+freelb": 5.4, "safer": 1.0, "rsmi": 1.9}
"""The papers' figures."""
AIMS = {"freelb": 2.2, "infobert": 3.0}
BATCH, EXAMPLES = 32, 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("defences", nargs="*", help="names; all defences if none is given")
    parser.add_argument("--task", action="append", help="movie-reviews and snli if not given")
    parser.add_argument("--data", action="append", default=[], help="files to train on, of any kind")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--rounds", type=int, default=20, help="at least 1")
    parser.add_argument("--seconds", type=float, default=600, help="begin no round after so long, per task")
    parser.add_argument("--set", action="append", default=[], help="defence.setting=value")
    parser.add_argument("--precision", default="auto", help="float32, bf16 or auto")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    named = dict(_named(name) for name in options.defences or DEFENCES if name != PLAIN)
    try:
        settings = settings_by_defence(list(named), options.set)
        result = {
            task: training_cost(task, named, settings, options)
            for task in options.task or ([] if options.data else ["movie-reviews", "snli"])
        }
        for path in options.data:
            result[Path(path).name] = training_cost(None, named, settings, options, path)
    except UserError as error:
        sys.exit(str(error))
    for task, costs in result.items():
        how = f"{costs['tokens']:.0f} tokens per input, {costs['precision']}, {costs['rounds']} rounds"
        print(f"{task}: a plain step takes {costs['seconds']:.3f} s ({how})")
        for name, cost in costs["ratios"].items():
            limit, aim = LIMITS.get(name), AIMS.get(name)
            told = [f"paper {limit}"] * (limit is not None) + [f"aim {aim}"] * (aim is not None)
            spread = f"{cost['low']:.2f} to {cost['high']:.2f}"
            print(f"  {name:24} {cost['median']:5.2f}  ({spread})  {', '.join(told)}".rstrip())
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def _named(given: str) -> tuple[str, str]:
    """``name=defence``, or a defence under its own name."""
    name, _, defence = given.partition("=")
    return name, defence or name


def settings_by_defence(names: list[str], given: list[str]) -> dict[str, dict[str, Any]]:
    """Settings from ``defence.setting=value``; those of a combination as ``a+b.part.setting=value``."""
    found: dict[str, dict[str, Any]] = {name: {} for name in names}
    for key, value in parse_assignments(given).items():
        name, _, setting = key.partition(".")
        if name not in found:
            raise UserError(
                f"--set {key}: no defence {name!r} is measured here. Write defence.setting=value."
            )
        found[name][setting] = value
    return found


@quiet()
def training_cost(
    task: str | None,
    named: dict[str, str],
    settings: dict[str, dict[str, Any]],
    options: argparse.Namespace,
    path: str | None = None,
) -> dict[str, Any]:
    """Seconds of a plain step, and by name the median of the ratios with their quartiles."""
    config = TrainConfig(
        task=task, data=path, encoder=options.encoder, precision=options.precision, limit=EXAMPLES
    )
    splits, kind = load_any(config), kind_of(config)
    model = kind.opened(config, splits, None)
    inputs = kind.training(model, splits, config)
    sessions: dict[str, Session[Any]] = {}
    for name, defence in {PLAIN: PLAIN, **named}.items():
        own = deepcopy(model)  # a defence may change the model that it trains
        own.module.train()
        training = Training(own, inputs, splits.task, seed=0, steps=options.rounds)
        sessions[name] = make_defence(defence, settings.get(name)).resolved(own).begin(training)
    optimisers = {
        name: torch.optim.AdamW([*session.model.module.parameters(), *_extra(session)], lr=0.0, fused=True)
        for name, session in sessions.items()
    }
    data_of = {name: _first_epoch(session, inputs) for name, session in sessions.items()}
    chooser = random.Random(0)
    times: dict[str, list[float]] = {name: [] for name in sessions}
    tokens: list[float] = []
    last = time.monotonic() + options.seconds
    for number in range(options.rounds + 1):
        if number > 1 and time.monotonic() > last:
            break
        place = chooser.random()
        order = list(sessions)
        chooser.shuffle(order)
        for name in order:
            drawn = data_of[name].__getitems__(_neighbours(data_of[name], place))
            batch = data_of[name].batch(model, drawn)
            started = time.perf_counter()
            _step(sessions[name], optimisers[name], batch, drawn.copies)
            if number:  # the first round only warms up
                times[name].append(time.perf_counter() - started)
        tokens.append(float(batch.mask.sum(dim=1).float().mean()))
    ratios = {
        name: [one / plain for one, plain in zip(times[name], times[PLAIN], strict=True)] for name in named
    }
    return {
        "seconds": statistics.median(times[PLAIN]),
        "tokens": statistics.mean(tokens),
        "precision": model.precision,
        "rounds": len(times[PLAIN]),
        "threads": torch.get_num_threads(),
        "ratios": {name: _spread(each) for name, each in ratios.items()},
    }


def _step(
    session: Session[Any], optimiser: torch.optim.Optimizer, batch: Any, copies: Mapping[str, Sequence[Any]]
) -> None:
    # Late in training, where every schedule has its full value.
    step = Step(0.99, accumulate=partial(_accumulate, session.model), copies=copies)
    session.backward(batch, step)
    torch.nn.utils.clip_grad_norm_(optimiser.param_groups[0]["params"], 1.0)
    optimiser.step()
    optimiser.zero_grad()
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _accumulate(model: Model, compute: Callable[[], Tensor]) -> Tensor:
    with model.autocast():  # around the whole pass, as the trainer has it
        loss = compute()
    loss.backward()
    return loss.detach()


def _first_epoch(session: Session[Any], inputs: TrainingData) -> EpochData:
    epoch = EpochData(session.on_epoch(0, inputs) or inputs)
    epoch.makers = session.copy_makers(0, epoch.now)
    epoch.lengths = session.lengths(0, epoch.now)
    return epoch


def _neighbours(inputs: EpochData, place: float) -> list[int]:
    """The numbers of inputs of similar length, at this place in the order of their lengths."""
    lengths = inputs.lengths or inputs.now.lengths()
    order = sorted(range(len(inputs)), key=lambda number: lengths[number])
    first = int(place * (len(order) - BATCH))
    return order[first : first + BATCH]


def _extra(session: Session[Any]) -> list[torch.nn.Parameter]:
    return [weight for module in session.modules.values() for weight in module.parameters()]


def _spread(values: list[float]) -> dict[str, float]:
    low, median, high = statistics.quantiles(
        values * 2 if len(values) == 1 else values, n=4, method="inclusive"
    )
    return {"median": median, "low": low, "high": high}


if __name__ == "__main__":
    main()
