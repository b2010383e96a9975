"""Attack a victim on labelled inputs, example by example, resumably.

Every finished example is one transaction in the journal, under a key of everything its outcome depends on:
the victim's identity, the recipe and its settings, the limits, the seed, the example itself. So a killed run
goes on where it stood, a larger ``limit`` only adds examples, and nothing is mixed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unfooled.api.arguments import checks_arguments
from unfooled.api.attack_job import (
    REPORT,
    TABLE,
    AttackSpec,
    AttackTally,
    Progress,
    attack_job,
    attack_report,
    texts_to_fit,
    told,
)
from unfooled.api.load_inputs import load_inputs
from unfooled.api.target import Target, open_target, travelling
from unfooled.attacks import Limits, Recipe, make_recipe
from unfooled.attacks.parts.constraints import fitted_to
from unfooled.attacks.tools import Tools, check_access, lexicon_versions
from unfooled.attacks.victim import Victim
from unfooled.data import get_task, task_names
from unfooled.data.inputs import Inputs, as_inputs
from unfooled.errors import UsageError
from unfooled.parsing import quoted
from unfooled.records.attack_report import AttackReport
from unfooled.records.outcome import Outcome
from unfooled.settings import MOST_AT_ONCE, build, check_seed, check_whole
from unfooled.storage.journal import fingerprint, open_journal
from unfooled.storage.kept import Kept
from unfooled.storage.provenance import command, versions
from unfooled.storage.questions import Question, digests
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
    recipe: str | Mapping[str, Any] | Recipe = "textfooler",
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
    on_progress: Callable[[Progress], None] | None = None,
) -> AttackReport:
    """Attack ``victim``: a run folder, a classifier, a function, a pipeline, or a spec such as ``hf:NAME``.

    ``inputs`` says on which texts (default: the test split of the run's own task), of which the first
    ``limit`` in stratified order are attacked. ``recipe`` is a name, or a name with settings such as
    ``{"name": "textfooler", "candidates": 20}``; so is ``predictor``, for another one than the run's own.
    ``limits`` bounds what an attack may do, ``tools`` are the models that recipes ask beside the victim.

    Results of a run are kept in a result set, RUN/attacks/RECIPE, or with ``out=SetName("mine")`` in
    RUN/attacks/mine; those of another victim in the folder ``out``. There the report is ``attack.json`` and
    every outcome is in ``journal.sqlite``; the same call, or one with a larger ``limit``, goes on from there.
    Another question gets another result set (docs/result-sets.md). ``workers`` processes share the work, or
    actors on the Ray cluster at the address ``ray`` (``"local"`` starts one here); they and ``in_flight``
    change only the speed. A classifier that was loaded with ``precision="bf16"`` is searched in bfloat16;
    first answers, successes and re-verification are float32 all the same.

    >>> report = attack("runs/rsmi", recipe="textfooler", limit=200)
    >>> report.summary["asr"]["value"], report.summary["asr"]["interval"]
    """
    check_whole("--limit", limit)
    check_whole("--in-flight", in_flight, at_most=MOST_AT_ONCE)
    check_seed(seed)
    limits = build(Limits, vars(limits), owner="limits")
    tools = build(Tools, vars(tools), owner="attack")
    chosen = fitted_to(tools.similarity, _chosen(recipe))
    which = as_inputs(inputs)
    target = open_target(victim, predictor=predictor, device=device)
    check_fits(chosen, target, which)
    found = load_inputs(target.reader, target.run, which, limit=limit, lenient=True)
    if limits.sentence != "either" and found.pairs is None:
        raise UsageError(f"--sentence {limits.sentence} is for pairs; {found.source} has single texts.")

    fitted = "fill" in chosen.needs and tools.masked_lm is None
    conditions = {
        "unfooled": versions()["unfooled"],
        "victim": dict(target.identity),
        "recipe": _described(chosen),
        "limits": asdict(limits),
        "tools": asdict(tools)
        | ({"fitted_to": fingerprint({"texts": texts_to_fit(target, which)})} if fitted else {}),
        "seed": seed,
        "labels": found.names,
        "lexicon": lexicon_versions() | _own_files(chosen),
    }
    job = attack_job(found, fingerprint(conditions))
    question = Question(
        "attack",
        conditions,
        {"inputs": digests(told(job.items[number]) for number in range(len(job.items)))},
        found.source,
    )
    kept = choose_set(question, target.results, chosen.name, out)
    about = {
        "format": FORMAT,
        "result_set": kept.told(),
        "victim": {"name": target.name, **target.identity},
        "source": found.source,
        "rows": found.check and found.check.to_dict(),
        "limit": limit,
        **{name: conditions[name] for name in ("unfooled", "recipe", "limits", "tools", "seed", "lexicon")},
        "versions": versions(),
        "command": command(),
    }

    executor = make_executor(workers, ray)
    spec = AttackSpec(
        victim=target if executor.in_process else travelling(target),
        inputs=which,
        recipe=chosen,
        limits=limits,
        tools=tools,
        seed=seed,
        label_names=found.names,
        in_flight=in_flight,
        device=device,
    )
    tally = AttackTally(job.total)

    def report(outcomes: Kept[Outcome]) -> AttackReport:
        made = attack_report(
            outcomes,
            about,
            total=job.total,
            settled=len(job.settled),
            randomised=target.victim.randomised,
            labels=found.names or target.victim.labels,
        )
        kept.write(REPORT, made.to_dict())
        return made

    def tell() -> None:
        if on_progress:
            on_progress(tally.progress)

    kept.begin(question)
    with open_journal(kept.journal, TABLE) as journal:
        return job.run(
            journal,
            executor,
            spec,
            decode=Outcome.from_dict,
            report=report,
            take=tally.take,
            tell=tell,
            others=kept.reusable,
        )


def check_fits(recipe: Recipe, target: Target, inputs: Inputs) -> None:
    """Refuse a recipe that needs more of the victim than it shows, or is none for its task."""
    check_access(target.victim, recipe)
    check_meaning_decides(recipe, inputs.task or (target.reader.task or {}).get("name"))


def check_meaning_decides(recipe: Recipe, task: object) -> None:
    """Refuse a recipe that changes the meaning on a named task where the meaning does not tell the label."""
    if recipe.goal == "obstinate" and task in task_names() and get_task(str(task)).meaning_decides is False:
        raise UsageError(
            f"The recipe {recipe.name} changes the meaning of a text and expects another answer, but the "
            f"task {task} says that the opposite meaning keeps its label: an answer that stays is right. "
            "Choose a recipe with the goal fickle (`unfooled attack --list`)."
        )


def _chosen(recipe: str | Mapping[str, Any] | Recipe) -> Recipe:
    if isinstance(recipe, str):
        return make_recipe(recipe)
    if isinstance(recipe, Mapping):
        settings = dict(recipe)
        if "name" not in settings:
            raise UsageError('The recipe has no name: give one with its settings, {"name": "textfooler", …}.')
        return make_recipe(settings.pop("name"), settings)
    if not hasattr(recipe, "needs") or not hasattr(recipe, "search"):
        raise UsageError(f"A recipe is a name, or a name with settings, not {quoted(recipe)}.")
    return recipe


def _own_files(recipe: Recipe) -> dict[str, str]:
    """What the user's own word vectors and paraphrases hold; a name alone would not tell."""
    from unfooled.assets.digest import of_file

    named = {name: getattr(recipe, name, None) for name in ("vectors", "ppdb")}
    return {name: of_file(Path(path)) for name, path in named.items() if path and Path(path).is_file()}


def _described(recipe: Recipe) -> dict[str, Any]:
    # What is left open stays out of the key: recipes gain such settings, and old journals still fit.
    settings = {name: value for name, value in asdict(recipe).items() if value is not None}  # type: ignore[call-overload]
    return {"name": recipe.name, "paper": recipe.paper, "goal": recipe.goal, "settings": settings}
