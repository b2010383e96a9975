"""Stability: the same inputs evaluated many times under independent noise (Moon et al. 2023, Appendix A).

Repeat r uses the seed ``seed + r`` through the predictor that is deployed. Each finished repeat is one
transaction in a SQLite journal, so a run that was killed goes on where it stood, and its result is the one
of an undisturbed run. The journal's key covers the weights, the inputs, the predictor and the seed:
nothing measured under other conditions is ever mixed in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unfooled import __version__
from unfooled.api.inputs import Inputs, load_inputs
from unfooled.errors import UsageError
from unfooled.predictors.randomness import is_random
from unfooled.statistics.spread import ABSTAINED, repeat_statistics
from unfooled.storage.files import write_json
from unfooled.storage.journal import fingerprint, open_journal

if TYPE_CHECKING:
    from unfooled.models import Encoded
    from unfooled.predictors import Classifier

FORMAT = 1
JOURNAL = "stability.sqlite"
REPORT = "stability.json"


def stability(
    run: str | Path,
    *,
    repeats: int = 100,
    limit: int | None = 200,
    split: str = "test",
    task: str | None = None,
    data: str | None = None,
    columns: Mapping[str, str | None] | None = None,
    encoding: str = "utf-8",
    predictor: str | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    device: str = "auto",
    out: str | Path | None = None,
    on_repeat: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Evaluate ``repeats`` times and return the statistics, also in ``out`` as ``stability.json``.

    ``on_repeat`` is called with the repeats that are done and their total, first with what the journal holds.

    >>> stability("runs/rsmi", repeats=100)["accuracy"]["std"]
    """
    from unfooled.api.load import load
    from unfooled.predictors.override import with_settings

    for name, value in (("repeats", repeats), ("limit", 1 if limit is None else limit)):
        if value < 1:
            raise UsageError(f"--{name} must be at least 1, got {value}.")
    classifier = with_settings(load(run, device=device), predictor, settings or {})
    inputs = load_inputs(
        classifier,
        Path(run),
        task=task,
        data=data,
        split=split,
        limit=limit,
        columns=columns or {},
        encoding=encoding,
    )
    encoded = classifier.model.encode(inputs.texts, inputs.pairs)
    # What cannot vary is measured once.
    needed = repeats if is_random(classifier.predictor.describe()) else 1
    folder = Path(run) / "stability" if out is None else Path(out)
    key = _conditions(Path(run), classifier, encoded, inputs, seed)
    done: dict[int, dict[str, Any]] = {}
    try:
        with open_journal(folder / JOURNAL, "repeats") as journal:
            done = journal.read(key, below=needed)
            for number in range(needed):
                if on_repeat:
                    on_repeat(len(done), needed)
                if number not in done:
                    done[number] = _evaluate(classifier, encoded, seed + number)
                    journal.add(key, number, done[number])
    except KeyboardInterrupt:
        if done:
            write_json(folder / REPORT, _report(run, classifier, inputs, seed, done, repeats))
        raise
    if on_repeat:
        on_repeat(needed, needed)
    report = _report(run, classifier, inputs, seed, done, repeats)
    write_json(folder / REPORT, report)
    return report


def _evaluate(classifier: Classifier, encoded: Sequence[Encoded], seed: int) -> dict[str, Any]:
    started = time.perf_counter()
    decisions = classifier.decide(encoded, seed=seed)
    return {
        "answers": [ABSTAINED if decision.abstained else decision.label for decision in decisions],
        "forwards": sum(decision.forwards for decision in decisions),
        "seconds": time.perf_counter() - started,
    }


def _report(
    run: str | Path,
    classifier: Classifier,
    inputs: Inputs,
    seed: int,
    done: Mapping[int, dict[str, Any]],
    repeats: int,
) -> dict[str, Any]:
    description = classifier.predictor.describe()
    varies = is_random(description)
    results = [done[number] for number in sorted(done)]
    answers = [result["answers"] for result in results] * (1 if varies else repeats)
    statistics = repeat_statistics(inputs.labels, answers, classifier.labels)
    for one, row in zip(statistics["per_input"], inputs.rows, strict=True):
        one["row"] = row
    return {
        "format": FORMAT,
        "unfooled": __version__,
        "run": str(run),
        "source": inputs.source,
        "predictor": description,
        "random": varies,
        "seed": seed,
        "complete": len(answers) == repeats,
        "forwards_per_example": sum(result["forwards"] for result in results)
        / (len(results) * len(inputs.labels)),
        "seconds_per_repeat": sum(result["seconds"] for result in results) / len(results),
        **statistics,
    }


def _conditions(
    run: Path, classifier: Classifier, encoded: Sequence[Encoded], inputs: Inputs, seed: int
) -> str:
    """What a repeat depends on; float precision and device type may tip a close vote, so they count."""
    from unfooled.assets.digest import of_file

    return fingerprint(
        {
            "unfooled": __version__,
            "weights": {path.name: of_file(path) for path in sorted(run.glob("*.safetensors"))},
            "labels": classifier.labels,
            "predictor": classifier.predictor.describe(),
            "inputs": [(item.ids, label) for item, label in zip(encoded, inputs.labels, strict=True)],
            "device": classifier.model.device.type,
            "bf16": classifier.model.bf16,
            "seed": seed,
        }
    )
