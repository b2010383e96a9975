"""``python kill_runs.py JSON``: work that is killed at random moments and run again until it is done.

The JSON has the ``folder``, the settings ``train``, the ``kinds`` of work, the number of ``texts`` that are
attacked and certified, how many ``kills`` each kind gets, and the ``seed`` of the moments. Every process is
forked before any pass of a model. ``results.json`` says, by kind of work, what an ``undisturbed`` run and
each ``disturbed`` one ended with, and how many ``kills`` there were.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import toy_defence
import unfooled as uf

KILLS_PER_FOLDER = 4
"""After so many kills a run may end."""
TIMES = {
    "seconds",
    "resumed",
    "train_runtime",
    "train_samples_per_second",
    "train_steps_per_second",
    "command",
}
NAMES = {"versions", "classifier", "victim", "journal", "threads", "total_flos"}

Work = Callable[[Path], None]


def timeless(value: Any) -> Any:
    """A document without what differs between two equal runs: times, and the folder."""
    if isinstance(value, dict):
        return {name: timeless(one) for name, one in value.items() if name not in TIMES | NAMES}
    return [timeless(one) for one in value] if isinstance(value, list) else value


def read(file: Path) -> Any:
    return timeless(json.loads(file.read_text(encoding="utf-8")))


def trained(folder: Path) -> dict[str, Any]:
    """What a training ended with: the digest of its weights, what it measured and logged."""
    weights = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    return {
        "weights": weights,
        "metrics": read(folder / "metrics.json"),
        "log": read(folder / "history.json"),
    }


def attacked(folder: Path) -> dict[str, Any]:
    from unfooled.api.jobs.attack_job import read_attack

    report = read_attack(folder)
    return {"summary": summary(report.summary), "rows": [timeless(one.to_dict()) for one in report.outcomes]}


def certified(folder: Path) -> dict[str, Any]:
    from unfooled.api.jobs.certify_job import read_certificates

    report = read_certificates(folder)
    return {"summary": summary(report.summary), "rows": [timeless(one.to_dict()) for one in report]}


def summary(value: Any) -> Any:
    """Means of times are times too."""
    return {name: one for name, one in timeless(value).items() if "second" not in name}


def kinds(job: dict[str, Any], run: Path) -> dict[str, tuple[Work, Callable[[Path], Any]]]:
    """By kind: the work that fills a folder, and what it ended with."""

    def train(defence: str, **more: Any) -> Work:
        def work(out: Path) -> None:
            if not (out / "unfooled.json").exists():  # it may be killed after its last act
                uf.train(out, **job["train"] | {"defence": defence} | more)

        return work

    def attack(out: Path) -> None:
        tools, recipe = uf.Tools(validity=False), {"name": "deepwordbug", "max_distance": 4}
        uf.attack(run, recipe=recipe, limit=job["texts"], tools=tools, in_flight=3, device="cpu", out=out)

    def certify(out: Path) -> None:
        how = {"sampling": uf.Sampling(n0=10, n=300), "reading": uf.Reading(antonyms=False)}
        uf.certify(run, threat="words", limit=job["texts"], device="cpu", out=out, **how)

    return {
        "train": (train("random-mask", epochs=1.5, checkpoint_every=3), trained),
        "train, own data per epoch": (train("stability+toy", settings={"votes": 2}), trained),
        "train, stops early": (train("rsmi", epochs=4.0, patience=1, lr=0.0, checkpoint_every=4), trained),
        "attack": (attack, attacked),
        "certify": (certify, certified),
    }


def run_once(work: Work, out: Path, kill_after: float | None = None) -> int:
    """Do the work in a process of its own, killed after so many seconds; gives the exit code."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work(out)
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def disturb(kind: str, work: Work, found: Callable[[Path], Any], job: dict[str, Any]) -> dict[str, Any]:
    """Kill the work at ``kills`` random moments, in as many folders as that takes."""
    moments, base = random.Random(f"{job['seed']} {kind}"), Path(job["folder"]) / kind.replace(",", "")
    base.mkdir()
    started = time.monotonic()
    assert run_once(work, base / "undisturbed") == 0, kind
    length = time.monotonic() - started
    result: dict[str, Any] = {"kills": 0, "while writing a checkpoint": 0, "disturbed": []}
    result["undisturbed"] = found(base / "undisturbed")
    while result["kills"] < job["kills"]:
        out, here = base / f"disturbed-{len(result['disturbed'])}", 0
        while here < KILLS_PER_FOLDER and result["kills"] < job["kills"]:
            code = run_once(work, out, moments.uniform(0, length))
            if code == 0:  # it had ended before the signal came
                break
            assert code == -signal.SIGKILL, f"{kind}: exit code {code} after {here} kills in {out}"
            here, result["kills"] = here + 1, result["kills"] + 1
            result["while writing a checkpoint"] += any(out.glob("checkpoints/.writing-*"))
        else:
            assert run_once(work, out) == 0, f"{kind}: cannot go on after {here} kills in {out}"
        result["disturbed"].append(found(out))
    return result


def main() -> None:
    job = json.loads(sys.argv[1])
    for name in ("scipy.stats", "torch.utils.tensorboard", "unfooled.api.train", "unfooled.api.attack"):
        importlib.import_module(name)  # once, before the forks
    importlib.import_module("unfooled.api.certify")
    torch.set_num_threads(1)
    toy_defence.register()
    every = kinds(job, Path(job["folder"]) / "train" / "undisturbed")
    results = {kind: disturb(kind, *every[kind], job) for kind in job["kinds"]}
    (Path(job["folder"]) / "results.json").write_text(json.dumps(results), encoding="utf-8")


if __name__ == "__main__":
    main()
