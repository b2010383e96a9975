"""Whether memory stays flat over many inputs: peak resident memory of an attack on 10,000 and 100,000 texts.

    python benchmarks/memory.py [--inputs 10000 --inputs 100000] [--workers 1] [--json OUT]

The victim is a cheap function and the budget tiny, so that the loop itself is measured: reading the file,
handing out inputs, writing outcomes, summing up. Each size runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

VICTIM = """
def scores(texts):
    return [[0.9, 0.1] if "bad" in text else [0.2, 0.8] for text in texts]
"""
WORDS = "the film is a story of people who lived in some place and found what they wanted there"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--inputs", type=int, action="append", help="default: 10000 and 100000")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write all figures here")
    options = parser.parse_args()
    found = {}
    for size in options.inputs or [10_000, 100_000]:
        peak, seconds = measured(size, options.workers)
        found[size] = {"peak_mib": peak, "seconds": seconds}
        print(f"{size:>9,} inputs: peak {peak:6.0f} MiB, {seconds:6.1f} s", flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def measured(size: int, workers: int) -> tuple[float, float]:
    """Peak memory in MiB (of the process that reads, hands out and writes) and the time."""
    with tempfile.TemporaryDirectory() as folder:
        write_inputs(Path(folder) / "inputs.jsonl", size)
        (Path(folder) / "victim.py").write_text(VICTIM, encoding="utf-8")
        command = [sys.executable, "-m", "unfooled", "attack", "victim.py:scores", "--data", "inputs.jsonl"]
        command += ["--recipe", "deepwordbug", "--limit", str(size), "--query-budget", "3", "--no-validity"]
        command += ["--labels", "down,up", "--out", "out"]
        command += ["--workers", str(workers)] if workers > 1 else []
        started = time.monotonic()
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert process.stderr is not None
        message = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        if os.waitstatus_to_exitcode(status):
            sys.exit(message)
        return usage.ru_maxrss / 1024, time.monotonic() - started


def write_inputs(path: Path, size: int) -> None:
    chooser = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for number in range(size):
            words = [*chooser.choices(WORDS.split(), k=10), chooser.choice(("bad", "fine")), str(number)]
            label = "down" if "bad" in words else "up"
            file.write(json.dumps({"text": " ".join(words), "label": label}) + "\n")


if __name__ == "__main__":
    main()
