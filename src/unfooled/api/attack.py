"""Attack a victim on labelled inputs, example by example, resumably.

Every finished example is one transaction in the journal, under a key of everything its outcome depends on:
the victim's identity, the recipe and its settings, the limits, the seed, the example itself. So a killed run
goes on where it stood, a larger ``limit`` only adds examples, and nothing is mixed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from unfooled.api.attack_work import JOURNAL, REPORT, TABLE, AttackReport, Progress, Work
from unfooled.api.inputs import load_inputs, training_texts
from unfooled.api.victim import Target, open_target
from unfooled.attacks import Example, Limits, Recipe, make_recipe, run_attacks
from unfooled.attacks.parts.constraints import fitted_to
from unfooled.attacks.tools import Tools, check_access, lexicon_versions, make_services
from unfooled.errors import UsageError, UserError
from unfooled.records.outcome import Outcome
from unfooled.settings import build
from unfooled.storage.files import writable, write_json
from unfooled.storage.journal import TEMPORARY, fingerprint, open_journal
from unfooled.storage.provenance import versions

FORMAT = 1


def attack(
    victim: Any,
    *,
    task: str | None = None,
    data: str | None = None,
    split: str = "test",
    limit: int | None = 200,
    columns: Mapping[str, str | None] | None = None,
    encoding: str = "utf-8",
    recipe: str | Recipe = "textfooler",
    settings: Mapping[str, Any] | None = None,
    limits: Limits | Mapping[str, Any] | None = None,
    tools: Tools | Mapping[str, Any] | None = None,
    seed: int = 0,
    in_flight: int = 128,
    predictor: str | None = None,
    predictor_settings: Mapping[str, Any] | None = None,
    victim_options: Mapping[str, Any] | None = None,
    device: str = "auto",
    precision: str = "float32",
    out: str | Path | None = None,
    command: str | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> AttackReport:
    """Attack ``victim``: a run folder, a classifier, a function, a pipeline, or a spec such as ``hf:NAME``.

    With ``out`` (a run folder has a default, RUN/attacks/RECIPE) the report is kept as ``attack.json`` and
    every outcome in ``journal.sqlite``; the same call goes on from there. ``in_flight`` only changes speed.
    ``precision="bf16"`` searches a run folder in bfloat16: faster where the hardware has it, and a little
    dependent on ``in_flight`` then. First answers, successes and re-verification are float32 all the same.

    >>> report = attack("runs/rsmi", recipe="textfooler", limit=200)
    >>> report.summary["asr"]["value"], report.summary["asr"]["interval"]
    """
    for name, value in (("limit", 1 if limit is None else limit), ("in-flight", in_flight)):
        if value < 1:
            raise UsageError(f"--{name} must be at least 1, got {value}.")
    chosen = make_recipe(recipe, settings) if isinstance(recipe, str) else recipe
    limits = make_limits(limits)
    tools = tools if isinstance(tools, Tools) else build(Tools, tools or {}, owner="attack")
    chosen = fitted_to(tools.similarity, chosen)
    target = open_target(
        victim,
        predictor=predictor,
        predictor_settings=predictor_settings,
        victim_options=victim_options,
        device=device,
        precision=precision,
    )
    check_access(target.victim, chosen)
    columns = columns or {}
    load = {"task": task, "data": data, "split": split, "columns": columns, "encoding": encoding}
    inputs = load_inputs(target.reader, target.run, limit=limit, lenient=True, **load)  # type: ignore[arg-type]
    if limits.sentence != "either" and inputs.pairs is None:
        raise UsageError(f"--sentence {limits.sentence} is for pairs; {inputs.source} has single texts.")

    @cache
    def texts() -> list[str]:
        found = training_texts(target.run, task=task, data=data, columns=columns)
        if found is None:
            every = load_inputs(target.reader, target.run, lenient=True, **load)  # type: ignore[arg-type]
            found = [*every.texts, *(every.pairs or [])]
        return found

    fitted = "fill" in chosen.needs and tools.masked_lm is None
    conditions = {
        "unfooled": versions()["unfooled"],
        "victim": dict(target.identity),
        "recipe": _described(chosen),
        "limits": asdict(limits),
        "tools": asdict(tools) | ({"fitted_to": fingerprint({"texts": texts()})} if fitted else {}),
        "seed": seed,
        "labels": inputs.names,
        "lexicon": lexicon_versions() | _own_files(chosen),
    }
    work = Work(inputs, fingerprint(conditions))
    folder = default_folder(target, chosen.name) if out is None else Path(out)
    about = {
        "format": FORMAT,
        "victim": {"name": target.name, **target.identity},
        "source": inputs.source,
        "limit": limit,
        **{name: conditions[name] for name in ("unfooled", "recipe", "limits", "tools", "seed", "lexicon")},
        "versions": versions(),
        "command": command,
    }

    tell = on_progress or (lambda _: None)

    def attacked(examples: list[Example]) -> Iterator[Outcome]:
        if examples:
            services = make_services(target.victim, chosen, tools, training_texts=texts, device=device)
            tell(work.progress)  # from here on, time is spent on examples
            yield from run_attacks(
                examples,
                chosen,
                services,
                limits=limits,
                seed=seed,
                randomised=target.victim.randomised,
                label_names=inputs.names,
                in_flight=in_flight,
            )

    def report() -> AttackReport:
        return work.report(
            about, randomised=target.victim.randomised, labels=inputs.names or target.victim.labels
        )

    if folder is not None and "unknown" in target.identity and (folder / JOURNAL).is_file():
        print(
            f"{writable(folder)} holds results of a victim that may be another one: {target.name} does not "
            "say which it is. All inputs are attacked anew.",
            file=sys.stderr,
        )

    try:
        with open_journal(TEMPORARY if folder is None else folder / JOURNAL, TABLE) as journal:
            left = work.resume(journal)
            tell(work.progress)
            for outcome in attacked(left):
                work.keep(journal, outcome)
                tell(work.progress)
    except (KeyboardInterrupt, UserError):
        if folder is not None and work.progress.done:
            write_json(folder / REPORT, report().to_dict())
        raise
    finished = report()
    if folder is not None:
        write_json(folder / REPORT, finished.to_dict())
    return finished


def make_limits(limits: Limits | Mapping[str, Any] | None) -> Limits:
    """Limits from names and values, checked; the pattern must be a regular expression."""
    made = limits if isinstance(limits, Limits) else build(Limits, limits or {}, owner="limits")
    try:
        re.compile(made.protect_pattern or "")
    except re.error as error:
        raise UsageError(
            f"--protect-pattern {made.protect_pattern!r} is not a regular expression: {error}."
        ) from error
    return made


def default_folder(target: Target, recipe: str) -> Path | None:
    """RUN/attacks/RECIPE; nothing is kept of a victim that is not a run, unless a folder is named."""
    return None if target.run is None else target.run / "attacks" / recipe


def _own_files(recipe: Recipe) -> dict[str, str]:
    """What the user's own word vectors and paraphrases hold; a name alone would not tell."""
    from unfooled.lexicon.vector_files import file_digest

    named = {name: getattr(recipe, name, None) for name in ("vectors", "ppdb")}
    return {name: file_digest(Path(path)) for name, path in named.items() if path and Path(path).is_file()}


def _described(recipe: Recipe) -> dict[str, Any]:
    # What is left open stays out of the key: recipes gain such settings, and old journals still fit.
    settings = {name: value for name, value in asdict(recipe).items() if value is not None}  # type: ignore[call-overload]
    return {"name": recipe.name, "paper": recipe.paper, "goal": recipe.goal, "settings": settings}
