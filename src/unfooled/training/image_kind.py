"""Training on images."""

from __future__ import annotations

from functools import partial

from torch import nn

from unfooled.data.images.image_files import read_image
from unfooled.defences import TrainingData
from unfooled.hub.devices import device_and_bf16
from unfooled.models import Model, new_image_model, own_image_model
from unfooled.storage.config import TrainConfig
from unfooled.training.data_kind import DataKind
from unfooled.training.image_data import ImageTaskData
from unfooled.training.image_examples import Augmentation, ImageExamples
from unfooled.training.text_kind import measured_classes
from unfooled.training.watch import collapsed


def _opened(config: TrainConfig, splits: ImageTaskData, network: nn.Module | None) -> Model:
    device, _ = device_and_bf16(config.device, config.precision)
    make = partial(new_image_model, str(config.encoder))
    if network is not None:
        make = partial(own_image_model, network)
    return make(
        splits.shape,
        len(splits.task.labels),
        device=device,
        bf16=config.precision == "bf16",
        open_file=read_image,
    )


def _training(model: Model, splits: ImageTaskData, config: TrainConfig) -> TrainingData:
    """Changed at random in every epoch, as the configuration says."""
    augment = Augmentation(config.augment, config.seed) if config.augment else None
    return TrainingData(ImageExamples(splits.train, augment), splits.train.labels.tolist())


def _held_out(model: Model, splits: ImageTaskData, split: str) -> TrainingData:
    rows = getattr(splits, split)
    return TrainingData(ImageExamples(rows), rows.labels.tolist())


IMAGES = DataKind(_opened, _training, _held_out, measured_classes, partial(collapsed, things="images"))
