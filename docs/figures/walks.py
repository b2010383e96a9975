"""Which files of unfooled a verb runs through, in the order of their first call.

``python docs/figures/walks.py`` trains a tiny model, predicts, attacks (TextFooler), certifies (words) and
reports under a profiler, and prints the files per verb. Imports do not count, calls do. The files common to
all rooms are left out. Files of the ground floor (statistics, words, hub, assets) are counted apart: they are
asked on the way.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch  # noqa: E402

import unfooled  # noqa: E402

PACKAGE = str(Path(unfooled.__file__).parent) + os.sep
COMMON = {"errors.py", "files.py", "settings.py", "registry.py", "__init__.py"}
GROUND_FLOOR = ("statistics/", "words/", "hub/", "assets/")


def files_of(verb: Callable[[], Any]) -> list[str]:
    """The files of ours whose functions run while ``verb`` does, in the order of their first call."""
    found: dict[str, None] = {}

    def seen(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        # Bodies of modules and classes run when they are imported; functions alone are optimised code.
        ours = event == "call" and code.co_flags & CO_OPTIMIZED and code.co_filename.startswith(PACKAGE)
        if ours and not _importing(frame):
            found.setdefault(code.co_filename.removeprefix(PACKAGE).replace(os.sep, "/"))

    threading.setprofile(seen)
    sys.setprofile(seen)
    try:
        verb()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return [name for name in found if name not in COMMON and name.endswith(".py")]


def _importing(frame: FrameType | None) -> bool:
    """Whether a module is being imported, which calls functions too."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(PACKAGE):
            return True
        frame = frame.f_back
    return False


def walks(folder: Path) -> dict[str, list[str]]:
    """The files per verb, on a tiny model that reads reviews."""
    from tiny_runs import write_inputs
    from unfooled.certificates.sampling import Sampling

    torch.set_num_threads(1)
    inputs = write_inputs(folder)
    run = folder / "run"
    trained = files_of(lambda: unfooled.train(run, defence="random-mask", epochs=1, **inputs))
    classifier = unfooled.load(run)
    predicted = files_of(lambda: unfooled.predict(classifier, ["the film is good"]))
    unfooled.attack(run, recipe="textfooler", limit=1, out=folder / "warm")
    attacked = files_of(lambda: unfooled.attack(run, recipe="textfooler", limit=4))
    few = Sampling(n=200)
    certified = files_of(lambda: unfooled.certify(run, ["the film is good"], threat="words", sampling=few))
    reported = files_of(lambda: unfooled.report(run, out=folder / "report.html"))
    return {
        "train": trained,
        "predict": predicted,
        "attack": attacked,
        "certify": certified,
        "report": reported,
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        for name, found in walks(Path(place)).items():
            own = [file for file in found if not file.startswith(GROUND_FLOOR)]
            asked = f"{len(found) - len(own)} of the ground floor"
            print(f"{name} ({len(own)}, and {asked}): {' → '.join(found)}")
