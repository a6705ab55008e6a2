"""Log: how far a starting server has come, and what it said before it ended, read from the file it writes."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from worldloom.models.keys import redact

STARTING, LOADING, COMPILING, READY = "starting", "loading weights", "compiling", "ready"

_PHASES = (
    (
        COMPILING,
        re.compile(
            r"warming up model|torch\.compile takes|dynamo bytecode|compiling a graph|capturing cuda", re.I
        ),
    ),
    (
        LOADING,
        re.compile(r"starting to load model|loading safetensors|loading weights|loading model from", re.I),
    ),
)
_ORDER = (STARTING, LOADING, COMPILING, READY)
_TAIL_BYTES = 1 << 17
_LINES = 6
# What vLLM puts before a line: the process, the level, the time, the place in the code.
_PREFIX = re.compile(
    r"^(\([^)]*pid=\d+\)\s?)?((DEBUG|INFO|WARNING|ERROR|CRITICAL) [\d-]+ [\d:.]+ (\[[^\]]*\]\s?)?)?"
)
_EXCEPTION = re.compile(r"^(\w+\.)*\w*(Error|Exception|Exit|Interrupt)\b(: |$)")
_SAYING_NOTHING = re.compile(r"see root cause above|resource_tracker|^usage:", re.I)


@dataclass
class Follow:
    """Follows a log from where it was last read; `phase` only goes forward."""

    path: Path
    phase: str = STARTING
    read: int = 0

    def look(self) -> str:
        """Read what is new; returns the phase."""
        with self.path.open("rb") as file:
            file.seek(self.read)
            new = file.read()
        self.read += len(new)
        text = new.decode("utf-8", "replace")
        for phase, pattern in _PHASES:
            if _ORDER.index(phase) > _ORDER.index(self.phase) and pattern.search(text):
                self.phase = phase
                break
        return self.phase


def last_words(path: Path, secrets: Iterable[str], begin: int = 0) -> list[str]:
    """The last lines that mean something: the exceptions if there are any, else the end; keys are taken out.

    Args:
        path: the log.
        secrets: values that are not to be shown.
        begin: byte from which on it is read.
    """
    with path.open("rb") as file:
        file.seek(max(begin, path.stat().st_size - _TAIL_BYTES))
        text = file.read().decode("utf-8", "replace")
    known = tuple(secrets)
    lines = [redact(_PREFIX.sub("", line).rstrip(), known) for line in text.splitlines()]
    errors = list(dict.fromkeys(_errors(lines)))
    said = [
        line.strip() for line in dict.fromkeys(lines) if line.strip() and not _SAYING_NOTHING.search(line)
    ]
    return (errors or said)[-_LINES:]


def _errors(lines: Sequence[str]) -> Iterator[str]:
    """Exceptions, each with the indented lines that belong to its message."""
    inside = False
    for line in lines:
        inside = inside and line.startswith("  ") and not line.lstrip().startswith("File ")
        if _SAYING_NOTHING.search(line):
            continue
        if _EXCEPTION.match(line) or ": error: " in line:
            inside = True
            yield line
        elif inside:
            yield line
