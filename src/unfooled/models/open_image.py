"""Networks of images: a new one by name, one of the user's, those of a run folder.

Weights are in ``model.safetensors``; nothing is pickled. A network of the user's is no name that it could be
made from again, so whoever opens its run gives a network with the same layers.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import nn

from unfooled.errors import UsageError, UserError
from unfooled.files import JsonMapping
from unfooled.hub.safetensors_files import COPY_AGAIN, SINGLE, weight_paths
from unfooled.models.identity import code_digest
from unfooled.models.image import OWN, ImageModel, OpenFile
from unfooled.models.images import described, make_architecture
from unfooled.records.shapes.run_shapes import Conversion


def new_image_model(
    architecture: str,
    shape: Sequence[int],
    classes: int,
    *,
    device: torch.device | str = "cpu",
    bf16: bool = False,
    open_file: OpenFile | None = None,
    conversion: Conversion | None = None,
) -> ImageModel:
    """A network of this architecture for images of this shape; its weights are drawn from PyTorch's seed."""
    if architecture.startswith(OWN):
        raise UsageError(
            f"{architecture} is a network of your own: call unfooled.train(model=…) in Python, or register "
            "it as an architecture (docs/plugins.md)."
        )
    chosen = make_architecture(architecture)
    channels, height, width = shape
    network = chosen.network((channels, height, width), classes).to(device)
    return ImageModel(
        network,
        shape,
        described=described(chosen),
        device=device,
        bf16=bf16,
        open_file=open_file,
        conversion=conversion,
    )


def own_image_model(
    network: object,
    shape: Sequence[int],
    classes: int,
    *,
    device: torch.device | str = "cpu",
    bf16: bool = False,
    open_file: OpenFile | None = None,
    conversion: Conversion | None = None,
) -> ImageModel:
    """A network of the user's for images of this shape; one that cannot read them is refused."""
    told = f"a torch.nn.Module from pixels (images, {', '.join(map(str, shape))}) to {classes} scores"
    if not isinstance(network, nn.Module):
        raise UsageError(f"model must be {told}, not {type(network).__name__}.")
    try:
        model = ImageModel(
            network.to(device),
            shape,
            device=device,
            bf16=bf16,
            open_file=open_file,
            conversion=conversion,
        )
    except UsageError:
        raise
    except Exception as error:  # whatever the user's code raises
        reason = (str(error).splitlines() or [""])[0].strip(" .:")
        raise UsageError(
            f"model must be {told}; it fails on such images with {type(error).__name__} ({reason})."
        ) from error
    if model.num_labels != classes:
        raise UsageError(f"model must be {told}; it gives {model.num_labels} scores.")
    return model


def open_image_model(
    folder: Path,
    saved: JsonMapping,
    classes: int,
    *,
    network: nn.Module | None = None,
    device: torch.device | str = "cpu",
    bf16: bool = False,
    open_file: OpenFile | None = None,
) -> ImageModel:
    """The model of a run folder; ``saved`` is what ``unfooled.json`` says of it: architecture, shape and,
    if the task had such settings, what files are converted to.

    ``network`` is the user's own, for a run that was trained with one; its weights are replaced.
    """
    own = saved["architecture"]
    shape: list[int] = saved["shape"]
    conversion: Conversion | None = saved.get("conversion")
    if own["name"].startswith(OWN):
        if network is None:
            raise UserError(
                f"{folder} holds the weights of {own['name'].removeprefix(OWN)}, a network of your own, "
                "which a name alone cannot rebuild. Give one with the same layers: unfooled.load(folder, "
                "model=…), and pass the classifier on. Commands open it once it is registered as an "
                "architecture (docs/plugins.md)."
            )
        model = own_image_model(
            network, shape, classes, bf16=bf16, open_file=open_file, conversion=conversion
        )
    elif network is not None:
        raise UsageError(f"{folder} holds the built-in network {own['name']}: leave out model.")
    else:
        chosen = make_architecture(own["name"], own["settings"])
        channels, height, width = shape
        made = chosen.network((channels, height, width), classes)
        model = ImageModel(
            made,
            shape,
            described=described(chosen),
            bf16=bf16,
            open_file=open_file,
            conversion=conversion,
        )
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
    if network is not None and own["settings"].get("code") != code_digest(network):
        warnings.warn(
            f"The code of {type(network).__qualname__} is not the code that {folder} was trained with, or "
            "cannot be compared: its answers may differ.",
            stacklevel=2,
        )
    model.to(device)
    return model


def save_image_model(model: ImageModel, folder: Path) -> JsonMapping:
    """Write the weights; gives what ``unfooled.json`` must say of the model."""
    safetensors.torch.save_model(model.module, str(folder / SINGLE), metadata={"format": "pt"})
    told = {"architecture": model.architecture(), "shape": list(model.shape)}
    return {**told, "conversion": model.conversion} if model.conversion else told
