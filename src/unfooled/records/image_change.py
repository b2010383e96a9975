"""What an attack did to one image: how far it moved it, and the pixels before and after, packed as text."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Literal

from unfooled.errors import UserError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_PIXELS = 64_000_000
_PACKED = re.compile(r"(?P<shape>\d+(?:x\d+){0,3}):(?P<data>[A-Za-z0-9+/=]*)")


@dataclass(frozen=True)
class ImageChange:
    """The part of an outcome that only images have."""

    norm: Literal["linf", "l2"]
    size: float
    """ε: no success is farther from the original."""
    distance: float | None = None
    """Of the result from the original; of a failed search for the nearest success, what it found beyond ε."""
    found_by: str = ""
    """Of several attacks, the one that succeeded."""
    gradients: int = 0
    """Gradient calls."""
    original: str = ""
    """The pixels from 0 to 1, packed (:func:`unpacked`); of a success only."""
    adversarial: str = ""

    def pixels(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Before and after, ``(channels, height, width)`` each."""
        return unpacked(self.original), unpacked(self.adversarial)


def packed(pixels: NDArray[Any]) -> str:
    """Single-precision numbers as text: the shape, and their bytes compressed; nothing is rounded."""
    data = zlib.compress(pixels.astype("<f4").tobytes(), 6)
    return f"{'x'.join(map(str, pixels.shape))}:{base64.b64encode(data).decode()}"


def unpacked(text: str) -> NDArray[Any]:
    """What :func:`packed` was given; text that it did not make is refused."""
    import numpy as np

    found = _PACKED.fullmatch(text)
    shape = tuple(map(int, found["shape"].split("x"))) if found else ()
    if found and prod(shape) <= MOST_PIXELS:
        size = 4 * prod(shape)
        try:
            data = zlib.decompressobj().decompress(base64.b64decode(found["data"], validate=True), size + 1)
        except (binascii.Error, zlib.error):
            data = b""
        if len(data) == size:
            return np.frombuffer(data, dtype="<f4").reshape(shape)
    raise UserError("The pixels of an attacked image are damaged. Run the attack again.")
