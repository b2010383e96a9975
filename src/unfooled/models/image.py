"""``ImageModel``: images to logits. The start, which noise is added to, are the pixels from 0 to 1.

>>> model = ImageModel(network, (1, 28, 28))
>>> model.forward(model.batch(model.read(images))).logits.shape   # uint8, (images, height, width, channels)
torch.Size([5, 10])

Networks shift and scale the pixels themselves, so that noise and radii are in the units of the pixels.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from unfooled.errors import UsageError, UserError
from unfooled.files import JsonMapping, JsonObject
from unfooled.hub.memory import keep_freed_memory
from unfooled.models.identity import code_digest
from unfooled.models.images.mask import Mask, make_mask
from unfooled.models.model import Excerpt, Model, Unreadable
from unfooled.models.noise import Site
from unfooled.models.tensor import TensorBatch, TensorModel
from unfooled.records.shapes.run_shapes import Conversion

OpenFile = Callable[..., NDArray[np.uint8]]
"""Reads the image file at a path, or an image of PIL, ``(height, width, channels)``; ``channels`` 1 or 3
converts to grey or colour, ``size`` to a square of so many pixels, and None leaves it. Raises UserError if it
cannot."""


GPU_ROWS = 256


def cpu_rows() -> int:
    """Images per forward pass on a CPU: fewer where the memory of every pass must be asked for anew."""
    return 128 if keep_freed_memory() else 64


@dataclass(frozen=True)
class EncodedImage:
    """One image as it was given.

    Bytes ``(height, width, channels)``, or numbers from 0 to 1 ``(channels, height, width)``.
    """

    given: Tensor

    @property
    def values(self) -> Tensor:
        """Pixels from 0 to 1, ``(channels, height, width)``."""
        return pixels(self.given.unsqueeze(0))[0]

    @property
    def truncated(self) -> bool:
        return False

    def __len__(self) -> int:
        return 1

    def key(self) -> object:
        """The pixels: an image of bytes and the same one in numbers from 0 to 1 have the same key."""
        values = self.values.numpy()
        return values.shape, values.tobytes()

    def show(self) -> str:
        """Size and the beginning of a digest: which image it is, not what it looks like."""
        channels, height, width = self.values.shape
        digest = hashlib.sha256(repr(self.key()).encode()).hexdigest()
        return f"image {width}×{height}×{channels}, {digest[:12]}"

    def excerpts(self, positions: Sequence[int]) -> list[Excerpt]:
        return []


def pixels(images: Tensor) -> Tensor:
    """Images alike, ``(images, …)``, as float32 from 0 to 1, ``(images, channels, height, width)``."""
    if images.dtype == torch.uint8:
        return images.permute(0, 3, 1, 2).contiguous().float() / 255
    return images.detach().float().cpu()


class ImageModel(TensorModel):
    """A network from pixels ``(rows, channels, height, width)`` to logits.

    ``described`` says which network it is, as a run folder keeps it. A network of the user's has no such
    description: then its identity includes its code.
    ``conversion`` is what the task converted its files to: files are read as in training, arrays as they are.
    Some defences train a second network beside the first (:mod:`unfooled.models.images.mask`).
    """

    kind: ClassVar[str] = "image"
    bounds: ClassVar[tuple[float, float] | None] = (0.0, 1.0)

    def __init__(
        self,
        network: nn.Module,
        shape: Sequence[int],
        *,
        described: JsonMapping | None = None,
        device: torch.device | str | None = None,
        bf16: bool = False,
        batch_size: int | None = None,
        open_file: OpenFile | None = None,
        conversion: Conversion | None = None,
    ) -> None:
        if len(shape) != 3:
            raise UsageError(f"shape must be (channels, height, width), got {tuple(shape)}.")
        self.conversion = conversion or Conversion()
        if not _fits(self.conversion, shape):
            raise UsageError(f"conversion {self.conversion} does not give images of {_size(shape)}.")
        self.bf16 = False
        module = Networks(network)
        if described is not None:  # a network of ours
            _channels_last(module)
        own = next(network.parameters(), torch.empty(0)).device
        on_cpu = torch.device(device or own).type == "cpu"
        rows = batch_size or (cpu_rows() if on_cpu else GPU_ROWS)
        super().__init__(module, shape, device=device, batch_size=rows)
        self.described = described
        self.bf16 = bf16
        self.open_file = open_file

    @property
    def precision(self) -> str:
        return "bf16" if self.bf16 else "float32"

    @property
    def parallel(self) -> bool:
        return self.described is not None  # a network of ours; nobody promised it for others

    def inputs(self, first: Any, second: Sequence[object] | None = None) -> Any:
        """Images from an array, or a list of arrays, PIL images or file names: arrays, fit for workers."""
        if second is not None:
            raise UsageError("This model reads images, which have no second texts: leave out pairs.")
        if isinstance(first, str | Path):
            raise UsageError("The inputs are one file: put it in brackets, [file].")
        if _is_one(first, self.shape):
            raise UsageError("The inputs are one image: put it in brackets, [image].")
        if not hasattr(first, "__len__"):
            raise UsageError(f"This model reads images or names of image files, not {type(first).__name__}.")
        found = [self._given(one) for one in first]
        return [one if isinstance(one, Unreadable) else one.detach().cpu().numpy() for one in found]

    def _given(self, one: Any) -> Tensor | Unreadable:
        named = isinstance(one, str | Path)
        if named or _is_pil(one):
            if self.open_file is None:
                raise UsageError("This model was made without a reader of files: give arrays.")
            channels = self.conversion.get("channels") or (3 if self.shape[0] == 3 else None)
            source = Path(one) if named else one
            try:
                one = self.open_file(source, channels=channels, size=self.conversion.get("size"))
            except UserError as error:
                return Unreadable(str(error), str(source) if named else "PIL image")
        if isinstance(one, Unreadable):
            return one
        try:
            found = one if isinstance(one, Tensor) else torch.tensor(np.ascontiguousarray(one))
        except (TypeError, ValueError, RuntimeError) as error:
            if not isinstance(one, np.ndarray):
                raise UsageError(f"An image is an array of pixels, not {type(one).__name__}.") from error
            return Unreadable(
                f"the pixels are of type {one.dtype}. Give bytes from 0 to 255, or numbers from 0 to 1",
                f"array of the shape {one.shape}",
            )
        if found.dim() == 2:
            return found.unsqueeze(-1) if found.dtype == torch.uint8 else found.unsqueeze(0)
        return found

    def read(self, inputs: Tensor | Sequence[Any]) -> list[Any]:
        """One :class:`EncodedImage` per image, or the reason why not.

        Arrays of bytes ``(height, width, channels)``, or from 0 to 1 ``(channels, height, width)``.
        """
        return [self._encoded(self._given(one)) for one in inputs]

    def _encoded(self, found: Tensor | Unreadable) -> EncodedImage | Unreadable:
        if isinstance(found, Unreadable):
            return found
        shown = f"array of the shape {tuple(found.shape)}"
        if found.dtype != torch.uint8 and not found.is_floating_point():
            return Unreadable(
                f"the pixels are {str(found.dtype).removeprefix('torch.')}. Give bytes from 0 to 255, "
                "array.astype('uint8'), or numbers from 0 to 1",
                shown,
            )
        if found.dim() != 3:
            return Unreadable(f"an image has a height, a width and channels, not {found.dim()} axes", shown)
        bytes_ = found.dtype == torch.uint8
        shape = (found.shape[2], *found.shape[:2]) if bytes_ else tuple(found.shape)
        if shape != self.shape:
            return Unreadable(_misfit(shape, self.shape, self.conversion, bytes_=bytes_), shown)
        if not bytes_ and not bool(((found >= 0) & (found <= 1)).all()):
            scaled = float(found.nan_to_num().max()) > 1 and float(found.nan_to_num().max()) <= 255
            advice = ". Divide pixels up to 255 by 255" if scaled else ""
            return Unreadable(f"the pixels must be from 0 to 1; some are outside or NaN{advice}", shown)
        return EncodedImage(found)

    def batch(self, encoded: Sequence[Any], labels: Sequence[int] | None = None) -> TensorBatch:
        kinds = {item.given.dtype for item in encoded}
        if kinds == {torch.uint8}:  # all at once: many times faster than one by one
            rows = pixels(torch.stack([item.given for item in encoded]))
        else:
            rows = torch.stack([item.values for item in encoded])
        truth = None if labels is None else torch.tensor(list(labels), device=self.device)
        return TensorBatch(rows.to(self.device), labels=truth)

    def check_sites(self, sites: Sequence[Site], setting: str = "noise_layers") -> None:
        for site in sites:
            if site != "embeddings":
                raise UsageError(
                    f"{setting}: images take noise at their pixels only, not after block {site!r}."
                )

    def mask_refusal(self) -> str:
        return "an image has no tokens that could be hidden. Use masking=none"

    def identity(self) -> dict[str, object]:
        """Weights, architecture, how images are read, precision; the code too, of a network of the user's."""
        told: JsonObject = {
            "reads": "images",
            "weights": self.weights(),
            "architecture": self.architecture(),
            "shape": list(self.shape),
            "device": self.device.type,
            "precision": self.precision,
        }
        if self.conversion:
            told["conversion"] = dict(self.conversion)
        if self.described is None:
            told["code"] = code_digest(self.module) or f"unknown {self._own_token}"
        return told

    def architecture(self) -> JsonObject:
        """How the networks are made again, as JSON; of a network of the user's, what it is called."""
        mask, network = self.module.mask, self.module.network
        own = {"name": own_name(network), "settings": {"code": code_digest(network)}}
        made = (
            mask.describe() if isinstance(mask, Mask) else None if mask is None else {"name": own_name(mask)}
        )
        return {**(self.described or own), "mask": made}

    def attach_mask(self, name: str, settings: JsonMapping) -> None:
        """A new mask network of this kind; one that is there already, made alike, stays."""
        made = make_mask(name, settings, self.shape)
        if self.module.mask is None or self.module.mask.describe() != made.describe():
            _channels_last(made)
            self.module.mask = made.to(self.device)
            self.evaluating()

    def masks(self, look: Tensor) -> Tensor:
        """The mask that the mask network makes of each row, ``(rows, 1, height, width)``, in float32."""
        with self.autocast():
            found: Tensor = self.module.mask(look)
        return found

    def to(self, device: torch.device | str) -> None:
        self.module.to(device)
        self._device = torch.device(device)

    @contextmanager
    def in_float32(self) -> Iterator[None]:
        """Full precision inside, whatever the model is set to."""
        before, self.bf16 = self.bf16, False
        try:
            yield
        finally:
            self.bf16 = before

    def autocast(self) -> AbstractContextManager[Any]:
        """bfloat16 where asked for; float32 otherwise."""
        if not self.bf16 or torch.is_autocast_enabled(self.device.type):
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def answer(self, values: Tensor) -> Tensor:
        with self.autocast():
            return super().answer(values)


class Networks(nn.Module):
    """All that is saved of a run: the network that classifies and, with some defences, one that masks."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.mask: Any = None

    def forward(self, values: Tensor) -> Tensor:
        logits: Tensor = self.network(values)
        return logits


OWN = "own:"
"""What the name of a network begins with that no registry knows."""


def own_name(network: nn.Module) -> str:
    """What a run folder calls a network of the user's: it cannot be made from this name."""
    return f"{OWN}{type(network).__qualname__}"


def as_image(model: Model) -> ImageModel:
    """The model as a model of images, for what works on pixels only; others are refused."""
    if not isinstance(model, ImageModel):
        raise UsageError(f"This needs a model of images, and {type(model).__name__} is none.")
    return model


def _channels_last(module: nn.Module) -> None:
    """Put the weights in the layout in which convolutions take half the time."""
    module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def _is_one(images: Any, shape: tuple[int, ...]) -> bool:
    """Whether this is one image, of the model's size or grey without an axis for that, instead of a list."""
    channels, height, width = shape
    one = {(height, width, channels)} | ({shape} if channels > 1 else set())  # (1, 28, 28): a list of one
    found = tuple(getattr(images, "shape", ()))
    return _is_pil(images) or len(found) == 2 or (height > 1 and found in one)


def _is_pil(one: Any) -> bool:
    """Whether this is an image of PIL, which need not be installed."""
    pillow = sys.modules.get("PIL.Image")
    return pillow is not None and isinstance(one, pillow.Image)


def _fits(conversion: Conversion, shape: Sequence[int]) -> bool:
    """Whether converted files have the shape that the model reads."""
    channels, height, width = shape
    side = conversion.get("size")
    return conversion.get("channels", channels) == channels and (side is None or height == width == side)


def _misfit(shape: tuple[int, ...], wanted: tuple[int, ...], conversion: Conversion, *, bytes_: bool) -> str:
    """Why an image does not fit the model, and what to do."""
    told = f"the image is {_size(shape)}, and this model reads {_size(wanted)}. "
    turned = (shape[1], shape[2], shape[0]) if bytes_ else (shape[2], shape[0], shape[1])
    if turned == wanted:
        order = "(height, width, channels)" if bytes_ else "(channels, height, width)"
        return f"{told}{'Bytes' if bytes_ else 'Numbers from 0 to 1'} come as {order}"
    if shape[1:] == wanted[1:]:
        return f"{told}Convert it to {'grey' if wanted[0] == 1 else 'RGB'}"
    things = "Arrays" if "size" in conversion else "Images"
    return f"{told}{things} are not resized: scale or crop it first, as the training images were"


def _size(shape: Sequence[int]) -> str:
    channels, height, width = shape
    return f"{width}×{height} with {channels} channel{'' if channels == 1 else 's'}"
