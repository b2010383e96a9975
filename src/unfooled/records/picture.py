"""An image in several states side by side, as small PNG files that a page can show."""

from __future__ import annotations

import base64
import binascii
from dataclasses import asdict, dataclass

from unfooled.errors import UserError
from unfooled.files import JsonMapping, JsonObject
from unfooled.settings import build

PNG = b"\x89PNG\r\n\x1a\n"
LARGEST = 2_000_000
"""Characters of one picture."""


@dataclass(frozen=True)
class Picture:
    """One image: with its mask, or before and after an attack."""

    name: str
    told: str
    """What became of it, in a few words."""
    panels: tuple[tuple[str, str], ...]
    """(what it shows, a PNG file as base64)."""

    def __post_init__(self) -> None:
        for shown, png in self.panels:
            try:
                fine = len(png) <= LARGEST and base64.b64decode(png, validate=True).startswith(PNG)
            except (binascii.Error, ValueError):
                fine = False
            if not fine:
                raise UserError(f"The picture «{shown}» of {self.name} is no PNG file in base64.")

    def to_dict(self) -> JsonObject:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: JsonMapping) -> Picture:
        return build(cls, values, owner="a picture")
