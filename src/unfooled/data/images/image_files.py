"""One image of a file, of bytes or of PIL as 8-bit pixels, or a message that names it.

Converted is what has one plain meaning: palettes become colours, or grey if they hold nothing else, black and
white becomes grey, grey becomes colour where the others are in colour, EXIF rotation is applied, an alpha
channel without effect is dropped.
Refused is what would have to be guessed: transparency, CMYK and other colour spaces, 16 bits or floats per
channel, several frames. Size is checked before anything is decoded, and only common formats are opened.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from unfooled.data.images.image_rows import Pixels
from unfooled.errors import DataError, UserError, needs_extra
from unfooled.files import check_not_pipe
from unfooled.records.shapes.run_shapes import Conversion

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF")
LARGEST_FILE = 64 << 20
"""Bytes of one image file."""
MOST_PIXELS = 50_000_000
"""Pixels of one image."""
_GREY, _COLOUR = ("1", "L"), ("RGB", "P")
_WITH_ALPHA = ("LA", "La", "PA", "RGBA", "RGBa")
_ORIENTATION = 0x0112
_PNG_ORIENTATION = (b"eXIf", b"Raw profile type exif", b"XML:com.adobe.xmp")
"""One of these is in every PNG that says how it is to be turned."""
_DEEP = ("I", "F")
_BILINEAR = 2  # PIL.Image.Resampling.BILINEAR, which averages over an area when it makes smaller


def read_image(source: Path | Image, *, channels: int | None = None, size: int | None = None) -> Pixels:
    """The pixels of a file, or of an image of PIL, height × width × channels; see :func:`decode`."""
    if isinstance(source, Path):
        return decode(_content(source), str(source), channels=channels, size=size)
    name = str(getattr(source, "filename", "")) or "The PIL image"
    with _telling(name):
        _check(source, name)
        return _pixels(source, name, channels, size)


def decode(content: bytes, name: str, *, channels: int | None = None, size: int | None = None) -> Pixels:
    """The pixels of the bytes of an image file; ``name`` says in messages which.

    ``channels`` 1 or 3 converts between grey and colour, ``size`` squashes to so many pixels in square.
    """
    with _opened(content, name) as image:
        return _pixels(image, name, channels, size)


def conversion(size: int | None, channels: Literal[1, 3] | None) -> Conversion:
    """The settings that were given, as a run keeps them to read other files in the same way."""
    given: Conversion = {}
    if size is not None:
        given["size"] = size
    if channels is not None:
        given["channels"] = channels
    return given


def look(path: Path) -> tuple[int, int, int]:
    """Height, width and channels of a file as its header says, EXIF rotation applied.

    Nothing is decoded, except a PNG whose orientation may stand behind its pixels.
    """
    content = _content(path)
    with _opened(content, str(path)) as image:
        width, height = image.size
        if image.format == "TIFF":  # some versions of Pillow have turned `size`, others have not
            width, height = image.tag_v2[256], image.tag_v2[257]
        if _orientation(image, content) in (5, 6, 7, 8):  # turned by a quarter
            width, height = height, width
        return height, width, _channels(image)


def _pixels(image: Any, name: str, channels: int | None, size: int | None) -> Pixels:
    if (frames := getattr(image, "n_frames", 1)) != 1:
        raise DataError(f"{name} holds {frames} frames; give one image per file.")
    turned = needs_extra("PIL.ImageOps", "images", "reads images").exif_transpose(image)
    plain = _without_alpha(turned, name)
    plain = plain.convert("L" if (channels or _channels(plain)) == 1 else "RGB")
    if size is not None and plain.size != (size, size):
        plain = plain.resize((size, size), _BILINEAR)
    pixels = np.asarray(plain, dtype=np.uint8)
    return pixels[..., None] if pixels.ndim == 2 else pixels


def _orientation(image: Any, content: bytes) -> int:
    """What EXIF or XMP says. ``getexif`` would decode a PNG without either, to look behind its pixels."""
    if image.format == "PNG" and not any(mark in content for mark in _PNG_ORIENTATION):
        return 1
    return int(image.getexif().get(_ORIENTATION, 1))


def _content(path: Path) -> bytes:
    check_not_pipe(path)
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
    """A checked PIL image."""
    pillow = needs_extra("PIL.Image", "images", "reads images")
    with _telling(name), pillow.open(io.BytesIO(content), formats=_FORMATS) as image:
        _check(image, name, content)
        yield image


@contextmanager
def _telling(name: str) -> Iterator[None]:
    """Whatever a decoder raises is told with the name."""
    pillow = needs_extra("PIL.Image", "images", "reads images")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
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


def _check(image: Any, name: str, content: bytes = b"") -> None:
    width, height = image.size
    if width * height > MOST_PIXELS:
        raise DataError(
            f"{name} has {width:,} × {height:,} pixels; at most {MOST_PIXELS:,} are read. Make it smaller."
        )
    bits = 8
    if image.format == "PNG" and content:
        bits = content[24]  # PIL would cut 16 bits to 8 and not say so
    elif (tags := getattr(image, "tag_v2", None)) is not None:  # TIFF
        told = tags.get(258, 8)
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
    return full.convert("L" if _channels(image) == 1 else "RGB")


def _channels(image: Any) -> int:
    if image.mode in ("P", "PA"):
        return 1 if _has_grey_palette(image) else 3
    return 1 if image.mode in (*_GREY, "LA", "La") else 3


def _has_grey_palette(image: Any) -> bool:
    """Whether no colour of the palette is other than grey. The image itself is not decoded for that."""
    if image.palette is None:
        return False
    packing, colours = image.palette.getdata()
    probe = needs_extra("PIL.Image", "images", "reads images").new("P", (1, 1))
    probe.putpalette(colours, packing)
    red, green, blue = np.reshape(probe.getpalette("RGB"), (-1, 3)).T
    return bool((red == green).all() and (green == blue).all())
