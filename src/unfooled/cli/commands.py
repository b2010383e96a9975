"""All commands: the verbs and the assets, thin around the Python functions.

Each command lives in its own file and imports what it needs inside the function, so that
``unfooled --help`` starts without loading PyTorch. Errors become one message and an exit code here.
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from unfooled import __version__
from unfooled.cli import (
    assets,
    attack,
    benchmark,
    certify,
    demo,
    doctor,
    evaluate,
    predict,
    repeat,
    report,
    represent,
    sweep,
    train,
    verify,
)
from unfooled.cli.console import err
from unfooled.errors import UsageError, UserError
from unfooled.files import cannot_write
from unfooled.parsing import quoted
from unfooled.registry import PluginWarning

app = typer.Typer(
    name="unfooled",
    help="Train, attack and certify classifiers that keep their answer when someone tampers with the input.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_PANELS = {
    "Start here": (demo.demo, doctor.doctor),
    "One model": (train.train, predict.predict, attack.attack, certify.certify, report.report),
    "Many models": (benchmark.benchmark, sweep.sweep),
    "A closer look": (evaluate.evaluate, repeat.repeat, represent.represent, verify.verify),
}
for _panel, _commands in _PANELS.items():
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)
app.add_typer(assets.app, name="assets", rich_help_panel="A closer look")


INTERRUPTED = 130
"""Exit code of a command stopped with Ctrl-C, as shells have it."""


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"unfooled {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def _show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """A package that cannot be used is told in one line; other warnings look as they always do."""
    if issubclass(category, PluginWarning):
        err.print("Warning:", style="bold yellow", end=" ")
        err.print(str(message), markup=False, soft_wrap=True)
    else:
        _show_python_warning(message, category, *where, **more)


_show_python_warning = warnings.showwarning


_TOLD = {
    getattr(errno, name)
    for name in ("EPIPE", "EBADF", "EIO", "ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EACCES", "EPERM")
}
"""Errors of the system that concern where something is written: they are told, others are ours to mend."""


def run() -> None:
    """Run the command that was given, and leave with its exit code."""
    warnings.showwarning = _show_warning
    _open_closed_streams()
    try:
        code = _exit_code()
        sys.stdout.flush()
    except OSError as error:
        if error.errno not in _TOLD:
            raise
        code = _told(_about(error))
        # What could not be written is still in the buffer: Python must not try again when it leaves.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _exit_code() -> int:
    try:
        app()
    except UserError as error:
        return _told(str(error), error.exit_code)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        name = quoted(os.fsdecode(error.filename or ""))
        return _told(f"{name} is too long for the name of a file. Check the arguments.", UsageError.exit_code)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    if code == INTERRUPTED:
        with suppress(OSError):
            err.print("Interrupted. Run the same command again to go on.")
    return code


def _told(message: str, code: int = 1) -> int:
    """Show an error if somebody listens. Not as markup: a message may quote the user's own [brackets]."""
    with suppress(OSError):
        if message:
            err.print("Error:", style="bold red", end=" ")
            err.print(message, markup=False, soft_wrap=True)
    return code


def _about(error: OSError) -> str:
    """What an error of the system means; nothing where the reader of stdout (head, less) went away."""
    if isinstance(error, BrokenPipeError):
        return ""
    if error.filename is None:
        return f"Cannot write to stdout: {error.strerror}. Send it elsewhere and run the command again."
    return str(cannot_write(Path(os.fsdecode(error.filename)), error))


def _open_closed_streams() -> None:
    """A closed stdout fails when something is written to it, and no file is opened in its place."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            flags = os.O_WRONLY if name == "stderr" else os.O_RDONLY
            os.dup2(os.open(os.devnull, flags), number)
            setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w"))
