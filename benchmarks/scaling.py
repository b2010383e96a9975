"""How much faster two workers are than one, each with one thread: attack and certify on the shipped encoder.

    python benchmarks/scaling.py [--run RUN] [--workers 2] [--rounds 3] [--share 1] [--json OUT]

Without --run a classifier is trained first (six layers, noise-augment, about two minutes). Rounds alternate
between one worker (this process) and several, and give one ratio each; the median counts. Time is measured
from the first worker that is ready to the last result, and for the whole call. The results must be the same.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded, here and in the workers

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import unfooled as uf
from unfooled.attacks.tools import Tools
from unfooled.certificates.sampling import Reading, Sampling


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--run", type=Path, help="a run of single texts, trained with noise at the embeddings"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--share", type=int, default=1, help="take 1 in SHARE of 240 inputs and 48 texts")
    parser.add_argument("--json", type=Path, help="write all figures here")
    options = parser.parse_args()
    if options.workers > len(os.sched_getaffinity(0)):
        sys.exit(f"{options.workers} workers need as many cores; this process may use fewer.")
    with tempfile.TemporaryDirectory() as folder:
        run = options.run or trained(Path(folder) / "run")
        found = {
            name: compared(name, verb, run, Path(folder), options.workers, options.rounds, options.share)
            for name, verb in (("attack", attacked), ("certify", certified))
        }
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def trained(folder: Path) -> Path:
    uf.train(
        folder,
        task="movie-reviews",
        defence="noise-augment",
        epochs=1,
        limit=2000,
        limit_dev=50,
        limit_test=400,
    )
    return folder


def attacked(run: Path, share: int, **more: Any) -> list[Any]:
    report = uf.attack(
        run,
        recipe="pwws",
        predictor="plain",
        limit=240 // share,
        tools=Tools(validity=False),
        device="cpu",
        **more,
    )
    # Scores are rounded by the batch they are computed in: in the last digit of six on some processors.
    return [replace(one, seconds=0.0, first_scores=(), scores=()) for one in report.outcomes]


def certified(run: Path, share: int, **more: Any) -> list[Any]:
    report = uf.certify(
        run,
        threat="l2",
        limit=48 // share,
        sampling=Sampling(n=1000),
        reading=Reading(antonyms=False),
        device="cpu",
        **more,
    )
    return [replace(one, seconds=0.0) for one in report.certificates]


def compared(
    name: str,
    verb: Callable[..., list[Any]],
    run: Path,
    folder: Path,
    workers: int,
    rounds: int,
    share: int,
) -> dict[str, Any]:
    """Seconds of one and of several workers in each round, and the ratios."""
    times: dict[int, list[tuple[float, float]]] = {1: [], workers: []}
    for number in range(rounds):
        results = []
        for count in (1, workers) if number % 2 == 0 else (workers, 1):
            ready: list[float] = []
            started = time.perf_counter()
            out = folder / f"{name}-{number}-{count}"
            results.append(
                verb(
                    run,
                    share,
                    workers=count,
                    out=out,
                    on_progress=lambda _, ready=ready: ready.append(time.perf_counter()),
                )
            )
            ended = time.perf_counter()
            times[count].append((ended - ready[1], ended - started))  # ready[0] tells what the journal holds
        assert results[0] == results[1], f"{name}: the results depend on the number of workers"
        now = times[1][-1][0] / times[workers][-1][0]
        print(f"{name}, round {number + 1}: {now:.2f}× with {workers} workers", flush=True)
    ratios = [
        [one[which] / more[which] for one, more in zip(times[1], times[workers], strict=True)]
        for which in (0, 1)
    ]
    work, whole = (statistics.median(found) for found in ratios)
    seconds = {count: statistics.median(spent for spent, _ in found) for count, found in times.items()}
    print(
        f"{name}: {work:.2f}× ({seconds[1]:.1f} s with 1 worker, {seconds[workers]:.1f} s with {workers}; "
        f"{whole:.2f}× with loading)",
        flush=True,
    )
    return {"ratio": work, "ratio_with_loading": whole, "seconds": times}


if __name__ == "__main__":
    main()
