"""Options of a command from declarations of settings: one option per field, named and described by it.

>>> @takes(limits=Limits)
... def attack(run: Path, limits: dict[str, Any]) -> None: ...

The command gets ``--query-budget``, ``--max-changed`` and so on; ``limits`` holds those that were given.
Types and ranges are checked where the settings are built, so that the messages are the same everywhere.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, fields
from functools import wraps
from typing import Annotated, Any, Literal

import typer

from unfooled.cli.options import completion
from unfooled.settings import number_text

Command = Callable[..., None]


@dataclass(frozen=True)
class Options:
    """The options of a declaration without some of its fields."""

    declaration: type[Any]
    leave_out: Sequence[str] = ()


def takes(**groups: type[Any] | Options) -> Callable[[Command], Command]:
    """The parameter called like a group becomes the options of that group's declaration."""
    made = {name: group if isinstance(group, Options) else Options(group) for name, group in groups.items()}
    options = {name: _options(group) for name, group in made.items()}

    def decorate(command: Command) -> Command:
        hints = typing.get_type_hints(command, include_extras=True)
        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command).parameters.values():
            if parameter.name in options:
                parameters += [option for option, _ in options[parameter.name]]
            else:
                parameters.append(parameter.replace(annotation=hints[parameter.name]))

        @wraps(command)
        def wrapper(**values: Any) -> None:
            for group, members in options.items():
                given = {option.name: values.pop(option.name) for option, _ in members}
                values[group] = {
                    option.name: _split(given[option.name]) if commas else given[option.name]
                    for option, commas in members
                    if given[option.name] is not None
                }
            command(**values)

        del wrapper.__wrapped__
        keyword = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
        wrapper.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {one.name: one.annotation for one in keyword}
        return wrapper

    return decorate


def _options(group: Options) -> list[tuple[inspect.Parameter, bool]]:
    """A parameter per field, and whether its values are separated by commas."""
    hints = typing.get_type_hints(group.declaration)
    made = []
    for field in fields(group.declaration):
        kind = _without_none(hints[field.name])
        if field.name in group.leave_out or typing.get_origin(kind) is dict:
            continue
        commas = bool(field.metadata.get("commas"))
        option = inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[_typed(kind, commas), _option(field, kind, commas)],
        )
        made.append((option, commas))
    return made


def _option(field: Field[Any], kind: Any, commas: bool) -> Any:
    name = "--" + field.name.replace("_", "-")
    if kind is bool:
        name += "" if field.default is False else f"/--no-{name[2:]}"
    return typer.Option(
        name, help=_help(field, kind, commas), show_default=False, autocompletion=_offered(field, kind)
    )


def _offered(field: Field[Any], kind: Any) -> completion.Completion | None:
    """What the shell offers for the option after Tab."""
    if typing.get_origin(kind) is Literal:
        return completion.one_of(*map(str, typing.get_args(kind)))
    return completion.OF_SETTINGS.get(field.name)


def _typed(kind: Any, commas: bool) -> Any:
    if typing.get_origin(kind) is Literal:
        return str | None
    if typing.get_origin(kind) is tuple:
        return str | None if commas else list[str] | None
    return kind | None


def _without_none(hint: Any) -> Any:
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return hint
    kinds = [option for option in typing.get_args(hint) if option is not type(None)]
    return kinds[0] if len(kinds) == 1 else str


def _help(field: Field[Any], kind: Any, commas: bool) -> str:
    """The description, then values, range and default in brackets."""
    more = []
    if typing.get_origin(kind) is Literal:
        more.append(" | ".join(map(str, typing.get_args(kind))))
    low, high = field.metadata.get("at_least"), field.metadata.get("at_most")
    if low is not None and high is not None:
        more.append(f"{number_text(low)} to {number_text(high)}")
    elif low is not None:
        more.append(f"at least {number_text(low)}")
    if typing.get_origin(kind) is tuple:
        more.append("separated by commas" if commas else "repeatable")
    if field.default not in (None, ()) and kind is not bool:
        more.append(f"default: {field.default:g}" if kind in (int, float) else f"default: {field.default}")
    return field.metadata["help"] + (f" ({'; '.join(more)})" if more else "") + "."


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]
