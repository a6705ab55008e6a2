"""Strict YAML: one reading of a file, or every problem in it with file:line:column.

    document = read(path)                  # a Document, or DocumentError; never another exception
    model = validate(document, Model)      # a pydantic model, or DocumentError in plain words

YAML 1.2 core schema over a parser that is strict about what people cannot see: duplicate and merge keys,
tags, tabs, invisible characters, surrogates, alias cycles and bombs. Values are JSON and nothing else.
"""

from worldloom.core.yamlio.document import Document, Path
from worldloom.core.yamlio.reader import MAX_BYTES, parse, read
from worldloom.core.yamlio.validation import Fault, Faults, check, check_faults, validate
from worldloom.core.yamlio.writing import write

__all__ = [
    "MAX_BYTES",
    "Document",
    "Fault",
    "Faults",
    "Path",
    "check",
    "check_faults",
    "parse",
    "read",
    "validate",
    "write",
]
