"""The reference of the command line, made from the commands: a section per command with all its options."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Rows = Callable[[Sequence[str], Iterable[Sequence[str]]], str]


def commands(rows: Rows) -> str:
    """Every command, under the headings of ``unfooled --help``."""
    import typer

    from unfooled.cli.commands import app

    group: Any = typer.main.get_command(app)
    parts: list[str] = []
    panel = ""
    for name, command in group.commands.items():
        if command.rich_help_panel != panel:
            panel = command.rich_help_panel
            parts.append(f"## {panel}\n")
        parts.append(f"### unfooled {name}\n\n{_about(command)}\n")
        if hasattr(command, "commands"):
            parts += [_subcommand(name, one, rows) for one in command.commands.values()]
        else:
            parts.append(_options(command, rows))
    return "\n" + "\n".join(parts)


def _subcommand(group: str, command: Any, rows: Rows) -> str:
    return f"`unfooled {group} {command.name}`: {_about(command)}\n\n{_options(command, rows)}"


def _about(command: Any) -> str:
    """The help of a command; its lines with an example become code."""
    lines = [
        re.sub(r"^([\w ]+): (unfooled .*)", r"\1:\n\n    \2\n", line)
        for line in inspect.cleandoc(command.help or "").splitlines()
    ]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _options(command: Any, rows: Rows) -> str:
    shown = [one for one in command.params if not one.hidden and one.name != "help"]
    return rows(("argument or option", "default", "meaning"), ((_name(one), *_meaning(one)) for one in shown))


def _name(option: Any) -> str:
    if not option.opts[0].startswith("-"):
        return f"`{option.name.upper()}`"
    return ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])


def _meaning(option: Any) -> tuple[str, str]:
    """The default of an option and its help, which may name the default in brackets."""
    help_ = re.sub(r"\bdefault ([\w-]+)\)", r"default: \1)", option.help or "")
    named = re.search(r"(?: \(|; )default: ([^)]*)\)", help_)
    if named and not option.required:
        closing = ")" if named[0].startswith(";") else ""
        return named[1], help_.replace(named[0], closing, 1)
    given = option.default
    shown = "" if given is None or isinstance(given, bool) or callable(given) else str(given)
    return "must be given" if option.required else shown, help_


def plain(text: str) -> str:
    """A docstring as Markdown: the marks of reStructuredText become backticks."""
    text = re.sub(r":(?:class|func|meth|mod|data|attr):`~?([^`]+)`", r"`\1`", text)
    text = re.sub(r"docs/([\w/-]+)\.md", r"[\1](\1.md)", text)
    return text.replace("``", "`")
