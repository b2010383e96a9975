"""An attack on questions, prepared: the contexts to attack, and everything an outcome depends on.

Recipes for texts substitute words of the context; those for questions add a sentence, which is made here, so
that it is part of the example. Job, worker and journal are those of texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from unfooled.api.inputs.generated_questions import sentences_of
from unfooled.api.inputs.question_inputs import questions_to_attack, training_contexts
from unfooled.api.jobs.attack_job import (
    AttackChoices,
    AttackSpec,
    PreparedAttack,
    described,
    worth_another_try,
)
from unfooled.api.jobs.text_attack import check_limits, own_files
from unfooled.api.target import Target
from unfooled.attacks import Recipe
from unfooled.attacks.attempt import Attempt
from unfooled.attacks.parts.constraints import fitted_to
from unfooled.attacks.questions.distraction import QuestionRecipe
from unfooled.attacks.questions.question_attempt import QuestionAttempt, QuestionExample
from unfooled.attacks.questions.right_answers import CLASSES, RIGHT
from unfooled.attacks.registry import reads
from unfooled.attacks.tools import lexicon_versions
from unfooled.data.inputs import Inputs
from unfooled.data.qa import QuestionRows
from unfooled.errors import UsageError
from unfooled.files import JsonObject
from unfooled.records.summaries.question_summary import question_attack_summary
from unfooled.storage.journal import Key, fingerprint
from unfooled.storage.provenance import versions
from unfooled.storage.questions import digests
from unfooled.work.job import Job

OF_WORDS = ("max_changed", "protect", "protect_pattern")
"""Limits of recipes that substitute words."""


@dataclass(frozen=True)
class QuestionAttackSpec(AttackSpec):
    """What a worker needs to attack questions."""

    begin: ClassVar[Callable[..., Attempt]] = QuestionAttempt

    def texts_to_fit(self, target: Target) -> list[str]:
        return training_contexts(target.run, self.inputs)


def prepare_questions(
    target: Target, recipe: Recipe | QuestionRecipe, inputs: Inputs, choices: AttackChoices
) -> PreparedAttack:
    """The attack of ``recipe`` on the questions that ``inputs`` names."""
    limits, tools = choices.limits, choices.tools
    chosen: Any = fitted_to(tools.similarity, recipe)
    adds = reads(chosen) == "question"
    if choices.sizes:
        raise UsageError(f"--sizes are sizes of attacks on images, and {target.name} answers questions.")
    if limits.sentence != "either":
        raise UsageError("--sentence is for pairs of texts; of a question only the context is attacked.")
    if adds:
        check_limits(limits, OF_WORDS, "words, and this one adds a sentence")
    found = questions_to_attack(target.run, inputs, limit=choices.limit)
    sentences = (
        sentences_of(found.rows.questions, chosen.name, count=chosen.sentences, seed=choices.seed)
        if adds
        else [None] * len(found.rows)
    )
    fitted = "fill" in chosen.needs and tools.masked_lm is None
    conditions: dict[str, Any] = {
        "unfooled": versions()["unfooled"],
        "victim": dict(target.identity),
        "recipe": described(chosen),
        "limits": {name: value for name, value in asdict(limits).items() if name != "sentence"},
        "tools": asdict(tools)
        | ({"fitted_to": fingerprint({"texts": training_contexts(target.run, inputs)})} if fitted else {}),
        "seed": choices.seed,
        "labels": CLASSES,
        "lexicon": lexicon_versions() | own_files(chosen),
    }
    items = _examples(found.rows, sentences)
    return PreparedAttack(
        job=_job(items, fingerprint(conditions)),
        spec=QuestionAttackSpec(
            victim=choices.opened(target),
            inputs=inputs,
            recipe=chosen,
            limits=limits,
            tools=tools,
            seed=choices.seed,
            label_names=CLASSES,
            in_flight=choices.in_flight,
            device=choices.device,
        ),
        conditions=conditions,
        asked={"inputs": digests(map(_told, items))},
        source=found.source,
        name=chosen.name,
        labels=CLASSES,
        check=found.check,
        about={
            "reads": "question",
            **{name: conditions[name] for name in ("recipe", "limits", "tools", "seed", "lexicon")},
        },
        summarise=lambda outcomes: question_attack_summary(
            outcomes,
            randomised=target.victim.randomised,
            success=limits.success,
            f1_below=limits.f1_below,
        ),
    )


def _examples(rows: QuestionRows, sentences: Sequence[tuple[str, ...] | None]) -> list[QuestionExample]:
    return [
        QuestionExample(
            row=question.row,
            texts=(question.text, question.context),
            label=RIGHT,
            id=question.id,
            paragraph=fingerprint({"paragraph": paragraph})[:16],
            answers=tuple((answer.text, answer.start) for answer in question.answers),
            sentences=own,
        )
        for question, paragraph, own in zip(rows.questions, rows.paragraphs, sentences, strict=True)
    ]


def _told(example: QuestionExample) -> JsonObject:
    """Which question it is, for its key and for the question of a result set."""
    return {name: getattr(example, name) for name in (field.name for field in fields(example))}


def _job(items: Sequence[QuestionExample], conditions: str) -> Job[QuestionExample]:
    def key(example: QuestionExample) -> Key:
        return fingerprint({"conditions": conditions, **_told(example)}), example.row

    return Job(
        items=items,
        key=key,
        name=lambda example: f"question {example.id} ({example.texts[0][:60]!r})",
        settled=[],
        again=worth_another_try,
    )
