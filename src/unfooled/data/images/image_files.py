"""One image of a file or of bytes as 8-bit pixels, or a message that names it.

Converted is what has one plain meaning: palettes become colours, black and white becomes grey, grey becomes
colour where the others are in colour, EXIF rotation is applied, an alpha channel without effect is dropped.
Refused is what would have to be guessed: transparency, CMYK and other colour spaces, 16 bits or floats per
channel, several frames. Size is checked before anything is decoded, and only common formats are opened.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

from unfooled.data.images.image_rows import Pixels
from unfooled.errors import DataError, UserError, needs_extra
from unfooled.records.shapes.run_shapes import Conversion

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF")
LARGEST_FILE = 64 << 20
"""Bytes of one image file."""
MOST_PIXELS = 50_000_000
"""Pixels of one image."""
_GREY, _COLOUR = ("1", "L"), ("RGB", "P")
_WITH_ALPHA = ("LA", "La", "PA", "RGBA", "RGBa")
_DEEP = ("I", "F")
_BILINEAR = 2  # PIL.Image.Resampling.BILINEAR, which averages over an area when it makes smaller


def read_image(path: Path, *, channels: int | None = None, size: int | None = None) -> Pixels:
    """The pixels of a file, height × width × channels; see :func:`decode`."""
    return decode(_content(path), str(path), channels=channels, size=size)


def decode(content: bytes, name: str, *, channels: int | None = None, size: int | None = None) -> Pixels:
    """The pixels of the bytes of an image file; ``name`` says in messages which.

    ``channels`` 1 or 3 converts between grey and colour, ``size`` squashes to so many pixels in square.
    """
    with _opened(content, name) as image:
        if (frames := getattr(image, "n_frames", 1)) != 1:
            raise DataError(f"{name} holds {frames} frames; give one image per file.")
        turned = needs_extra("PIL.ImageOps", "images", "reads images").exif_transpose(image)
        plain = _without_alpha(turned, name)
        plain = plain.convert("L" if (channels or _channels(plain.mode)) == 1 else "RGB")
        if size is not None and plain.size != (size, size):
            plain = plain.resize((size, size), _BILINEAR)
        pixels = np.asarray(plain, dtype=np.uint8)
    return pixels[..., None] if pixels.ndim == 2 else pixels


def conversion(size: int | None, channels: Literal[1, 3] | None) -> Conversion:
    """The settings that were given, as a run keeps them to read other files in the same way."""
    given: Conversion = {}
    if size is not None:
        given["size"] = size
    if channels is not None:
        given["channels"] = channels
    return given


def look(path: Path) -> tuple[int, int, int]:
    """Height, width and channels of a file as its header says, EXIF rotation applied; nothing is decoded."""
    with _opened(_content(path), str(path)) as image:
        width, height = image.size
        if image.getexif().get(0x0112, 1) in (5, 6, 7, 8):  # turned by a quarter
            width, height = height, width
        return height, width, _channels(image.mode)


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    if len(content) > LARGEST_FILE:
        raise DataError(f"{path} has more than {LARGEST_FILE >> 20} MB. Make the image smaller.")
    return content


@contextmanager
def _opened(content: bytes, name: str) -> Iterator[Any]:
    """A checked PIL image; whatever the decoder raises is told with the name."""
    pillow = needs_extra("PIL.Image", "images", "reads images")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with pillow.open(io.BytesIO(content), formats=_FORMATS) as image:
                _check(image, content, name)
                yield image
        except UserError:
            raise
        except pillow.DecompressionBombError as error:
            raise DataError(f"{name} has more than {MOST_PIXELS:,} pixels. Make it smaller.") from error
        except pillow.UnidentifiedImageError as error:
            kinds = ", ".join(_FORMATS)
            raise DataError(f"{name} is damaged, or not an image of a supported kind ({kinds}).") from error
        except Exception as error:  # decoders raise many kinds for damaged files
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise DataError(f"{name} is damaged and cannot be read ({reason}).") from error


def _check(image: Any, content: bytes, name: str) -> None:
    width, height = image.size
    if width * height > MOST_PIXELS:
        raise DataError(
            f"{name} has {width:,} × {height:,} pixels; at most {MOST_PIXELS:,} are read. Make it smaller."
        )
    bits = 8
    if image.format == "PNG":
        bits = content[24]  # PIL would cut 16 bits to 8 and not say so
    elif image.format == "TIFF":
        told = image.tag_v2.get(258, 8)
        bits = max(told) if isinstance(told, tuple) else int(told)
    if bits > 8 or image.mode.split(";")[0] in _DEEP:
        raise DataError(f"{name} has {max(bits, 16)} bits per channel; 8 are used. Save it with 8 bits.")
    if image.mode not in (*_GREY, *_COLOUR, *_WITH_ALPHA):
        raise DataError(f"{name} is in the colour space {image.mode}. Save it in grey or RGB.")


def _without_alpha(image: Any, name: str) -> Any:
    """The image without an alpha channel, if that changes nothing."""
    if image.mode not in _WITH_ALPHA and "transparency" not in image.info:
        return image
    full = image.convert("RGBA")
    if full.getchannel("A").getextrema()[0] < 255:
        raise DataError(f"{name} has transparent pixels. Put it on a background of your choice first.")
    return full.convert("L" if _channels(image.mode) == 1 else "RGB")


def _channels(mode: str) -> int:
    return 1 if mode in (*_GREY, "LA", "La") else 3
