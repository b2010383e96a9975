"""JSON and YAML into plain values, within limits: what comes from a disk or a network passes here.

What is let through holds names and values, lists, text, finite numbers of at most 64 bits, true, false and
null, not nested deeper than :data:`MOST_DEPTH`. Everything else is refused with its place. Dates in YAML are
text.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from unfooled.errors import UsageError, UserError

if TYPE_CHECKING:
    import yaml

MOST_DEPTH = 50
"""Lists and objects inside each other."""
MOST_YAML = 256 * 1024
"""Characters of a plan or a configuration."""
MOST_YAML_VALUES = 100_000
"""Values of a plan or a configuration, each alias counted with all that it stands for."""
MOST_BITS = 64
_LONGEST_NUMBER = 100

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 120
_short.maxlong = 60


def quoted(value: object) -> str:
    """The value as messages quote it: short, whatever it is."""
    try:
        return " ".join(_short.repr(value).split())
    except Exception:  # a number of thousands of digits, or somebody's own __repr__
        return f"a {type(value).__name__} that cannot be quoted"


def parse_json(text: str | bytes, name: str, *, remedy: str = "") -> Any:
    """The value of a JSON text; ``name`` and ``remedy`` are for the message."""
    try:
        value = json.loads(text, parse_constant=_refused_constant)
        check_plain(value)
    except UnicodeDecodeError as error:
        raise UserError(_said(f"{name} is not UTF-8 text (byte {error.start:,}).", remedy)) from error
    except RecursionError as error:
        raise UserError(_said(f"{name} is nested too deeply.", remedy)) from error
    except ValueError as error:
        raise UserError(_said(f"{name} is not valid JSON ({_reason(error)}).", remedy)) from error
    return value


def parse_yaml(text: str, name: str) -> Any:
    """The value of a YAML text; ``name`` is for the message."""
    import yaml

    if len(text) > MOST_YAML:
        raise UsageError(f"{name} has {len(text):,} characters; at most {MOST_YAML:,} are read.")
    try:
        loader = _loader_class()(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _check_nodes(node, {}, set())
            value = loader.construct_document(node)
        finally:
            loader.dispose()
        check_plain(value)
    except RecursionError as error:
        raise UsageError(f"{name} is nested too deeply; at most {MOST_DEPTH} levels are read.") from error
    except yaml.YAMLError as error:
        raise UsageError(f"{name} is not valid YAML: {error}") from error
    except ValueError as error:
        raise UsageError(f"{name} cannot be used ({_reason(error)}).") from error
    return value


def check_plain(value: Any, depth: int = 0) -> None:
    """Refuse, with a ValueError that names the place, what is not plain or not within the limits."""
    if isinstance(value, dict | list):
        if depth == MOST_DEPTH:
            raise _Odd(f"more than {MOST_DEPTH} levels of nesting")
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(value, dict):
                _check_key(key)
            try:
                check_plain(item, depth + 1)
            except _Odd as odd:
                odd.path.append(quoted(key) if isinstance(value, list) else str(key)[:60])
                raise
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise _Odd(f"the number {value} is not finite")
    elif isinstance(value, int):  # true and false as well
        if value.bit_length() > MOST_BITS:
            raise _Odd(f"a whole number has more than {MOST_BITS} bits")
    elif value is not None and not isinstance(value, str):
        raise _Odd(f"a {type(value).__name__} is neither text nor a number")


def plain(value: Any) -> Any:
    """The value as YAML and JSON have it: lists for tuples, copies throughout."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


class _Odd(ValueError):
    """What is wrong, and on the way up the keys to it."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.path: list[str] = []

    def __str__(self) -> str:
        where = ": ".join(reversed(self.path))
        return f"{where}: {self.args[0]}" if where else str(self.args[0])


def _check_key(key: object) -> None:
    if not isinstance(key, str):
        raise _Odd(f"the name {quoted(key)} is not text; put it in quotes")


def _refused_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")


def _reason(error: ValueError) -> str:
    text = str(error)
    return text if len(text) <= 300 else f"{text[:300]}…"


def _said(what: str, remedy: str) -> str:
    return f"{what} {remedy}".rstrip()


@cache
def _loader_class() -> Any:
    """PyYAML's safe loader, which leaves dates as text."""
    import yaml

    resolvers = {
        first: [(tag, pattern) for tag, pattern in known if not tag.endswith(":timestamp")]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return type("Loader", (yaml.SafeLoader,), {"yaml_implicit_resolvers": resolvers})


def _check_nodes(node: yaml.Node, sizes: dict[yaml.Node, int], above: set[yaml.Node]) -> int:
    """How many values a node stands for, aliases filled in; refuses cycles, depth and numbers without end."""
    import yaml

    line = f"line {node.start_mark.line + 1}"
    if node in above:
        raise _Odd(f"{line}: an anchor holds itself")
    if node in sizes:
        return sizes[node]
    if len(above) == MOST_DEPTH:
        raise _Odd(f"{line}: more than {MOST_DEPTH} levels of nesting")
    size = 1
    if isinstance(node, yaml.ScalarNode):
        if node.tag.endswith((":int", ":float")) and len(node.value) > _LONGEST_NUMBER:
            raise _Odd(f"{line}: a number has more than {_LONGEST_NUMBER} characters")
    else:
        above.add(node)
        parts = [n for pair in node.value for n in pair] if isinstance(node, yaml.MappingNode) else node.value
        size += sum(_check_nodes(part, sizes, above) for part in parts)
        above.discard(node)
        if size > MOST_YAML_VALUES:
            raise _Odd(f"{line}: more than {MOST_YAML_VALUES:,} values with all aliases filled in")
    sizes[node] = size
    return size
