"""The ``unfooled`` command.

This file imports next to nothing, so that Ctrl-C finds :func:`main` ready: until the commands are imported,
it ends the process without a word, as it ends any program that has not begun. The commands are in
``commands.py``; each lives in its own file and imports what it needs when it runs.
"""

from __future__ import annotations


def main() -> None:
    """Entry point: user errors become one message and an exit code, never a traceback."""
    with _ctrl_c_ends():
        from unfooled.cli.commands import run
    run()


class _ctrl_c_ends:
    """Inside, Ctrl-C ends the process at once; libraries that are being imported cannot stand in its way."""

    def __enter__(self) -> None:
        import signal

        self._before = None
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            try:
                self._before = signal.signal(signal.SIGINT, signal.SIG_DFL)
            except ValueError:  # not the main thread, which alone hears signals
                return

    def __exit__(self, *_: object) -> None:
        import signal

        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
