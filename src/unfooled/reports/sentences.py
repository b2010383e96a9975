"""The verdict in plain sentences, made from the numbers, and never more than they say."""

from __future__ import annotations

from unfooled.records.evidence import Attack, Evidence, ModelEvidence
from unfooled.reports.certified import (
    at_least,
    certified_at,
    changes,
    other_predictor,
    threats,
    useful_radius,
)
from unfooled.reports.formatting import joined, percent


def spoken(data: Evidence) -> list[str]:
    """What changes of meaning and certificates say; nothing if there are none."""
    return [*_obstinate(data), *_proved(data)]


def attacked_alike(models: list[ModelEvidence]) -> bool:
    """Whether the worst attacks may be compared: the same attacks on the same task, as many inputs each."""
    seen = {
        (
            model.task,
            tuple(sorted((one.name, one.summary["examples"]) for one in model.of_goal("fickle"))),
        )
        for model in models
    }
    return len(seen) == 1


def under_attack(data: Evidence) -> str:
    """Who holds up best, in one sentence or two; nothing if nobody was attacked."""
    found = [(model, worst) for model in data.models if (worst := model.worst(verified=False))]
    if not found:
        return ""
    if len(found) == 1:
        model, worst = found[0]
        return f"{model.name} keeps {_kept(model, worst)} of its answers right under its worst attack."
    if not attacked_alike([model for model, _ in found]):
        said = "; ".join(f"{model.name} {_kept(model, worst)}" for model, worst in found[:4])
        rest = f"; and {len(found) - 4} more" if len(found) > 4 else ""
        return (
            f"Right under the worst attack that each met: {said}{rest}. They did not meet the same attacks "
            "on the same inputs, so this is no ranking."
        )
    found.sort(key=lambda pair: -pair[1].rate("racc")["value"])
    (best, worst), others = found[0], found[1:]
    against = ", ".join(f"{_kept(model, attack)} for {model.name}" for model, attack in others[:3])
    if len(others) > 3:
        against += f" and less for {len(others) - 3} more"
    sentence = (
        f"Under its worst attack, {best.name} keeps the most answers right: {_kept(best, worst)}, against "
        f"{against}."
    )
    low = worst.rate("racc")["interval"][0]
    near = [model.name for model, attack in others if attack.rate("racc")["interval"][1] >= low]
    if near:
        sentence += f" The interval{'' if len(near) == 1 else 's'} of {joined(near)} overlap"
        sentence += f"{'s' if len(near) == 1 else ''} with its own."
    return sentence


def _kept(model: ModelEvidence, worst: Attack) -> str:
    """``40.4 % (textfooler; 45.5 % re-verified, adaptive)``."""
    inside = worst.name
    verified = model.worst(verified=True)
    if worst.randomised and verified is not None:
        again = percent(verified.rate("racc", verified=True)["value"])
        inside += f"; {again} re-verified" + (f", {verified.name}" if verified is not worst else "")
    return f"{percent(worst.rate('racc')['value'])} ({inside})"


def _obstinate(data: Evidence) -> list[str]:
    found = [(model, one) for model in data.models if (one := model.most_obstinate(verified=False))]
    if not found:
        return []
    model, one = max(found, key=lambda pair: pair[1].rate("asr")["value"])
    asr = one.rate("asr")
    return [
        f"Where the meaning was changed on purpose ({one.name}), {model.name} kept its answer in "
        f"{percent(asr['value'])} of {asr['n']:,} texts" + (": the most of all." if len(found) > 1 else ".")
    ]


def _proved(data: Evidence) -> list[str]:
    sentences = []
    for threat in threats(data):
        radius = useful_radius(data, threat) or 0.0
        found = [
            (model, one, certified_at(one, radius))
            for model in data.models
            if (one := model.certified_for(threat)) is not None
        ]
        found = [triple for triple in found if triple[2]["value"] is not None]
        if found:
            model, one, held = max(found, key=lambda triple: triple[2]["value"])
            what = "right and certified" if one.summary["labelled"] else "certified"
            if radius:
                what += f" for {at_least(radius, one.summary['unit'])}"
            other = other_predictor(model, one)
            whose = f"{model.name} under another predictor ({other})" if other else model.name
            sentences.append(
                f"Against {changes(threat)}, {percent(held['value'])} of {held['n']:,} answers of "
                f"{whose} are {what}."
            )
    return sentences
