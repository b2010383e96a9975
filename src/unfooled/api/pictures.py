"""Pictures of masks (Lyu et al. 2024, Figures 5 to 7): what ``ars`` and ``static-mask`` let through.

They are made of a few test images when a run has been trained, and kept in its folder (``pictures.json``), so
that a report needs neither the model nor the data. For a run without them a report makes them anew, if the
data are there.
"""

from __future__ import annotations

from pathlib import Path

import torch

from unfooled.api.load import load
from unfooled.errors import UserError
from unfooled.files import TRAIN_AGAIN, JsonObject, read_json
from unfooled.models import as_image
from unfooled.predictors import Ars, Classifier, StaticMaskVote
from unfooled.predictors.smoothing.masked_pixels import averaged_queries, masked_query
from unfooled.records.picture import Picture
from unfooled.reports.png import png_text
from unfooled.training.data import load_image_task
from unfooled.training.image_data import ImageTaskData
from unfooled.training.run_rows import run_config

PICTURES = "pictures.json"
SHOWN = 4
"""Test images whose masks are drawn."""


def mask_pictures(classifier: Classifier, data: ImageTaskData) -> list[Picture]:
    """The first test images, of as many classes, with noise and mask of one draw; none without a mask."""
    predictor = classifier.predictor
    if not isinstance(predictor, Ars | StaticMaskVote):
        return []
    model, labels = as_image(classifier.model), data.test.labels.tolist()
    first = {label: place for place, label in reversed(list(enumerate(labels)))}
    places = sorted(first.values())[:SHOWN]
    given = [data.test.images[place] for place in places]
    answers = classifier.predict(given, seed=0)
    noise = torch.Generator().manual_seed(0)
    with torch.no_grad(), model.in_float32():
        clean = model.start(model.batch(model.read(given)))
        drawn = [torch.randn(clean.shape, generator=noise).to(clean.device) for _ in range(2)]
        if isinstance(predictor, Ars):
            sigmas = predictor.steps(model)
            look = clean + sigmas[0] * drawn[0]
            seen = averaged_queries(model, clean, look, drawn[1], (sigmas[0], sigmas[1]))
            parts = {"image": clean, "first query": look, "mask": model.masks(look), "classified": seen}
        else:
            seen = masked_query(model, clean, drawn[0], predictor.sigma)
            parts = {"image": clean, "mask": model.masks(clean), "classified": seen}
    panels = {name: values.cpu().numpy() for name, values in parts.items()}
    return [
        Picture(
            data.test.names[place],
            f"Truth: {data.task.labels[labels[place]]}, answer: {answers[number].label}",
            tuple((name, png_text(values[number])) for name, values in panels.items()),
        )
        for number, place in enumerate(places)
    ]


def kept(pictures: list[Picture]) -> JsonObject:
    """What ``pictures.json`` holds."""
    return {"format": 1, "pictures": [one.to_dict() for one in pictures]}


def read_pictures(folder: Path) -> tuple[Picture, ...]:
    """The pictures of a run; made anew where there are none, and none where that cannot be done."""
    file = folder / PICTURES
    if file.is_file():
        found = read_json(file, dict[str, list[JsonObject] | int], remedy=TRAIN_AGAIN)
        listed = found.get("pictures", [])
        return tuple(Picture.from_dict(one) for one in listed) if isinstance(listed, list) else ()
    try:
        return tuple(mask_pictures(load(folder, device="cpu"), load_image_task(run_config(folder))))
    except (UserError, OSError):  # the data, or the code of the network, are not here
        return ()
