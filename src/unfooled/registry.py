"""Named things that other packages may add to: defences, recipes, predictors, tasks, threats.

A registry holds our own entries and those that installed packages declare as entry points of the group
``unfooled.KINDs``, for example in their ``pyproject.toml``:

    [project.entry-points."unfooled.recipes"]
    shout = "my_package.shout:Shout"

Other packages are imported only when a name is not ours or all names are listed. Our own names win.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, MutableMapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from unfooled.errors import UsageError
from unfooled.settings import choose

T = TypeVar("T")
# A name stands in folder names, in lists (a,b) and in combinations (a+b).
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class PluginWarning(UserWarning):
    """An entry of another package that cannot be used; the rest works without it."""


class Registry(MutableMapping[str, T]):
    """Entries by their ``name``, in order: ours, then those of other packages."""

    def __init__(self, kind: str, own: Iterable[T], *, needs: Iterable[str] = ()) -> None:
        """``needs``: attributes that an entry of another package must have, apart from its name."""
        self.kind = kind
        self.group = f"unfooled.{kind}s"
        self._own: dict[str, T] = {_name_of(entry): entry for entry in own}
        self._needs = ("name", *needs)
        self._refused: dict[str, str] = {}
        """Why the entry of another package cannot be used."""

    def choose(self, name: str) -> T:
        """The entry called ``name``; an unknown name is refused with the nearest one and the list."""
        if isinstance(name, str) and name not in self and name in self._refused:
            raise UsageError(self._refused[name])
        return choose(self, name, kind=self.kind)

    def __getitem__(self, name: str) -> T:
        return self._own[name] if name in self._own else self._others[name]

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._others

    def __iter__(self) -> Iterator[str]:
        return iter([*self._own, *(name for name in self._others if name not in self._own)])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __setitem__(self, name: str, entry: T) -> None:
        self._own[name] = entry

    def __delitem__(self, name: str) -> None:
        del (self._own if name in self._own else self._others)[name]

    @cached_property
    def _others(self) -> dict[str, T]:
        """What other packages add. A bad entry costs a warning that names its package, nothing else."""
        offered: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=self.group):
            offered.setdefault(point.name, []).append(point)
        found: dict[str, T] = {}
        for name, points in sorted(offered.items()):
            packages = sorted({_package(point) for point in points})
            if name in self._own:
                self._warn(f"Package {packages[0]} adds a {self.kind} '{name}', which unfooled has itself.")
            elif len(packages) > 1:
                self._refuse(
                    name,
                    f"The {self.kind} '{name}' is added by the packages {' and '.join(packages)}. "
                    "Uninstall all but one of them.",
                )
            else:
                self._load(points[0], found)
        return found

    def _load(self, point: EntryPoint, found: dict[str, T]) -> None:
        what = f"The {self.kind} '{point.name}' of package {_package(point)}"
        try:
            entry: Any = point.load()
        except Exception as error:  # whatever a package does on import must not stop the others
            reason = f"{type(error).__name__}: {error}".strip()
            return self._refuse(point.name, f"{what} cannot be imported ({reason}). Repair or uninstall it.")
        missing = [attribute for attribute in self._needs if not hasattr(entry, attribute)]
        if missing:
            return self._refuse(point.name, f"{what} ({point.value}) has no {' and no '.join(missing)}.")
        if entry.name != point.name or not _NAME.fullmatch(point.name):
            return self._refuse(
                point.name,
                f"{what} calls itself {entry.name!r}. The name of the entry point and the attribute must be "
                "the same, of letters, digits and . _ -.",
            )
        found[point.name] = entry

    def _refuse(self, name: str, reason: str) -> None:
        self._refused[name] = reason
        self._warn(reason)

    def _warn(self, message: str) -> None:
        warnings.warn(message, PluginWarning, stacklevel=2)


def _name_of(entry: Any) -> str:
    return str(entry.name)


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.value
