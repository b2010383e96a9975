"""Networks of images: a new one by name, and those of a run folder: ``model.safetensors``, no pickle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError

from unfooled.errors import UsageError, UserError
from unfooled.files import JsonMapping
from unfooled.hub.safetensors_files import COPY_AGAIN, SINGLE, weight_paths
from unfooled.models.image import ImageModel, OpenFile
from unfooled.models.images import described, make_architecture


def new_image_model(
    architecture: str,
    shape: Sequence[int],
    classes: int,
    *,
    device: torch.device | str = "cpu",
    bf16: bool = False,
    open_file: OpenFile | None = None,
) -> ImageModel:
    """A network of this architecture for images of this shape; its weights are drawn from PyTorch's seed."""
    chosen = make_architecture(architecture)
    channels, height, width = shape
    network = chosen.network((channels, height, width), classes).to(device)
    return ImageModel(
        network, shape, described=described(chosen), device=device, bf16=bf16, open_file=open_file
    )


def open_image_model(
    folder: Path,
    saved: JsonMapping,
    classes: int,
    *,
    device: torch.device | str = "cpu",
    bf16: bool = False,
    open_file: OpenFile | None = None,
) -> ImageModel:
    """The model of a run folder; ``saved`` is what ``unfooled.json`` says of it: architecture and shape."""
    own = saved["architecture"]
    shape: list[int] = saved["shape"]
    chosen = make_architecture(own["name"], own["settings"])
    channels, height, width = shape
    network = chosen.network((channels, height, width), classes)
    model = ImageModel(network, shape, described=described(chosen), bf16=bf16, open_file=open_file)
    if (mask := own.get("mask")) is not None:
        model.attach_mask(mask["name"], mask["settings"])
    (path,) = weight_paths(folder)
    try:
        safetensors.torch.load_model(model.module, path)
    except (SafetensorError, RuntimeError, OSError) as error:
        reason = str(error).splitlines()[0].strip(" :")
        raise UserError(
            f"{path} does not hold the weights of {own['name']} ({reason}). {COPY_AGAIN}"
        ) from error
    model.to(device)
    return model


def save_image_model(model: ImageModel, folder: Path) -> JsonMapping:
    """Write the weights; gives what ``unfooled.json`` must say of the model."""
    if (architecture := model.architecture()) is None:
        raise UsageError(
            "A network of your own has no name by which a run folder could make it again, so it cannot be "
            "saved. Register it as an architecture (docs/plugins.md)."
        )
    safetensors.torch.save_model(model.module, str(folder / SINGLE), metadata={"format": "pt"})
    return {"architecture": architecture, "shape": list(model.shape)}
