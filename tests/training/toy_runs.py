"""``python toy_runs.py JSON``: trainings with the toy or another defence, each in a process of its own.

The JSON lists the jobs, in order: the folder ``out``, the file ``log``, ``kill_at`` (a step before which the
training gets SIGKILL, or null), ``kill_in_attack`` (a number of texts after which an attack with the recipe
``swap`` does), the number of ``processes``, the settings ``train``. Each process, forked before any pass,
writes to its log what it trained on, and a digest of all weights, extra modules included, at every epoch; of
a model that is trained before (``preparation``) only the number of steps.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import signal
import socket
import sys
import traceback
from typing import Any

import torch

import toy_defence
import unfooled as uf
from tiny_attacks import Swap
from tiny_training import ANTONYMS
from unfooled.attacks import RECIPES
from unfooled.defences.parts import bat_copies
from unfooled.training.trainer import SessionTrainer


def digest(trainer: SessionTrainer) -> str:
    found = hashlib.sha256(repr(trainer._session.state_dict()).encode())
    for name, value in sorted(trainer._trained.state_dict().items()):
        found.update(name.encode() + value.cpu().numpy().tobytes())
    return found.hexdigest()


def told(copy: Any) -> Any:
    """What the data loader made of an example: a number of the toy's, or the texts of copies."""
    return [one and " ".join(one.texts) for one in copy] if isinstance(copy, tuple) else copy


def watch(job: dict[str, Any], log: dict[str, Any]) -> None:
    """Record what a training does, and kill it where the job says."""
    change_data, training_step = SessionTrainer._change_data, SessionTrainer.training_step
    search = Swap.search

    def changing(self: SessionTrainer, epoch: int) -> None:
        if "preparation" in str(self.args.output_dir):
            return change_data(self, epoch)
        log["weights"][str(epoch)] = digest(self)
        log["modules"] = sorted(self._trained.extra.state_dict())
        change_data(self, epoch)
        log["data"][str(epoch)] = len(self._data)
        log["lengths"][str(epoch)] = self._data.lengths

    def stepping(self: SessionTrainer, model: Any, inputs: Any, number: Any = None) -> Any:
        if self.state.global_step == job["kill_at"]:
            os.kill(os.getpid(), signal.SIGKILL)
        if "preparation" in str(self.args.output_dir):
            log["steps_before"] += 1
            return training_step(self, model, inputs, number)
        log["done"].append(self._planned(self.state.global_step) / self._total)
        seen = [" ".join(self._data.now.encoded[number].texts) for number in inputs["drawn"].numbers]
        drawn = log["drawn"].setdefault(str(self._epoch), [])
        drawn += [told(made) for own in inputs["drawn"].copies.values() for made in own]
        log["seen"].setdefault(str(self._epoch), []).extend(seen)
        return training_step(self, model, inputs, number)

    def searching(self: Swap, attempt: Any) -> Any:
        log["searches"] += 1
        if log["searches"] == job.get("kill_in_attack"):
            os.kill(os.getpid(), signal.SIGKILL)
        return search(self, attempt)

    Swap.search = searching  # type: ignore[method-assign]
    SessionTrainer._change_data = changing  # type: ignore[method-assign]
    SessionTrainer.training_step = stepping  # type: ignore[method-assign]


def run(job: dict[str, Any], rank: int, port: int) -> None:
    if job["processes"] > 1:
        os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(job["processes"])}
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    log: dict[str, Any] = {
        "weights": {},
        "data": {},
        "lengths": {},
        "seen": {},
        "drawn": {},
        "done": [],
        "steps_before": 0,
        "searches": 0,
    }
    watch(job, log)
    classifier = uf.train(job["out"], **job["train"])
    log["metrics"] = classifier.metrics
    final = hashlib.sha256()
    for value in classifier.model.module.state_dict().values():
        final.update(value.numpy().tobytes())
    log["final"] = final.hexdigest()
    with open(f"{job['log']}-{rank}.json", "w", encoding="utf-8") as file:
        json.dump(log, file)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def main() -> None:
    for name in ("scipy.stats", "torch.utils.tensorboard", "unfooled.api.train"):
        importlib.import_module(name)  # once, before the forks
    torch.set_num_threads(1)
    toy_defence.register()
    bat_copies.antonyms = lambda word: ANTONYMS.get(word, ())  # WordNet takes seconds to open
    RECIPES["swap"] = Swap
    for job in json.loads(sys.argv[1]):
        port, children = free_port(), []
        for rank in range(job["processes"]):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    run(job, rank, port)
                    code = 0
                except BaseException:  # told here: the child must not come back to its parent's code
                    traceback.print_exc()
                finally:
                    sys.stderr.flush()
                    os._exit(code)
            children.append(child)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        killed = job["kill_at"] is not None or job.get("kill_in_attack") is not None
        expected = -signal.SIGKILL if killed else 0
        assert codes == [expected] * len(codes), f"{job['out']}: exit codes {codes}"


if __name__ == "__main__":
    main()
