"""Files that a person names, read whole and within bounds.

A pipe is not waited for, a device or a folder is refused, and no more is read than may be: whatever stands at the
path, the reading ends.
"""

import os
import stat
from pathlib import Path

from worldloom.core.errors import DocumentError, Problem, nearest


def read_bytes(path: str | os.PathLike[str], most: int) -> bytes:
    """What a regular file holds.

    Args:
        path: the file, or a link to it.
        most: bytes that it may hold.

    Raises:
        DocumentError: it is missing, no regular file, too large, or cannot be read.
    """
    file = os.fspath(path)
    try:
        with open(file, "rb", opener=_without_waiting) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise _refused(file, "this is no regular file", "a file")
            data = stream.read(most + 1)
    except FileNotFoundError:
        raise _refused(file, "there is no such file", "an existing file", _sibling(file)) from None
    except IsADirectoryError:
        raise _refused(file, "this is a folder", "a file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _refused(file, f"the file cannot be read: {reason}", "a file that can be read") from None
    if len(data) > most:
        raise too_large(file, most)
    return data


def too_large(file: str, most: int) -> DocumentError:
    """The error of a file that holds more than `most` bytes."""
    return _refused(file, "the file is too large", f"at most {most / 2**20:.4g} MiB")


def _refused(file: str, found: str, allowed: str, near: str | None = None) -> DocumentError:
    return DocumentError([Problem(file, 0, 0, found, allowed, near)])


def _without_waiting(file: str, flags: int) -> int:
    return os.open(file, flags | os.O_NONBLOCK | os.O_NOCTTY)  # a pipe would be waited for while it is opened


def _sibling(file: str) -> str | None:
    """The file in the same folder whose name comes nearest."""
    path = Path(file)
    try:
        near = nearest(path.name, sorted(os.listdir(path.parent)))
    except (OSError, ValueError):
        return None
    return str(path.parent / near) if near else None
