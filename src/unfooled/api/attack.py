"""Attack a victim on labelled inputs, example by example, resumably.

Every finished example is one transaction in the journal, under a key of everything its outcome depends on:
the victim's identity, the recipe and its settings, the limits, the seed, the example itself. So a killed run
goes on where it stood, a larger ``limit`` only adds examples, and nothing is mixed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unfooled.api.arguments import checks_arguments
from unfooled.api.jobs.attack_job import (
    REPORT,
    TABLE,
    AttackChoices,
    AttackTally,
    PreparedAttack,
    Progress,
    attack_report,
)
from unfooled.api.target import Target, open_target, reads_images, reads_questions
from unfooled.attacks import Limits, any_recipe
from unfooled.attacks.registry import DEFAULTS, AnyRecipe, for_images, for_questions, for_texts
from unfooled.attacks.tools import Tools
from unfooled.attacks.victim import Victim
from unfooled.data.inputs import Inputs, as_inputs
from unfooled.errors import UsageError
from unfooled.live_bar import Told, following
from unfooled.parsing import quoted
from unfooled.records.outcome import Outcome
from unfooled.records.results.attack_report import AttackReport
from unfooled.settings import MOST_AT_ONCE, build, check_seed, check_whole
from unfooled.storage.journal import open_journal
from unfooled.storage.kept import Kept
from unfooled.storage.provenance import command, versions
from unfooled.storage.questions import Question
from unfooled.storage.result_sets import SetName, choose_set
from unfooled.work.executor import make_executor

if TYPE_CHECKING:
    from unfooled.predictors import Classifier
    from unfooled.predictors.override import PredictorChoice

FORMAT = 1


@checks_arguments
def attack(
    victim: str | Path | Classifier | Victim | Callable[..., Any] | Target,
    inputs: Inputs | Sequence[str] | None = None,
    *,
    recipe: str | Mapping[str, Any] | AnyRecipe | None = None,
    sizes: Sequence[float] = (),
    limit: int | None = 200,
    limits: Limits = Limits(),
    tools: Tools = Tools(),
    predictor: PredictorChoice = None,
    seed: int = 0,
    device: str = "auto",
    in_flight: int = 128,
    workers: int | None = None,
    ray: str | None = None,
    out: str | Path | SetName | None = None,
    progress: Callable[[Progress], None] | bool | None = None,
) -> AttackReport:
    """Attack ``victim``: a run folder, a classifier, a function, a pipeline, or a spec such as ``hf:NAME``.

    ``inputs`` says on which texts, questions or images (default: the test split of the run's own task), of
    which the first ``limit`` are attacked, in stratified order; questions as they stand. ``recipe`` is a name
    (default: textfooler, for images pgd-linf, for questions addsent), or a name with settings such as
    ``{"name": "textfooler", "candidates": 20}``; so is ``predictor``, for another one than the run's own.
    ``sizes`` are the sizes of the attack on an image (ε): each is tried, for accuracy against size.
    ``limits`` bounds what an attack may do and says which answers to questions are right, ``tools`` are the
    models that recipes ask beside the victim.

    Results of a run are kept in a result set, RUN/attacks/RECIPE, or with ``out=SetName("mine")`` in
    RUN/attacks/mine; those of another victim in the folder ``out``. There the report is ``attack.json`` and
    every outcome is in ``journal.sqlite``; the same call, or one with a larger ``limit``, goes on from there.
    Another question gets another result set (docs/result-sets.md). ``workers`` processes share the work, or
    actors on the Ray cluster at the address ``ray`` (``"local"`` starts one here); they and ``in_flight``
    change only the speed. A classifier that was loaded with ``precision="bf16"`` is searched in bfloat16;
    first answers, successes and re-verification are float32 all the same. ``progress`` is called with each
    :class:`Progress`; None shows a bar in a terminal or a notebook, True everywhere, False nowhere.

    >>> report = attack("runs/rsmi", recipe="textfooler", limit=200)
    >>> report.summary["asr"]["value"], report.summary["asr"]["interval"]
    """
    check_whole("--limit", limit)
    check_whole("--in-flight", in_flight, at_most=MOST_AT_ONCE)
    check_seed(seed)
    executor = make_executor(workers, ray)
    choices = AttackChoices(
        limit=limit,
        limits=build(Limits, vars(limits), owner="limits"),
        tools=build(Tools, vars(tools), owner="attack"),
        sizes=tuple(sizes),
        seed=seed,
        device=device,
        in_flight=in_flight,
        in_process=executor.in_process,
    )
    chosen = None if recipe is None else _chosen(recipe)
    which = as_inputs(inputs)
    target = open_target(victim, predictor=predictor, device=device)
    prepared = _prepared(target, chosen, which, choices)
    question = Question("attack", prepared.conditions, prepared.asked, prepared.source)
    kept = choose_set(question, target.results, prepared.name, out)
    about = {
        "format": FORMAT,
        "result_set": kept.told(),
        "victim": {"name": target.name, **target.identity},
        "source": prepared.source,
        "rows": prepared.check and prepared.check.to_dict(),
        "limit": limit,
        "unfooled": prepared.conditions["unfooled"],
        **prepared.about,
        "versions": versions(),
        "command": command(),
    }
    job = prepared.job
    tally = AttackTally(job.total)

    def report(outcomes: Kept[Outcome]) -> AttackReport:
        made = attack_report(outcomes, about, prepared)
        kept.write(REPORT, made.to_dict())
        return made

    kept.begin(question)
    with (
        open_journal(kept.journal, TABLE) as journal,
        following(progress, f"attack {prepared.name}", _told) as follow,
    ):
        return job.run(
            journal,
            executor,
            prepared.spec,
            decode=Outcome.from_dict,
            report=report,
            take=tally.take,
            tell=lambda: follow(tally.progress),
            others=kept.reusable,
        )


def _told(now: Progress) -> Told:
    return now.done, now.total, "" if now.asr is None else f"ASR {now.asr:.3f}"


def _prepared(
    target: Target, recipe: AnyRecipe | None, inputs: Inputs, choices: AttackChoices
) -> PreparedAttack:
    """The attack on texts, questions or images, as the victim reads; a recipe for others is refused."""
    if reads_questions(target):
        from unfooled.api.jobs.question_attack import prepare_questions

        chosen = for_questions(recipe or any_recipe(DEFAULTS["question"]))
        return prepare_questions(target, chosen, inputs, choices)
    if reads_images(target):
        from unfooled.api.jobs.image_attack import prepare_images

        return prepare_images(target, for_images(recipe or any_recipe(DEFAULTS["image"])), inputs, choices)
    from unfooled.api.jobs.text_attack import prepare_texts

    return prepare_texts(target, for_texts(recipe or any_recipe(DEFAULTS["text"])), inputs, choices)


def _chosen(recipe: str | Mapping[str, Any] | AnyRecipe) -> AnyRecipe:
    if isinstance(recipe, str):
        return any_recipe(recipe)
    if isinstance(recipe, Mapping):
        settings = dict(recipe)
        if "name" not in settings:
            raise UsageError('The recipe has no name: give one with its settings, {"name": "textfooler", …}.')
        return any_recipe(settings.pop("name"), settings)
    if not hasattr(recipe, "needs") or not hasattr(recipe, "search"):
        raise UsageError(f"A recipe is a name, or a name with settings, not {quoted(recipe)}.")
    return recipe
