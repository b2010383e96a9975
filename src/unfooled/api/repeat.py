"""Evaluate the same inputs many times under independent noise (Moon et al. 2023, Appendix A).

Repeat r uses the seed ``seed + r`` through the predictor that is deployed. Each finished repeat is one
transaction in a SQLite journal, so a run that was killed goes on where it stood, and its result is the one
of an undisturbed run. The journal's key covers the weights, the inputs, the predictor and the seed:
nothing measured under other conditions is ever mixed in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from unfooled import __version__
from unfooled.api.arguments import checks_arguments
from unfooled.api.inputs.load_inputs import load_inputs
from unfooled.api.target import Opens, open_classifier, travelling_classifier
from unfooled.data.inputs import Inputs, LabelledInputs, as_inputs
from unfooled.errors import UserError
from unfooled.live_bar import following
from unfooled.records.results.repeat_report import RepeatReport
from unfooled.records.results.result import reuse
from unfooled.settings import check_seed, check_whole, checked
from unfooled.statistics.spread import ABSTAINED, repeat_statistics
from unfooled.storage.journal import JOURNAL_REMEDY, fingerprint, open_journal
from unfooled.storage.kept import Kept
from unfooled.storage.questions import Question, digests, numbers
from unfooled.storage.result_sets import SetName, choose_set
from unfooled.work.executor import Piece, make_executor
from unfooled.work.job import Job, Record

if TYPE_CHECKING:
    from unfooled.models import Encoded
    from unfooled.predictors import Classifier
    from unfooled.predictors.override import PredictorChoice

FORMAT = 1
REPORT = "repeat.json"
MOST_REPEATS = 100_000


@checks_arguments
def repeat(
    classifier: Classifier | str | Path,
    inputs: Inputs | None = None,
    *,
    repeats: int = 100,
    limit: int | None = 200,
    predictor: PredictorChoice = None,
    seed: int = 0,
    device: str = "auto",
    workers: int | None = None,
    ray: str | None = None,
    out: str | Path | SetName | None = None,
    progress: Callable[[int, int], None] | bool | None = None,
) -> RepeatReport:
    """Evaluate a run folder or a classifier ``repeats`` times on the same inputs, each time with other noise.

    ``inputs`` says on which (default: the test split of the run's own task), of which the first ``limit`` in
    stratified order are used. The report is kept as ``repeat.json`` and resumed in a result set,
    RUN/repeats/PREDICTOR, with ``out=SetName("mine")`` in RUN/repeats/mine, or in the folder ``out``; another
    question gets another result set (docs/result-sets.md). ``workers`` processes, or actors on the Ray
    cluster at the address ``ray``, share the repeats. ``progress`` is called with the repeats that are
    done and their total, first with what the journal holds; None shows a bar in a terminal or a notebook,
    True everywhere, False nowhere.

    >>> repeat("runs/rsmi", repeats=100).summary["accuracy"]["std"]
    """
    from unfooled.models import as_text
    from unfooled.predictors.override import with_predictor

    check_whole("--repeats", repeats, at_most=MOST_REPEATS)
    check_whole("--limit", limit)
    check_seed(seed)
    own, run = open_classifier(classifier, device=device)
    opened = with_predictor(own, predictor)
    found = load_inputs(opened, run, as_inputs(inputs), limit=limit, lenient=True)
    encoded = as_text(opened.model).encode(found.texts, found.pairs)
    # What cannot vary is measured once.
    needed = repeats if opened.predictor.randomised else 1
    called = str(run) if run else f"a classifier ({opened.defence})"
    # Float precision and device type may tip a close vote; they are part of the identity.
    conditions = {"unfooled": __version__, "classifier": opened.identity(), "seed": seed}
    inputs_told = [(item.ids, label) for item, label in zip(encoded, found.labels, strict=True)]
    key = fingerprint({**conditions, "inputs": inputs_told})
    question = Question(
        "repeat",
        conditions,
        {"inputs": digests({"input": one} for one in inputs_told), "repeats": numbers(needed)},
        found.source,
    )
    root = None if run is None else run / "repeats"
    kept = choose_set(question, root, opened.predictor.describe()["name"], out)
    job = Job(items=range(needed), key=lambda number: (key, number), name=lambda number: f"repeat {number}")
    executor = make_executor(workers, ray)
    spec = RepeatSpec(
        opened if executor.in_process else travelling_classifier(own, predictor, opened),
        found.texts,
        found.pairs,
        seed,
    )
    done = 0

    def take(_: Record) -> None:
        nonlocal done
        done += 1

    def report(results: Kept[RepeatResult]) -> RepeatReport:
        made = _report(called, opened, found, seed, results, repeats)
        made.about.update(result_set=kept.told(), reuse=reuse(results.reused, len(results)))
        kept.write(REPORT, made.to_dict())
        return made

    kept.begin(question)
    with (
        open_journal(kept.journal, "repeats") as journal,
        following(progress, "repeat", lambda done, total: (done, total, "")) as follow,
    ):
        return job.run(
            journal,
            executor,
            spec,
            decode=_result,
            report=report,
            take=take,
            tell=lambda: follow(done, needed),
            others=kept.reusable,
        )


@dataclass(frozen=True)
class RepeatSpec:
    """What a worker needs to evaluate the inputs once more."""

    classifier: Opens | Classifier
    texts: Sequence[str]
    pairs: Sequence[str] | None
    seed: int

    def open(self, at_once: int) -> RepeatWorker:
        from unfooled.models import as_text
        from unfooled.predictors import Classifier

        own = self.classifier
        classifier = own if isinstance(own, Classifier) else own.open_classifier()
        return RepeatWorker(classifier, as_text(classifier.model).encode(self.texts, self.pairs), self.seed)


@dataclass(frozen=True)
class RepeatWorker:
    """Evaluates the same inputs under the noise of one repeat after the other."""

    classifier: Classifier
    encoded: Sequence[Encoded]
    seed: int

    def run(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        for place, number in pieces:
            started = time.perf_counter()
            decisions = self.classifier.decide(self.encoded, seed=self.seed + number)
            yield (
                place,
                {
                    "answers": [ABSTAINED if one.abstained else one.label for one in decisions],
                    "forwards": sum(one.forwards for one in decisions),
                    "seconds": time.perf_counter() - started,
                },
            )


class RepeatResult(TypedDict):
    """One evaluation of all inputs, as the journal keeps it."""

    answers: list[int]
    forwards: int
    seconds: float


def _result(record: Record) -> RepeatResult:
    made: RepeatResult = checked(record, RepeatResult, "the repeat")
    return made


def _report(
    name: str,
    classifier: Classifier,
    inputs: LabelledInputs,
    seed: int,
    results: Sequence[RepeatResult],
    repeats: int,
) -> RepeatReport:
    description = classifier.predictor.describe()
    varies = classifier.predictor.randomised
    results = list(results)
    answers = [result["answers"] for result in results] * (1 if varies else repeats)
    valid = range(ABSTAINED, len(classifier.labels))
    if any(len(one) != len(inputs.labels) or any(a not in valid for a in one) for one in answers):
        raise UserError(f"The journal of {name} holds answers to other inputs. {JOURNAL_REMEDY}")
    statistics = repeat_statistics(inputs.labels, answers, classifier.labels, score=classifier.metric.score)
    for one, row in zip(statistics["per_input"], inputs.rows, strict=True):
        one["row"] = row
    about = {
        "format": FORMAT,
        "unfooled": __version__,
        "run": name,
        "model": classifier.identity(),
        "source": inputs.source,
        "rows": inputs.check and inputs.check.to_dict(),
        "predictor": description,
        "random": varies,
        "seed": seed,
        "complete": len(answers) == repeats,
        "refused": [{"row": one.row, "message": one.reason} for one in inputs.refused],
        "forwards_per_example": sum(result["forwards"] for result in results)
        / (len(results) * len(inputs.labels)),
        "seconds_per_repeat": sum(result["seconds"] for result in results) / len(results),
    }
    return RepeatReport(statistics, about)
