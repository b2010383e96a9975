"""What attacks, certificates and published figures of a plan must look like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unfooled.benchmarks.plan import AttackPlan, CertificatePlan, DefencePlan
from unfooled.benchmarks.plan_values import at, entries, mapping, section
from unfooled.errors import UsageError
from unfooled.settings import build, check_names, check_range

_FIGURES = ("task", "model", "defence", "attack", "sacc", "racc", "asr", "avgq", "note")
_PERCENT = ("sacc", "racc", "asr")


def check_recipe(attack: AttackPlan, where: str) -> None:
    """The recipe, its settings, the limits and the tools, by name, type and range."""
    from unfooled.attacks import Limits, make_recipe
    from unfooled.attacks.tools import Tools

    with at(where):
        make_recipe(attack.recipe, attack.settings)
        build(Limits, attack.limits, owner="limits")
        build(Tools, attack.tools, owner="tools")


def certificate_part(values: dict[str, Any], where: str, defences: Sequence[DefencePlan]) -> CertificatePlan:
    """A certificate; without ``for`` it is for the models trained for its threat."""
    from unfooled.certificates.sampling import Sampling
    from unfooled.certificates.smoothing import TRAINED_FOR
    from unfooled.certificates.threats import TEXT

    names = [one.name for one in defences]
    if isinstance(values.get("threat"), str):
        with at(where):
            TEXT.choose(values["threat"])
        if values.get("for") is None:
            trained = TRAINED_FOR[values["threat"]]
            values = {**values, "for": [one.name for one in defences if one.defence in trained]}
            if not values["for"]:
                raise UsageError(
                    f"{where}: no defence of the plan is trained for the threat {values['threat']}. Add "
                    f"{' or '.join(trained)}, or name defences all the same with for: [{', '.join(names)}]."
                )
    made = section(CertificatePlan, values, where, names, name_from="threat")
    sampling = {name: getattr(made, name) for name in ("n0", "n", "alpha", "adaptive", "radius", "two_class")}
    with at(where):
        build(Sampling, sampling, owner="sampling")
    return made


def published_part(value: Any, where: str) -> dict[str, Any] | None:
    """Figures of a paper, in percent as it has them; they are shown beside ours."""
    if value is None:
        return None
    values = mapping(value, where)
    check_names(values, ["source", "note", "figures"], where, noun="key")
    if not isinstance(values.get("source"), str):
        raise UsageError(f"{where}: source is missing. Say where the figures come from: source: ….")
    figures = []
    for place, figure in entries(values, "figures", where, "task", least=1):
        check_names(figure, _FIGURES, place, noun="key")
        for name in ("task", "model"):
            if not isinstance(figure.get(name), str):
                raise UsageError(f"{place}: {name} is missing or not text. Add {name}: ….")
        for name in (*_PERCENT, "avgq"):
            number = figure.get(name)
            if number is None:
                continue
            if isinstance(number, bool) or not isinstance(number, int | float):
                raise UsageError(f"{place}: {name} must be a number as in the paper, got {number!r}.")
            check_range(f"{place}: {name}", number, 0, 100 if name in _PERCENT else None)
        figures.append(figure)
    return {**values, "figures": figures}
