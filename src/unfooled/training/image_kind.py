"""Training on images."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch
from torch import nn

from unfooled.data.images.image_files import read_image
from unfooled.defences import TrainingData
from unfooled.errors import UsageError
from unfooled.files import TRAIN_AGAIN, read_json
from unfooled.hub.devices import device_and_bf16
from unfooled.models import ImageModel, Model, new_image_model, open_image_model, own_image_model
from unfooled.models.image import OpenFile
from unfooled.models.images import ARCHITECTURES
from unfooled.records.shapes.run_shapes import Conversion, MarkerShape
from unfooled.storage.config import TrainConfig
from unfooled.training.data_kind import DataKind
from unfooled.training.image_data import ImageTaskData
from unfooled.training.image_examples import Augmentation, ImageExamples
from unfooled.training.text_kind import measured_classes
from unfooled.training.watch import collapsed


def _opened(config: TrainConfig, splits: ImageTaskData, network: nn.Module | None) -> Model:
    """A new network, the user's own, or that of a run of images: ``--encoder RUN`` trains it on."""
    device, _ = device_and_bf16(config.device, config.precision)
    encoder = str(config.encoder)
    make = partial(new_image_model, encoder)
    if network is not None:
        make = partial(own_image_model, network)
    elif encoder.partition(":")[0] not in ARCHITECTURES and (Path(encoder) / "unfooled.json").is_file():
        make = partial(_of_run, Path(encoder))
    return make(
        splits.shape,
        len(splits.task.labels),
        device=device,
        bf16=config.precision == "bf16",
        open_file=read_image,
        conversion=splits.conversion,
    )


def _of_run(
    folder: Path,
    shape: Sequence[int],
    classes: int,
    *,
    device: torch.device | str,
    bf16: bool,
    open_file: OpenFile | None,
    conversion: Conversion,
) -> ImageModel:
    """The network of a run and its weights; one that was made for other images or classes is refused."""
    saved = read_json(folder / "unfooled.json", MarkerShape, remedy=TRAIN_AGAIN)
    if "images" not in saved:
        raise UsageError(
            f"--encoder {folder} does not read images. Name a run that does, or an architecture."
        )
    own = {**saved["images"], "conversion": conversion}
    if list(own["shape"]) != list(shape) or len(saved["labels"]) != classes:
        raise UsageError(
            f"--encoder {folder} reads images of {_told(own['shape'])}, {len(saved['labels'])} classes; "
            f"this data has images of {_told(shape)}, {classes} classes. Name a run of the same sizes."
        )
    return open_image_model(folder, own, classes, device=device, bf16=bf16, open_file=open_file)


def _told(shape: Sequence[int]) -> str:
    return " × ".join(map(str, shape))


def _training(model: Model, splits: ImageTaskData, config: TrainConfig) -> TrainingData:
    """Changed at random in every epoch, as the configuration says."""
    augment = Augmentation(config.augment, config.seed) if config.augment else None
    return TrainingData(ImageExamples(splits.train, augment), splits.train.labels.tolist())


def _held_out(model: Model, splits: ImageTaskData, split: str) -> TrainingData:
    rows = getattr(splits, split)
    return TrainingData(ImageExamples(rows), rows.labels.tolist())


IMAGES = DataKind(_opened, _training, _held_out, measured_classes, partial(collapsed, things="images"))
