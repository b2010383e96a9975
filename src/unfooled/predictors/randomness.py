"""Whether a predictor draws anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass


def is_random(description: Mapping[str, Any]) -> bool:
    """Whether answers may differ from seed to seed; a predictor that is not known here may."""
    name = description["name"]
    if name not in ("plain", "vote", "two-step", "sequential"):
        return True
    if name == "plain":
        return False
    if description["sigma"] > 0 and description["noise_layers"]:
        return True
    if description["masking"] == "none" or description["masked_tokens"] == 0:
        return False
    # Without noise the most salient tokens are always the same; drawing among more of them is not.
    return description["masking"] == "random" or (
        name != "vote" and description["candidates"] > description["masked_tokens"]
    )
