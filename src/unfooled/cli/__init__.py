"""The ``unfooled`` command: five verbs and the assets, thin around the Python functions.

Each command lives in its own file and imports what it needs inside the function, so that
``unfooled --help`` starts without loading PyTorch.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated, Any

import typer

from unfooled import __version__
from unfooled.cli import (
    assets,
    attack,
    benchmark,
    certify,
    demo,
    predict,
    repeat,
    report,
    represent,
    sweep,
    train,
    verify,
)
from unfooled.cli.console import err
from unfooled.errors import UserError
from unfooled.registry import PluginWarning

app = typer.Typer(
    name="unfooled",
    help="Train, attack and certify classifiers that keep their answer when someone tampers with the input.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(train.train)
app.command()(predict.predict)
app.command()(attack.attack)
app.command()(certify.certify)
app.command()(report.report)
app.command()(demo.demo)
app.command()(sweep.sweep)
app.command()(benchmark.benchmark)
app.command()(repeat.repeat)
app.command()(represent.represent)
app.command()(verify.verify)
app.add_typer(assets.app, name="assets")


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


def main() -> None:
    """Entry point: user errors become one message and an exit code, never a traceback."""
    warnings.showwarning = _show_warning
    try:
        app()
    except UserError as error:
        # Not as markup: a message may quote the user's own [brackets].
        err.print("Error:", style="bold red", end=" ")
        err.print(str(error), markup=False, soft_wrap=True)
        sys.exit(error.exit_code)
    except SystemExit as stop:
        if stop.code == INTERRUPTED:
            err.print("Interrupted. Run the same command again to go on.")
        raise
    except BrokenPipeError:
        # The reader (head, less) went away: close quietly, as other command-line tools do.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
