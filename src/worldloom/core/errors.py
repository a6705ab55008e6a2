"""The one error tree.

Every error that worldloom raises on purpose derives from `WorldloomError` and carries a stable `code`.

    WorldloomError
    ├── UsageError            a person gave something that cannot be used (exit code 2)
    │   └── DocumentError     one or more problems in a file, each with file:line:column
    ├── RecordError           the log cannot be written, read or matched
    │   └── Divergence        the same key holds something else than what was found now
    ├── ModelError            a model could not answer; `kind` says why
    ├── ReplyError            a model's answer is no decision; the text goes back to the model
    ├── ToolError             a tool refused; the text goes back to the model
    └── Ended                 an episode ends here; `reason` says why

A module may derive its own from these, as the evaluator of expressions does. Errors are raised where the fault is known
and translated once, at the boundary that shows them.
"""

import difflib
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

ModelErrorKind = Literal[
    "auth",  # the key is missing or refused
    "bad_reply",  # the server answered with something that is no completion
    "bad_request",  # the server refuses the request itself
    "not_found",  # unknown model or path
    "overflow",  # the prompt does not fit into the context window
    "overloaded",  # 5xx, 529: try again later
    "quota",  # the account has run out: waiting does not help
    "rate_limited",  # 429: wait as told
    "refusal",  # the provider's filter declined
    "timeout",  # no answer in time
    "unreachable",  # no connection
]

_LONGEST_WORD = 80  # comparing takes time that grows with the square of the length
_SHOWN = 160  # characters of a source line that a problem shows


class WorldloomError(Exception):
    """Root of the tree. `code` is stable across releases; the text is for people."""

    code = "error"


class UsageError(WorldloomError):
    """Something a person wrote or typed cannot be used. The command line exits with 2."""

    code = "usage"


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault in a file, said so that a stranger can mend it.

    Attributes:
        file: path as the person gave it.
        line: 1-based line; 0 when the file as a whole is meant.
        column: 1-based column, in characters; 0 when the line as a whole is meant.
        found: what stands there, in words or quoted.
        allowed: what may stand there.
        nearest: the nearest thing they may have meant, if there is one.
        source: the text of the line, for the caret; empty if there is none.
    """

    file: str
    line: int
    column: int
    found: str
    allowed: str
    nearest: str | None = None
    source: str = ""

    def __str__(self) -> str:
        place = self.file if not self.line else f"{self.file}:{self.line}:{self.column or 1}"
        lines = [f"{place}: {self.found}"]
        if self.source.strip():
            lines += [f"    {line}" for line in _caret(self.source, max(0, self.column - 1))]
        lines.append(f"  allowed: {self.allowed}")
        if self.nearest:
            lines.append(f"  did you mean {self.nearest!r}?")
        return "\n".join(lines)


class DocumentError(UsageError):
    """A file that a person wrote has faults; `problems` holds every one that was found."""

    code = "document"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class RecordError(WorldloomError):
    """The record of a run cannot be written, read or used."""

    code = "record"


class Divergence(RecordError):
    """A replayed key holds something else than what the code produced now.

    Attributes:
        key: the readable form of the first key that differs.
        recorded: what the record holds under it, its type first; None if it holds nothing.
        found: what was produced now, likewise; None if nothing was.
    """

    code = "divergence"

    def __init__(self, key: str, recorded: str | None, found: str | None) -> None:
        self.key, self.recorded, self.found = key, recorded, found
        super().__init__(
            f"the run diverges at key {key}\n"
            f"  recorded: {recorded if recorded is not None else '(nothing)'}\n"
            f"  found:    {found if found is not None else '(nothing)'}\n"
            f"  so:       {self.meaning}"
        )

    @property
    def meaning(self) -> str:
        """Where to look for the cause, in words."""
        if self.recorded is None:
            return "the program goes on where the record ends"
        if self.found is None:
            return "the record holds more than the program asks for, or cannot be read there"
        recorded, found = self.recorded.split(" ", 1), self.found.split(" ", 1)
        if recorded[0] != found[0]:
            return "something else happens here: the course of events has changed"
        if "with request" in self.recorded and "with request" in self.found:
            return "what is asked has changed: the prompt, the model or its parameters, or the arguments of a tool"
        return "what follows from earlier events has changed: code, rules, or arithmetic on another machine"


class ModelError(WorldloomError):
    """A model could not answer. `kind` is recorded and replayed; the text is telemetry."""

    code = "model"

    def __init__(self, kind: ModelErrorKind, message: str, *, retry_after_s: float | None = None) -> None:
        self.kind: ModelErrorKind = kind
        self.retry_after_s = retry_after_s
        super().__init__(message)


class ReplyError(WorldloomError):
    """A model's answer is no decision; the text is one sentence that the model can act on."""

    code = "reply"


class ToolError(WorldloomError):
    """A tool refused its arguments or could not do its work; the text goes to the model."""

    code = "tool"


class Ended(WorldloomError):
    """Raised to end an episode; `reason` is one of `worldloom.runs.ending.REASONS`."""

    code = "ended"

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason, self.detail = reason, detail
        super().__init__(f"{reason}: {detail}" if detail else reason)


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The choice that `word` most resembles, or None if none comes near. Case does not matter."""
    if len(word) > _LONGEST_WORD:
        return None
    folded = {choice.casefold(): choice for choice in choices}
    found = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def meant(word: object, choices: Iterable[str]) -> str:
    """`, did you mean 'choice'?`, to follow a word that is none of the choices; empty if none comes near."""
    near = nearest(word, choices) if isinstance(word, str) else None
    return f", did you mean {near!r}?" if near else ""


def offer(word: object, choices: Iterable[str]) -> str:
    """As `meant`, and below it all choices."""
    names = list(choices)
    return f"{meant(word, names)}\n  allowed: {', '.join(names) or 'none is there yet'}"


def _caret(source: str, column: int) -> tuple[str, str]:
    """A line and the caret under its character `column` (from 0); a long line is cut to what is around it."""
    first = max(0, column - _SHOWN // 2) if len(source) > _SHOWN else 0
    window = source[first : first + _SHOWN]
    shown = "".join(_visible(character) for character in window)
    before = "".join(_visible(character) for character in window[: column - first])
    return shown, " " * sum(_columns(character) for character in before) + "^"


def _columns(character: str) -> int:
    """Columns of a terminal that a character takes: wide ones (CJK, emoji) two, combining ones none."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _visible(character: str) -> str:
    """Spell out what a terminal would obey or hide: controls, zero-width and bidi marks."""
    if character == "\t":
        return " "
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return f"<U+{ord(character):04X}>"
    return character
