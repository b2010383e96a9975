"""``unfooled.verify``: is the run in a folder the one that was saved, and are its results its own?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from unfooled.api.load import MARKER, load
from unfooled.api.read_evidence import ATTACK, CERTIFICATE, EVALUATIONS, REPEATS, REPRESENTATIONS
from unfooled.api.self_checks import CHECKS, answers, read_checks
from unfooled.api.target import folder_of
from unfooled.assets.digest import of_file
from unfooled.errors import UserError
from unfooled.files import JsonObject, read_json, writable
from unfooled.hub.safetensors_files import COPY_AGAIN
from unfooled.models import OF_TEXTS
from unfooled.predictors import Classifier
from unfooled.records.results.verify_report import Check, VerifyReport

ROUNDING = 1e-3
"""How far a score may be from the stored one: another machine adds in another order."""
RESULTS = (f"attacks/*/{ATTACK}", f"certificates/*/{CERTIFICATE}", REPEATS, REPRESENTATIONS, EVALUATIONS)
SAME = ("weights", "architecture", "tokenizer", "max_length", "stride", "shape", "conversion", "labels")
"""Parts of a model's identity in which a result and the run must agree; its predictor may be another."""


def verify(run: str | Path | Classifier, *, device: str = "auto") -> VerifyReport:
    """Check a run: hashes of its files, that they fit, stored answers reproduced, whose results it holds.

    ``passed`` is False if a check failed. For a run that was saved without ``checks.json`` it lists what
    could not be checked. Of a loaded classifier, its folder is checked. Nothing is changed.

    >>> uf.verify("runs/rsmi").passed
    True
    """
    folder = folder_of(run)
    if not (folder / MARKER).is_file():
        load(folder)  # says why it is not a run
    checks: list[Check] = []
    recorded: JsonObject | None = None
    try:
        recorded = read_checks(folder)
    except UserError as error:
        checks.append(Check(CHECKS, "failed", str(error)))
    else:
        if recorded is None:
            told = "the run was saved without it; hashes and answers are unknown"
            checks.append(Check(CHECKS, "not checked", told))
    checks += [_file(folder / name, digest) for name, digest in (recorded or {}).get("files", {}).items()]
    try:
        classifier = load(folder, device=device, precision="float32")
    except UserError as error:
        checks.append(Check("model", "failed", str(error)))
        return VerifyReport(writable(folder), tuple(checks))
    identity = classifier.identity()
    checks += [_model(classifier, identity, read_json(folder / MARKER))]
    if recorded is not None:
        checks.append(_predictions(classifier, recorded))
    checks += _results(folder, identity)
    return VerifyReport(writable(folder), tuple(checks))


def _file(path: Path, digest: str) -> Check:
    if not path.is_file():
        return Check(path.name, "failed", f"missing. {COPY_AGAIN}")
    try:
        found = of_file(path)
    except OSError as error:
        return Check(path.name, "failed", f"cannot be read: {error.strerror}")
    if found != digest:
        return Check(path.name, "failed", f"its bytes are not those that were saved. {COPY_AGAIN}")
    return Check(path.name, "passed", "SHA-256 as saved")


def _model(classifier: Classifier, identity: Mapping[str, Any], marker: Mapping[str, Any]) -> Check:
    parts = ["weights", "tokenizer" if classifier.model.kind in OF_TEXTS else "architecture"]
    parts += [f"{len(classifier.labels)} labels"] if classifier.labels else []
    fits = f"{', '.join(parts[:-1])} and {parts[-1]} fit"
    if "weights" not in marker:
        return Check("model", "passed", f"{fits}; {MARKER} does not say which weights were saved")
    if marker["weights"] != identity["weights"]:
        return Check(
            "model", "failed", f"{fits}, but the weights are not those that were saved. {COPY_AGAIN}"
        )
    return Check("model", "passed", f"{fits}; the weights are those that were saved")


def _predictions(classifier: Classifier, recorded: Mapping[str, Any]) -> Check:
    stored: Sequence[Mapping[str, Any]] = recorded["predictions"]
    if not stored:
        return Check("answers", "not checked", "the predictor could not answer when the run was saved")
    if "draws" in classifier.identity() and recorded.get("draws") != classifier.identity()["draws"]:
        return Check("answers", "not checked", "the votes were drawn by another version of unfooled")
    try:
        found = answers(classifier, [one["text"] for one in stored], seed=recorded["seed"])
    except UserError as error:
        return Check("answers", "not checked", str(error))
    furthest, wrong = 0.0, 0
    for now, before in zip(found, stored, strict=True):
        names = {**now.scores, **before["scores"]}
        apart = max((abs(now.scores.get(n, 0.0) - before["scores"].get(n, 0.0)) for n in names), default=0.0)
        furthest = max(furthest, apart)
        wrong += now.label != before["label"] or apart > ROUNDING
    if wrong:
        return Check(
            "answers",
            "failed",
            f"{wrong} of {len(stored)} stored answers are not reproduced (scores differ by up to "
            f"{furthest:.2g}; saved with PyTorch {recorded.get('torch')}). {COPY_AGAIN}",
        )
    return Check(
        "answers", "passed", f"{len(stored)} stored answers reproduced, scores within {furthest:.1g}"
    )


def _results(folder: Path, identity: Mapping[str, Any]) -> Iterator[Check]:
    for pattern in RESULTS:
        for path in sorted(folder.glob(pattern)):
            name = writable(path.relative_to(folder))
            try:
                result = read_json(path)
            except UserError as error:
                yield Check(name, "failed", str(error))
                continue
            measured = (result.get("victim") or result.get("model")) if isinstance(result, dict) else None
            if not isinstance(measured, dict) or "weights" not in measured:
                yield Check(name, "not checked", "it does not say on which model it was measured")
            elif differ := [
                part for part in SAME if measured.get(part, identity.get(part)) != identity.get(part)
            ]:
                told = f"it was measured on another model ({', '.join(differ)} differ). Measure it again."
                yield Check(name, "failed", told)
            else:
                yield Check(name, "passed", "measured on this model")
