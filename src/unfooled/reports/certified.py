"""Certified accuracy at a radius, read off the certificates, and which radius is worth a column."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from unfooled.files import JsonObject
from unfooled.records.certificate import COUNTED
from unfooled.records.evidence import Certified, Evidence, ModelEvidence
from unfooled.records.results.certificate_report import CertificateReport
from unfooled.statistics.intervals import rate

SIGNS = {"l2": "ℓ2", "l1": "ℓ1", "linf": "ℓ∞"}
KINDS = {"tensor": "values", "image": "pixels"}
"""What stands before the threats to tensors and images, whose distances are not those of word embeddings, and
what changes there."""


def _parted(threat: str) -> tuple[str, str]:
    """The kind of input, if it is no text, and the threat to it."""
    kind, _, plain = threat.partition("-")
    return (kind, plain) if kind in KINDS else ("", threat)


def sign(threat: str) -> str:
    """How a threat is written."""
    kind, plain = _parted(threat)
    return SIGNS.get(plain, plain) + (f" of {kind}s" if kind else "")


def changes(threat: str) -> str:
    """What a threat does, in two or three words."""
    known = {
        "words": "replaced words",
        "edits": "inserted, deleted or replaced words",
        "synonyms": "listed synonyms",
        "each-word": "small moves of every word's embedding",
    }
    kind, plain = _parted(threat)
    if kind:
        return f"{SIGNS.get(plain, plain)} changes of the {KINDS[kind]}"
    return known.get(threat, f"{sign(threat)} changes of the embeddings")


def at_least(radius: float, unit: str) -> str:
    """``≥ 1 word``, ``≥ 0.2``."""
    if unit in COUNTED:
        return f"≥ {radius:g} {unit.removesuffix('s')}" + ("" if radius == 1 else "s")
    return f"≥ {radius:g}"


def threats(data: Evidence) -> list[str]:
    """Every threat that some model was certified for."""
    return list(dict.fromkeys(one.threat for model in data.models for one in model.certified))


def other_predictor(model: ModelEvidence, found: Certified) -> str:
    """The predictor that the certificates are about, if it is not the one the run answers with."""
    if "other_predictor" in found.about:
        return str(found.about["other_predictor"])
    # Folders of earlier versions: what was smoothed is there, and so is the predictor of the run.
    smoothing, own = found.about.get("smoothing", {}), model.run.predictor if model.run else None
    if not isinstance(own, Mapping) or not smoothing:
        told = any("certificates are about" in str(note) for note in found.about.get("notes", ()))
        return "not the run's own" if told else ""
    if smoothing.get("name") == "embedding-noise":
        masks = own.get("masking") != "none" and own.get("masked_tokens")
        same = own.get("name") == "vote" and own.get("output", "vote") == "vote" and not masks
        same = (
            same
            and "embeddings" in own.get("noise_layers", ())
            and own.get("sigma") == smoothing.get("sigma")
        )
    else:
        same = all(own.get(key, value) == value for key, value in smoothing.items())
    return "" if same else str(smoothing.get("name"))


def truth_known(found: Sequence[Certified]) -> str:
    """``all``, ``none`` or ``some``: for which certifications the true labels are known."""
    known = {bool(one.summary["labelled"]) for one in found}
    return "some" if len(known) == 2 else "all" if True in known else "none"


MOST_COUNTED = 10_000
"""Changes of words up to which a curve is drawn."""
RIGHT = {"all": "right and certified", "some": "right (if that is known) and certified", "none": "certified"}
"""What certified answers are called, by :func:`truth_known`."""


def certified_at(found: Certified | CertificateReport, radius: float, bound: str | None = None) -> JsonObject:
    """Answers that are right (where the truth is known) and certified at ``radius`` or more, of all."""
    return _shares(found, [radius], bound)[0]


def _shares(
    found: Certified | CertificateReport, radii: Sequence[float], bound: str | None
) -> list[JsonObject]:
    """The same at each of these radii; the certificates, which may stand in a journal, are read once."""
    answered = [one for one in found.certificates if one.status != "refused"]
    labelled = bool(found.summary["labelled"])
    right = [one for one in answered if one.status == "certified" and (one.correct or not labelled)]
    reached = [one.radius if bound is None else one.radii.get(bound, 0.0) for one in right]
    return [rate(sum(one >= radius for one in reached), len(answered)) for radius in radii]


def useful_radius(data: Evidence, threat: str) -> float | None:
    """One word; or the radius that was asked for; or the largest average radius of a model, rounded down."""
    found = [one for model in data.models for one in model.certified if one.threat == threat]
    if any(one.summary["unit"] in COUNTED for one in found):
        return 1
    asked = {one.summary["asked"]["radius"] if "asked" in one.summary else None for one in found}
    if len(asked) == 1 and (only := next(iter(asked))) is not None:
        return float(only)
    largest = max((one.summary["average_radius"]["value"] or 0.0 for one in found), default=0.0)
    return rounded_down(largest) or None


def rounded_down(value: float, digits: int = 2) -> float:
    """``value`` with this many significant digits, never more than it."""
    if value <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return float(f"{math.floor(value / unit + 1e-9) * unit:.12g}")


def curve(found: Certified, radii: Sequence[float], bound: str | None = None) -> list[JsonObject]:
    """Certified accuracy at each of these radii."""
    shares = _shares(found, radii, bound)
    return [{"radius": radius, **share} for radius, share in zip(radii, shares, strict=True)]


def grid(found: Sequence[Certified], bound: str | None = None, points: int = 41) -> list[float]:
    """Radii for a curve up to the largest one certified."""
    every = [
        one.radius if bound is None else one.radii.get(bound, 0.0)
        for each in found
        for one in each.certificates
        if one.status == "certified"
    ]
    largest = max((radius for radius in every if math.isfinite(radius)), default=0.0)
    if all(each.summary["unit"] in COUNTED for each in found):
        return [float(number) for number in range(min(int(largest), MOST_COUNTED) + 2)]
    return [0.0] if largest <= 0 else [largest * number / (points - 1) for number in range(points)]
