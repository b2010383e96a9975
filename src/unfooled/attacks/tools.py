"""What recipes ask beside the victim: part of speech, sentence similarity, a masked language model.

Each is loaded only if the recipe needs it; the first two also serve the validity columns of every attack.
Numbers are rounded, so that the batch in which an answer was computed cannot tip a decision.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from unfooled.attacks.recipe import Recipe
from unfooled.attacks.scheduler import Service
from unfooled.attacks.victim import Victim
from unfooled.errors import UsageError
from unfooled.settings import setting

WHITE_BOX = ("gradients", "expected", "embedding")
DECIMALS = 6


@dataclass(frozen=True)
class Tools:
    """Which models serve the recipes."""

    similarity: Literal["minilm", "use"] = setting("minilm", "Sentence encoder of the similarity")
    masked_lm: str | None = setting(
        None, "Masked language model: folder or hub id; fitted to the task's training texts if not given"
    )
    validity: bool = setting(True, "Measure similarity and part of speech of every success")


def check_access(victim: Victim, recipe: Recipe) -> None:
    """Refuse a recipe that needs more of the victim than it shows."""
    hidden = [need for need in recipe.needs if need in WHITE_BOX and not hasattr(victim, need)]
    if hidden:
        raise UsageError(
            f"{recipe.name} needs the victim's {' and '.join(hidden)}, and this victim only answers. "
            "Attack a run folder of unfooled with it, or choose another recipe (`unfooled attack --list`)."
        )


def make_services(
    victim: Victim,
    recipe: Recipe,
    tools: Tools,
    *,
    training_texts: Callable[[], Sequence[str]],
    device: str = "auto",
) -> dict[str, Service]:
    """The services by name; ``training_texts`` is asked only if a masked language model is to be fitted."""
    services: dict[str, Service] = {"victim": victim.answers}
    if getattr(victim, "rough", False):
        services["confirmed"] = victim.confirmed  # type: ignore[attr-defined]
    for need in WHITE_BOX:
        if need in recipe.needs:
            services[need] = getattr(victim, need)
    if tools.validity or "tags" in recipe.needs:
        from unfooled.lexicon.tagger import load_tagger

        services["tags"] = load_tagger().tags
    if tools.validity or "similarity" in recipe.needs:
        services["similarity"] = _similarity(tools, device)
    if "fill" in recipe.needs:
        services["fill"] = _fill(tools, training_texts, device)
    return services


def _similarity(tools: Tools, device: str) -> Service:
    from unfooled.lexicon.similarity import load_similarity

    encoder = load_similarity(tools.similarity, device=device)

    def scores(pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [round(score, DECIMALS) for score in encoder.scores(pairs)]

    return scores


def _fill(tools: Tools, training_texts: Callable[[], Sequence[str]], device: str) -> Service:
    from unfooled.lexicon.masked_lm import fit_masked_lm, load_masked_lm

    if tools.masked_lm:
        model = load_masked_lm(tools.masked_lm, device=device)
    else:
        model = fit_masked_lm(training_texts(), device=device, progress=_announce)

    def fill(spans: Sequence[tuple[str, int, int]], *, count: int) -> list[list[str]]:
        return [[word for word, _ in words] for words in model.fill(spans, count)]

    return fill


def _announce(step: int, steps: int) -> None:
    if step == 1:
        print("Fitting a masked language model to the task's texts, once (minutes) ...", file=sys.stderr)


@lru_cache(maxsize=1)
def lexicon_versions() -> dict[str, str]:
    """Which words, vectors and models the recipes draw on."""
    from unfooled import assets
    from unfooled.lexicon.counterfitted import CODE_VERSION
    from unfooled.lexicon.masked_lm_fit import VERSION

    names = ("wordnet", "glove", "tagger", "minilm", "use")
    found = {name: assets.describe(name).key for name in names}
    return found | {"counter-fitting": str(CODE_VERSION), "masked-lm": str(VERSION)}
