"""``unfooled.evaluate``: a run that answers questions on clean and adversarial files, side by side.

The clean file is the run's own test split if none is named. Questions on a paragraph that the run was trained
on are left out and counted; an adversarial copy belongs to the paragraph of its original.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from unfooled import __version__
from unfooled.api.arguments import checks_arguments
from unfooled.api.inputs.generated_questions import with_copies
from unfooled.api.inputs.question_inputs import (
    first_questions,
    original_questions,
    own_questions,
    unseen_questions,
)
from unfooled.api.target import open_classifier
from unfooled.attacks.questions.add_sent import GENERATORS
from unfooled.data.qa import AskedQuestion, QuestionRows, original_id, originals_of, read_questions
from unfooled.errors import UserError
from unfooled.files import JsonObject, writable, write_json, write_text
from unfooled.live_bar import following
from unfooled.models import Unreadable, as_questions
from unfooled.records.results.evaluation_report import KEPT_EXAMPLES, EvaluationReport
from unfooled.records.summaries.answer_scores import answer_metrics
from unfooled.records.summaries.robust_answers import (
    AnsweredQuestion,
    RobustAnswer,
    robust_answers,
    robust_metrics,
)
from unfooled.settings import MOST_VOTES, check_seed, check_whole, choose
from unfooled.storage.journal import fingerprint
from unfooled.training.run_rows import read_fingerprints

if TYPE_CHECKING:
    from unfooled.predictors import Classifier
    from unfooled.predictors.override import PredictorChoice

FORMAT = 1
EVALUATION = "evaluation.json"
AT_ONCE = 64
"""Questions that are read and answered together."""


@checks_arguments
def evaluate(
    classifier: Classifier | str | Path,
    data: str | Path | None = None,
    *,
    adversarial: Sequence[str | Path] = (),
    generate: Sequence[str] = (),
    limit: int | None = None,
    lenient: bool = False,
    allow_training_rows: bool = False,
    encoding: str = "utf-8",
    predictor: PredictorChoice = None,
    seed: int = 0,
    fresh_answers: int = 20,
    device: str = "auto",
    out: str | Path | None = None,
    progress: Callable[[int, int], None] | bool | None = None,
) -> EvaluationReport:
    """F1 and exact match on ``data`` (default: the run's test questions) and on each ``adversarial`` file.

    An adversarial file holds copies of questions, named ORIGINAL-SUFFIX as in Jia & Liang's files, and
    perhaps the originals. A question counts with its worst copy (AddSent); with one copy each, that is the
    copy as it stands (AddOneSent). The drop is measured on the questions whose clean answer is known.
    ``generate`` makes adversarial copies of the clean questions here: ``addsent`` (several, the worst counts)
    or ``addonesent`` (one, whatever the model). The worst copies are asked ``fresh_answers`` times again if
    the predictor draws noise.
    ``limit`` is the number of original questions to use from each file; ``lenient`` leaves out bad records.
    The report is kept as RUN/evaluations/NAME/evaluation.json, or in the folder ``out``. ``progress`` is
    called with the questions that are answered and their total; None shows a bar in a terminal or a notebook.

    >>> evaluate("runs/qa", "dev.json", adversarial=["add_sent.json"])
    """
    from unfooled.predictors.override import with_predictor

    check_whole("--limit", limit)
    check_seed(seed)
    check_whole("--fresh-answers", fresh_answers, at_least=0, at_most=MOST_VOTES)
    for name in generate:
        choose(GENERATORS, name, kind="generator")
    own, run = open_classifier(classifier, device=device)
    as_questions(own.model)
    opened = with_predictor(own, predictor)
    known = None if run is None else read_fingerprints(run)

    def read(path: str | Path) -> tuple[QuestionRows, JsonObject]:
        found = read_questions(path, encoding=encoding, lenient=lenient)
        rows, check = unseen_questions(found.rows, run, known, writable(path), include=allow_training_rows)
        told = None if check is None else check.to_dict()
        return rows, {"source": writable(path), "dropped": dict(found.dropped), "rows": told}

    parts = [own_questions(run) if data is None else read(data), *(read(path) for path in adversarial)]
    parts = [(first_questions(rows, limit), about) for rows, about in parts]
    given = len(parts)
    for name in generate:
        copied = with_copies(original_questions(parts[0][0]), name, seed=seed)
        parts.append((copied, {"source": name, "dropped": {}, "rows": None, "generated": name}))
    total, done = sum(len(rows) for rows, _ in parts), 0
    answered: list[list[AnsweredQuestion]] = []
    with following(progress, "evaluate", lambda done, total: (done, total, "")) as follow:
        for number, (rows, _) in enumerate(parts):
            answered.append([])
            # Copies may have any suffix if their originals are there; a clean file has none but AddSent's.
            plain = {question.id: original_id(question.id) for question in rows}
            originals = originals_of(rows.questions, parts[0][0].questions) if number else plain
            for start in range(0, len(rows), AT_ONCE):
                places = range(len(rows))[start : start + AT_ONCE]
                answered[-1] += _answers(opened, rows.take(places), originals, seed)
                done += len(places)
                follow(done, total)
    clean = {**parts[0][1], **_clean(answered[0])}
    known_clean = {one.id: one for one in answered[0]}
    adversaries = []
    for own_answers, (_, about) in zip(answered[1:], parts[1:], strict=True):
        compared = robust_answers(own_answers, known_clean)
        if opened.predictor.randomised and fresh_answers:
            compared = _asked_again(opened, compared, fresh_answers)
        adversaries.append({**about, **_adversarial(compared)})
    report = EvaluationReport(
        clean,
        adversaries,
        {
            "format": FORMAT,
            "unfooled": __version__,
            "run": writable(run) if run else f"a classifier ({opened.defence})",
            "defence": opened.defence,
            "model": opened.identity(),
            "predictor": opened.predictor.describe(),
            "seed": seed,
            "limit": limit,
        },
    )
    folder = Path(out) if out is not None else _folder(run, report)
    if folder is not None:
        write_json(folder / EVALUATION, report.to_dict())
        for rows, about in parts[given:]:
            lines = (json.dumps(question.to_dict(), ensure_ascii=False) + "\n" for question in rows)
            write_text(folder / f"{about['generated']}.jsonl", "".join(lines))
    return report


def _folder(run: Path | None, report: EvaluationReport) -> Path | None:
    """Named by the files and by all that the answers depend on: another question gets another folder."""
    if run is None:
        return None
    sources = [report.clean["source"], *(one["source"] for one in report.adversarial)]
    told = fingerprint({**report.about, "sources": sources, "rows": [report.clean["examples"]]})[:8]
    return run / "evaluations" / f"{Path(sources[-1]).stem}-{told}"


def _asked_again(classifier: Classifier, found: list[RobustAnswer], times: int) -> list[RobustAnswer]:
    """With fresh answers to each worst copy: one lucky draw is no adversarial example."""
    again = []
    for one in found:
        if not one.copies:
            again.append(one)
            continue
        (item,) = classifier.model.read([(one.worst.question, one.worst.context)])
        items = [] if isinstance(item, Unreadable) else [item] * times
        fresh = tuple(
            replace(
                one.worst,
                answer=str(classifier.answer(item, decision)),
                span=decision.span,
                abstained=decision.abstained,
            )
            for decision in classifier.decide(items, seed=None)
        )
        again.append(replace(one, again=fresh or (one.worst,)))
    return again


def _answers(
    classifier: Classifier, rows: QuestionRows, originals: Mapping[str, str], seed: int
) -> list[AnsweredQuestion]:
    items = classifier.model.read([(question.text, question.context) for question in rows])
    kept = [place for place, item in enumerate(items) if not isinstance(item, Unreadable)]
    decisions = dict(zip(kept, classifier.decide([items[place] for place in kept], seed=seed), strict=True))
    found = []
    for place, (question, paragraph) in enumerate(zip(rows.questions, rows.paragraphs, strict=True)):
        plain = _unanswered(question, originals[question.id], paragraph)
        if (decision := decisions.get(place)) is not None:
            plain = replace(
                plain,
                answer=str(classifier.answer(items[place], decision)),
                span=decision.span,
                abstained=decision.abstained,
                forwards=decision.forwards,
            )
        found.append(plain)
    return found


def _unanswered(question: AskedQuestion, original: str, paragraph: str) -> AnsweredQuestion:
    """A question that the tokenizer reads nothing of gets no answer."""
    return AnsweredQuestion(
        question.id,
        original,
        paragraph,
        question.text,
        question.context,
        question.truth,
        answer="",
    )


def _clean(answered: Sequence[AnsweredQuestion]) -> JsonObject:
    """The clean questions among them: in an adversarial file, the originals."""
    own = [one for one in answered if one.id == one.original]
    if not own:
        raise UserError("--data holds adversarial copies only. Name it with --adversarial.")
    return answer_metrics(
        [one.answer for one in own],
        [one.truth for one in own],
        abstained=[one.abstained for one in own],
        forwards=[one.forwards for one in own],
        groups=[one.paragraph for one in own],
    )


def _adversarial(found: Sequence[RobustAnswer]) -> JsonObject:
    """Metrics, one short row per question, and the broken ones with their contexts for the report."""
    broken = [one for one in found if one.clean and one.clean.score("f1") > one.worst.score("f1")]
    broken.sort(key=lambda one: one.worst.score("f1") - (one.clean.score("f1") if one.clean else 0.0))
    return {
        **robust_metrics(found),
        "answers": [
            {
                "id": one.worst.original,
                "copies": one.copies,
                "worst": one.worst.id,
                "answer": one.worst.answer,
                "f1": one.worst.score("f1"),
                "clean_f1": None if one.clean is None else one.clean.score("f1"),
            }
            for one in found
        ],
        "examples": [one.to_dict() for one in broken[:KEPT_EXAMPLES]],
        "broken": len(broken),
    }
