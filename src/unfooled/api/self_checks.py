"""What a run records about itself when it is saved, so that `unfooled verify` can check it later.

``checks.json`` has the SHA-256 of the run's files and the answers to fixed sentences, or to fixed images:
label and scores as deployed, in float32, under a fixed seed. They are ours: no input of the user's is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unfooled.assets.digest import of_file
from unfooled.errors import UserError
from unfooled.files import JsonObject, json_text, read_json, writable
from unfooled.hub.safetensors_files import COPY_AGAIN, INDEX
from unfooled.models import ImageModel, as_text
from unfooled.predictors import Classifier
from unfooled.records.results.predictions import Predictions
from unfooled.storage.provenance import versions
from unfooled.training.run_rows import ROWS, TEST

CHECKS = "checks.json"
FORMAT = 1
OWN = "sha256"
"""Where the document keeps the digest of all else in it."""
SEED = 0
SENTENCES = (
    "A gorgeous, witty film that never once feels long.",
    "Dull from start to finish, and the ending makes no sense.",
    "The central bank raised interest rates by a quarter of a point on Thursday.",
    "Congratulations! You have won a free phone. Reply YES to 80086 now.",
    "Is the river longer than the one that flows through the capital?",
    "not good",
)
"""Of several kinds and lengths; for pairs each is read with the next."""
_DOCUMENTS = ("config.json", "config.yaml", "metrics.json", "history.json", INDEX, ROWS, TEST)
_TOKENIZER = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
)


def recorded_checks(classifier: Classifier, folder: Path, marker: JsonObject) -> JsonObject:
    """What ``checks.json`` holds, beside the files that are in the folder now.

    ``marker`` is what ``unfooled.json`` will hold; its ``files`` are the weights with their SHA-256.
    """
    names = [name for name in (*_DOCUMENTS, *_TOKENIZER) if (folder / name).is_file()]
    checks: JsonObject = {
        "format": FORMAT,
        "torch": versions().get("torch"),
        "files": {
            **marker["files"],
            **{name: of_file(folder / name) for name in names},
            "unfooled.json": _digest(marker),
        },
        "seed": SEED,
        "draws": classifier.identity().get("draws"),
        "predictions": _predictions(classifier),
    }
    return {**checks, OWN: _digest(checks)}


def read_checks(folder: Path) -> JsonObject | None:
    """What a run recorded; None if it was saved without. One that was changed since is refused."""
    path = folder / CHECKS
    if not path.is_file():
        return None
    found = read_json(path)
    own = found.pop(OWN, None) if isinstance(found, dict) else None
    try:
        whole = own == _digest(found)
    except (ValueError, RecursionError):  # NaN and depths that were never written
        whole = False
    if not whole:
        raise UserError(f"{path} is not as it was saved. {COPY_AGAIN}")
    if found["format"] != FORMAT:
        raise UserError(f"{path} was written by another version of unfooled. Use that version.")
    return dict(found)


def answers(classifier: Classifier, sentences: Sequence[str], *, seed: int) -> Predictions:
    """The answers to the sentences, or to one image drawn for each of them, as deployed, in float32."""
    model = classifier.model
    if isinstance(model, ImageModel):
        with model.in_float32():
            return classifier.predict([_image(one, model.shape) for one in sentences], seed=seed)
    pairs = [*sentences[1:], *sentences[:1]] if classifier.takes_pairs else None
    # For a run on questions, each sentence is a question about the next one.
    with as_text(classifier.model).in_float32():
        return classifier.predict(sentences, pairs, seed=seed)


def _image(name: str, shape: Sequence[int]) -> NDArray[np.uint8]:
    """Random patches of 4×4 pixels, a function of the name."""
    channels, height, width = shape
    draw = np.random.Generator(np.random.PCG64(int.from_bytes(hashlib.sha256(name.encode()).digest())))
    patches = draw.integers(0, 256, (-(-height // 4), -(-width // 4), channels), dtype=np.uint8)
    return patches.repeat(4, axis=0).repeat(4, axis=1)[:height, :width]


def _digest(document: JsonObject) -> str:
    return hashlib.sha256(writable(json_text(document)).encode()).hexdigest()


def _predictions(classifier: Classifier) -> list[JsonObject]:
    try:
        found = answers(classifier, SENTENCES, seed=SEED)
    except UserError:  # a predictor whose word lists cannot be had here: the rest can still be checked
        return []
    return [
        {"text": text, "label": one.label, "scores": one.scores}
        for text, one in zip(SENTENCES, found, strict=True)
    ]
