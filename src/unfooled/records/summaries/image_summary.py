"""What an attack on images did, as numbers: those of every attack, and accuracy against its size.

There is one outcome per image and size. An image counts as fooled at a size if a success lies no farther from
the original: one that an attack of a smaller size found counts at all larger ones, so the curve only falls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from unfooled.files import JsonObject
from unfooled.records.outcome import Outcome
from unfooled.records.summaries.attack_summary import attack_summary, mean_of


def image_attack_summary(
    outcomes: Iterable[Outcome], *, norm: str, sizes: Sequence[float], minimal: bool, randomised: bool
) -> JsonObject:
    """The summary at the largest size, and the ``curve`` over all ``sizes``.

    ``minimal``: the attack looked for the nearest success, so one outcome tells about all sizes.
    """
    images = _by_image(outcomes)

    def at(size: float) -> list[Outcome]:
        found = (_at(own, size, minimal) for own in images)
        return [one for one in found if one is not None]

    curve = []
    for size in sorted(sizes):
        summary = attack_summary(at(size), randomised=randomised)
        point: JsonObject = {"size": size, "racc": summary["racc"]}
        if randomised:
            point["racc_verified"] = summary["racc_verified"]
        curve.append(point)
    largest = at(max(sizes))
    changes = [one.image for one in largest if one.attacked and one.image is not None]
    distances = [one.image.distance for one in largest if one.status == "success" and one.image is not None]
    return attack_summary(largest, randomised=randomised) | {
        "norm": norm,
        "size": max(sizes),
        "curve": curve,
        "distance": mean_of([far for far in distances if far is not None]),
        "gradients": mean_of([float(change.gradients) for change in changes]),
    }


def one_per_image(outcomes: Iterable[Outcome], size: float) -> list[Outcome]:
    """What became of each image under attacks up to ``size``, the largest one that was tried."""
    found = (_at(own, size, minimal=False) for own in _by_image(outcomes))
    return [one for one in found if one is not None]


def _by_image(outcomes: Iterable[Outcome]) -> list[list[Outcome]]:
    images: dict[tuple[int, tuple[str, ...]], list[Outcome]] = {}
    for one in outcomes:
        images.setdefault((one.row, one.original), []).append(_without_pixels(one))
    return list(images.values())


def _at(own: Sequence[Outcome], size: float, minimal: bool) -> Outcome | None:
    """What became of an image under attacks up to this size; None if that one is not done."""
    tried = [one for one in own if one.image is None or minimal or one.image.size <= size]
    hits = [one for one in own if one.status == "success" and _far(one) <= size]
    told = [one for one in tried if one.image is None or minimal or one.image.size == size]
    if not hits and not told:
        return None
    found = min(hits, key=lambda one: (not one.verified, _far(one))) if hits else told[0]
    if found.status == "success" and not hits:  # the nearest success is beyond this size
        found = replace(found, status="failed", fresh_successes=None, fresh_total=0)
    change = found.image and replace(
        found.image, gradients=sum(one.image.gradients for one in tried if one.image)
    )
    return replace(
        found,
        queries=sum(one.queries for one in tried),
        forwards=sum(one.forwards for one in tried),
        seconds=sum(one.seconds for one in tried),
        image=change,
    )


def _far(one: Outcome) -> float:
    return float("inf") if one.image is None or one.image.distance is None else one.image.distance


def _without_pixels(one: Outcome) -> Outcome:
    return one if one.image is None else replace(one, image=replace(one.image, original="", adversarial=""))
