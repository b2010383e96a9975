"""Whether the results in a run folder were measured on the model that lies there now.

``unfooled.json`` says which weights training saved; every result says on which weights it was measured.
Figures of other weights are never shown as this model's: someone may have copied weights or results over.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from unfooled.assets.digest import of_file
from unfooled.errors import UserError
from unfooled.files import JsonMapping, writable
from unfooled.records.results.trained_run import Run

WEIGHTS = "*.safetensors"


def weight_files(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file of weights, by name."""
    return {path.name: of_file(path) for path in sorted(folder.glob(WEIGHTS))}


def check_weights(run: Run) -> None:
    """Refuse a run whose files of weights are not those that its figures were measured with."""
    saved = dict(run.weight_files)
    if not saved:
        return
    folder = Path(run.folder)
    try:
        found = weight_files(folder)
    except OSError as error:
        raise UserError(f"Cannot read the weights in {folder}: {error.strerror}.") from error
    differ = sorted(name for name in {**saved, **found} if saved.get(name) != found.get(name))
    if differ:
        raise UserError(
            f"{folder / differ[0]} is not what training saved: the accuracy and the results in {folder} are "
            "those of other weights. Copy the whole folder again, or put the new weights in another folder."
        )


def of_another_model(run: Run, path: Path, result: JsonMapping) -> str | None:
    """Why a result in the run's folder is not shown, as a sentence; None if it belongs to the run."""
    if not run.weights:
        return None
    victim = result.get("victim") or result.get("model")
    weights = victim.get("weights") if isinstance(victim, Mapping) else None
    if weights == run.weights:
        return None
    why = "was measured on other weights than the run has" if weights else "does not name its weights"
    return f"{writable(path)} {why}"
