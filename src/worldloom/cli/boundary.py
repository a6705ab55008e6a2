"""Boundary: where errors become one message on stderr and an exit code.

0 done · 1 it failed · 2 something that was given cannot be used · 130 interrupted · 141 nobody reads the output.
`--debug`, anywhere on the line, shows the traceback of an error.
"""

import contextlib
import gc
import logging
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from worldloom.cli.terminal import say, shortened, stderr
from worldloom.core.errors import DocumentError, UsageError, WorldloomError

DEBUG = "--debug"
FAILED, UNUSABLE, INTERRUPTED, UNREAD = 1, 2, 130, 141

_COLLECT_EVERY = 50_000
"""Objects between collections; Python's 700 cost half of the time that thousands of scenarios take to be read."""
_LINE = 1_000  # characters of a line of a message: what was given is quoted in it, however long
_PROBLEMS = 20  # of a faulty file or folder; who has mended so many will run it again


class CommandLine(TyperGroup):
    """The root of all commands. A command returns its exit code; None is 0."""

    def main(self, args: Sequence[str] | None = None, *place: Any, **extra: Any) -> NoReturn:
        """Run the command that the arguments name, and end the process with its exit code."""
        words = list(sys.argv[1:] if args is None else args)
        own = words[: words.index("--")] if "--" in words else words
        debug = DEBUG in own
        if debug:
            words.remove(DEBUG)
        _open_closed()
        gc.set_threshold(_COLLECT_EVERY)
        for stream in (sys.stdout, sys.stderr):  # what an encoding lacks is spelt out and is no error
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        try:
            with _diagnostics():
                code = super().main(words, *place, **{**extra, "standalone_mode": False})
                sys.stdout.flush()
        except BrokenPipeError:
            code = _unread()
        except Exception as error:  # noqa: BLE001 (the boundary: what nobody expected ends here as well)
            code = told(error, debug)
        sys.exit(code if isinstance(code, int) else 0)

    def make_context(self, *words: Any, **extra: Any) -> Any:
        """Read the command line; help, which is printed here, may find a broken pipe as well."""
        try:
            return super().make_context(*words, **extra)
        except BrokenPipeError:
            raise typer.Exit(_unread()) from None

    def invoke(self, ctx: Any) -> Any:
        """Run a command; a broken pipe and Ctrl-C are handled here, before typer answers in its own way."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            return _unread()
        except KeyboardInterrupt as interrupt:
            _put("interrupted", *getattr(interrupt, "__notes__", ()))
            return INTERRUPTED


def told(error: Exception, debug: bool = False) -> int:
    """Say what went wrong; returns the exit code."""
    if debug:
        say(stderr(), "".join(traceback.format_exception(error)).rstrip(), wrap=False)
    cause = error
    while isinstance(cause, ExceptionGroup):  # siblings tend to fail alike: the first speaks for all
        cause = cause.exceptions[0]
    message, code = _message(cause)
    _put(message, *getattr(error, "__notes__", ()))
    return code


def _message(error: Exception) -> tuple[str, int]:
    """What to say of an error, and the exit code that it means."""
    if isinstance(error, typer.TyperException):  # the command line itself cannot be read
        place = getattr(error, "ctx", None)
        hint = f"\n  see: {place.command_path} --help" if place is not None else ""
        return f"error: {error.format_message()}{hint}", error.exit_code
    if isinstance(error, typer.Abort):
        return "interrupted", INTERRUPTED
    if isinstance(error, DocumentError) and len(error.problems) > _PROBLEMS:
        shown = "\n".join(str(problem) for problem in error.problems[:_PROBLEMS])
        return f"error: {shown}\n… and {len(error.problems) - _PROBLEMS} problems more", UNUSABLE
    if isinstance(error, WorldloomError | OSError):
        return f"error: {error}", UNUSABLE if isinstance(error, UsageError) else FAILED
    fault = f"error: a fault in worldloom: {type(error).__name__}: {error}"
    return f"{fault}\n{DEBUG} shows where; please report it", FAILED


def _put(*texts: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        for text in texts:
            lines = "\n".join(shortened(line, _LINE) for line in text.split("\n"))
            say(stderr(), lines, wrap=False)


def _open_closed() -> None:
    """Let a stream that the caller has closed (`>&-`) take what is printed, and nobody's file take its number."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115


def _unread() -> int:
    """Nobody reads stdout any more: whatever is still buffered goes nowhere, and quietly."""
    with contextlib.suppress(OSError, ValueError), open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    return UNREAD


class _ToStderr(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(BrokenPipeError):
            say(stderr(), f"{record.levelname.lower()}: {record.getMessage()}", "dim", wrap=False)


@contextlib.contextmanager
def _diagnostics() -> Iterator[None]:
    """While entered, warnings of the package go to stderr, spelt out like everything else."""
    logger, handler = logging.getLogger("worldloom"), _ToStderr(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
