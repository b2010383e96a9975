"""The command, seed and versions behind each number; the command of this page is the template's own."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from unfooled.files import JsonMapping, JsonObject
from unfooled.records.evidence import Evidence, ModelEvidence
from unfooled.reports.section import Content, Section


def content(data: Evidence) -> Content:
    if not data.models:
        return None
    return {"models": [{"model": model, "steps": list(_steps(model))} for model in data.models]}


def _steps(model: ModelEvidence) -> Iterator[JsonObject]:
    run = model.run
    if run and run.config_text:
        again = ["unfooled", "train", "--config", f"{run.folder}/config.yaml", "--out", f"{run.folder}-again"]
        what = "Train and measure it again from its own configuration, seed included"
        yield {"what": what, "command": shlex.join(again), "versions": _versions(run.versions)}
    for attack in model.attacks:
        yield _step(f"Attack {attack.name}", attack.about, _attack_command(model, attack.about))
    for one in model.certified:
        yield _step(one.of(f"Certificates, {one.threat}"), one.about, None)
    for repeated in model.repeated:
        found = repeated.found
        command = found.get("command") or shlex.join(
            ["unfooled", "repeat", str(found.get("run", model.name)), *_options(found)]
        )
        yield _step(repeated.of("Repeated evaluation"), found, command)
    for states in model.representations:
        yield _step(states.of("Hidden states"), states.found, None)


def _options(repeated: JsonMapping) -> list[str]:
    named = {"repeats": repeated["repeats"], "limit": repeated["inputs"], "seed": repeated["seed"]}
    return [part for name, value in named.items() for part in (f"--{name}", str(value))]


def _step(what: str, about: JsonMapping, command: str | None) -> JsonObject:
    seed = about.get("seed")
    versions = about.get("versions") or {"unfooled": about.get("unfooled", "version not known")}
    return {
        "what": what + (f", seed {seed}" if seed is not None else ""),
        "command": about.get("command") or command or "",
        "versions": _versions(versions),
    }


def _attack_command(model: ModelEvidence, about: JsonMapping) -> str | None:
    """For attacks made from Python, the command that does the same, as far as it is known."""
    if about.get("command") or not model.run:
        return None
    parts = ["unfooled", "attack", model.run.folder, "--recipe", about["recipe"]["name"]]
    if about.get("limit"):
        parts += ["--limit", str(about["limit"])]
    return shlex.join([*parts, "--seed", str(about.get("seed", 0))])


def _versions(versions: JsonMapping) -> str:
    return ", ".join(f"{name} {value}" for name, value in versions.items())


SECTION = Section("reproduce", "How to reproduce", content)
