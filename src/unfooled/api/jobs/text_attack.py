"""An attack on texts, prepared: the examples, everything an outcome depends on, what a worker needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from unfooled.api.inputs.load_inputs import load_inputs
from unfooled.api.jobs.attack_job import (
    AttackChoices,
    AttackSpec,
    PreparedAttack,
    attack_job,
    described,
    texts_to_fit,
    told,
)
from unfooled.api.target import Target
from unfooled.attacks import Recipe
from unfooled.attacks.limits import OF_QUESTIONS, Limits
from unfooled.attacks.parts.constraints import fitted_to
from unfooled.attacks.tools import check_access, lexicon_versions
from unfooled.data import get_task, task_names
from unfooled.data.inputs import Inputs
from unfooled.errors import UsageError
from unfooled.records.summaries.attack_summary import attack_summary
from unfooled.storage.journal import fingerprint
from unfooled.storage.provenance import versions
from unfooled.storage.questions import digests


def prepare_texts(target: Target, recipe: Recipe, inputs: Inputs, choices: AttackChoices) -> PreparedAttack:
    """The attack of ``recipe`` on the texts that ``inputs`` names."""
    limits, tools = choices.limits, choices.tools
    chosen = fitted_to(tools.similarity, recipe)
    if choices.sizes:
        raise UsageError(f"--sizes are sizes of attacks on images, and {target.name} reads texts.")
    check_limits(limits, OF_QUESTIONS, "questions")
    check_fits(chosen, target, inputs)
    found = load_inputs(target.reader, target.run, inputs, limit=choices.limit, lenient=True)
    if limits.sentence != "either" and found.pairs is None:
        raise UsageError(f"--sentence {limits.sentence} is for pairs; {found.source} has single texts.")
    fitted = "fill" in chosen.needs and tools.masked_lm is None
    conditions: dict[str, Any] = {
        "unfooled": versions()["unfooled"],
        "victim": dict(target.identity),
        "recipe": described(chosen),
        "limits": {name: value for name, value in asdict(limits).items() if name not in OF_QUESTIONS},
        "tools": asdict(tools)
        | ({"fitted_to": fingerprint({"texts": texts_to_fit(target, inputs)})} if fitted else {}),
        "seed": choices.seed,
        "labels": found.names,
        "lexicon": lexicon_versions() | own_files(chosen),
    }
    job = attack_job(found, fingerprint(conditions))
    spec = AttackSpec(
        victim=choices.opened(target),
        inputs=inputs,
        recipe=chosen,
        limits=limits,
        tools=tools,
        seed=choices.seed,
        label_names=found.names,
        in_flight=choices.in_flight,
        device=choices.device,
    )
    return PreparedAttack(
        job=job,
        spec=spec,
        conditions=conditions,
        asked={"inputs": digests(told(job.items[number]) for number in range(len(job.items)))},
        source=found.source,
        name=chosen.name,
        labels=found.names or tuple(target.victim.labels),
        check=found.check,
        about={name: conditions[name] for name in ("recipe", "limits", "tools", "seed", "lexicon")},
        summarise=lambda outcomes: attack_summary(
            outcomes, goal=chosen.goal, randomised=target.victim.randomised
        ),
    )


def check_limits(limits: Limits, names: Iterable[str], things: str) -> None:
    """Refuse limits that are for attacks on other things."""
    for field in fields(Limits):
        if field.name in names and getattr(limits, field.name) != field.default:
            raise UsageError(f"--{field.name.replace('_', '-')} is for attacks on {things}. Leave it out.")


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


def own_files(recipe: Recipe) -> dict[str, str]:
    """What the user's own word vectors and paraphrases hold; a name alone would not tell."""
    from unfooled.assets.digest import of_file

    named = {name: getattr(recipe, name, None) for name in ("vectors", "ppdb")}
    return {name: of_file(Path(path)) for name, path in named.items() if path and Path(path).is_file()}
