"""The verdict in plain sentences, made from the numbers, and never more than they say."""

from __future__ import annotations

from unfooled.files import JsonMapping
from unfooled.records.evidence import Attack, Evidence, ModelEvidence
from unfooled.records.input_kind import things
from unfooled.records.results.trained_run import Run
from unfooled.reports.certified import (
    at_least,
    certified_at,
    changes,
    other_predictor,
    threats,
    useful_radius,
)
from unfooled.reports.comparison import Comparison, comparisons
from unfooled.reports.formatting import duration, joined, percent

MOST_TOLD = 4
"""Models of which the verdict speaks one by one; the tables have them all."""


def verdict_sentences(data: Evidence) -> list[str]:
    """Everything that the verdict says, for formats without a page."""
    said = [*rankings(data), *under_attack(data), *spoken(data), *costs(data), untested(data)]
    return [sentence for sentence in said if sentence]


def spoken(data: Evidence) -> list[str]:
    """What changes of meaning and certificates say; nothing if there are none."""
    return [*_obstinate(data), *_proved(data)]


def rankings(data: Evidence) -> list[str]:
    """Who holds up best, for each task on which models met the same attacks and inputs."""
    found = comparisons(data)
    return [_ranking(one, data, named=len(found) > 1) for one in found]


def _ranking(found: Comparison, data: Evidence, *, named: bool) -> str:
    where = f"On {found.task}: " if named else ""
    names = _few([model.name for model in found.models])
    if not found.ranked:
        return f"{where}{names} did not meet the same attacks on the same inputs, so this is no ranking."
    first, *others = found.ranked
    against = joined([f"{_hundred(one.worst.rate('racc'))} for {one.model.name}" for one in others[:3]])
    if len(others) > 3:
        against += f"; {len(others) - 3} more models are in the table"
    if found.alike:
        under = "under the worst attack" if len(found.shared) > 1 else f"under {found.shared[0]}"
        before = where
    else:
        under = "under the worst of these"
        before = (
            f"{where}{names} did not all meet the same attacks, so their worst cases are no ranking. Under "
            f"what all of them met ({joined(list(found.shared))}), "
        )
    of = f"of 100 {things([first.model.reads])}, {_hundred(first.worst.rate('racc'))} stay right {under}"
    if near := found.near:
        told = (
            f"no model is shown to hold up best: {of} for {first.model.name}, against {against}; counted "
            f"input by input, the gain over {joined(near)} may be chance."
        )
    else:
        told = f"{first.model.name} holds up best: {of}, against {against}."
    return before + (told[0].upper() + told[1:] if not before or before == where else told)


def under_attack(data: Evidence) -> list[str]:
    """Of 100 inputs, how many each model gets right, and how many its worst attacker leaves."""
    found = [(model, worst) for model in data.models if (worst := model.worst(verified=False))]
    sentences = [_fallen(model, worst) for model, worst in found[:MOST_TOLD]]
    if len(found) > MOST_TOLD:
        sentences.append(f"The table has {len(found) - MOST_TOLD} more models.")
    return sentences


def _fallen(model: ModelEvidence, worst: Attack) -> str:
    """``Of 100 texts, plain classifies 82 correctly (…); an attacker who … leaves 12 (8 to 17).``"""
    sacc, racc = worst.rate("sacc"), worst.rate("racc")
    answers = "answers" if model.reads == "question" else "classifies"
    told = (
        f"Of 100 {things([model.reads])}, {model.name} {answers} {_hundred(sacc)} correctly "
        f"({_between(sacc)}; measured on {sacc['n']:,}); {_attacker(worst)} leaves {_hundred(racc)} "
        f"({_between(racc)})."
    )
    verified = model.worst(verified=True)
    if worst.randomised and verified is not None:
        again = verified.rate("racc", verified=True)
        by = f" under {verified.name}" if verified is not worst else ""
        told += (
            f" Its answers are random: if only changes count that fool it in most repeats, {_hundred(again)} "
            f"({_between(again)}) stay right{by}."
        )
    return told


def _attacker(attack: Attack) -> str:
    return f"an attacker who {attack.does} ({attack.name})" if attack.does else f"the attack {attack.name}"


def _hundred(rate: JsonMapping) -> str:
    """Of 100, in whole numbers; with a digit more where none or all of them would be untrue."""
    return _of_hundred(float(rate["value"]))


def _of_hundred(share: float) -> str:
    whole = round(100 * share)
    return f"{100 * share:.1f}" if whole in (0, 100) and whole != 100 * share else str(whole)


def _between(rate: JsonMapping) -> str:
    low, high = rate["interval"]
    return f"{_of_hundred(low)} to {_of_hundred(high)}"


def costs(data: Evidence) -> list[str]:
    """What 1,000 answers cost; the seconds are those of the machine that measured them."""
    runs = [run for run in data.runs if run.examples]
    if not runs:
        return []
    told = joined([_cost(run, first=run is runs[0]) for run in runs[:MOST_TOLD]])
    more = f"; the table has {len(runs) - MOST_TOLD} more" if len(runs) > MOST_TOLD else ""
    return [f"1,000 answers take {told}{more}."]


def _cost(run: Run, *, first: bool) -> str:
    passes = f"{1000 * run.forwards:,.0f}{' forward passes' if first else ''}"
    return f"{passes}{f' ({thousand_seconds(run)})' if run.seconds else ''} with {run.name}"


def thousand_seconds(run: Run) -> str:
    """How long 1,000 answers took, as people say it."""
    seconds = 1000 * (run.seconds or 0.0) / run.examples
    return f"{seconds:.1f} s" if seconds < 10 else duration(seconds)


def untested(data: Evidence) -> str:
    """The largest gaps in one sentence; the section of that name has them all."""
    gaps = {
        "any attack": [model.name for model in data.models if not model.of_goal("fickle")],
        "an attacker who knows the defence": [
            model.name
            for model in data.models
            if model.of_goal("fickle") and model.reads == "text" and not _met_adaptive(model)
        ],
        "changes of meaning": [
            model.name for model in data.models if model.reads == "text" and not model.of_goal("obstinate")
        ],
        "certificates": [model.name for model in data.models if not model.certified],
    }
    every = len(data.models)
    said = [
        gap if len(without) == every else f"{gap} ({_few(without)})"
        for gap, without in gaps.items()
        if without
    ]
    return f"Not tested: {joined([*said, 'data from elsewhere'])}." if data.models else ""


def _few(names: list[str]) -> str:
    return joined(names) if len(names) <= MOST_TOLD else f"{len(names)} models"


def _met_adaptive(model: ModelEvidence) -> bool:
    return any(one.about["recipe"]["name"] == "adaptive" for one in model.attacks)


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
