"""Provenance: what a run was made with, so that a replay that differs can name what has changed since.

None of it is part of a fingerprint: the same record replays in another version or fails at a named key.
"""

import hashlib
import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable

_PACKAGES = ("worldloom", "langgraph", "numpy", "pydantic")
_CODE = (".py", ".md", ".yaml", ".sql")
_DATA = "library"


def made_with() -> dict[str, str]:
    """What makes a run what it is beside its plan: versions, the code with its prompts, Python, the machine."""
    return {
        **{name: version(name) for name in _PACKAGES},
        "code and prompts": _code(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def changes(then: Mapping[str, str]) -> list[str]:
    """What differs from what a run was made with, each as `name: then → now`."""
    now = made_with()
    names = dict.fromkeys([*now, *then])
    return [
        f"{name}: {then.get(name, 'not recorded')} → {now.get(name, 'gone')}"
        for name in names
        if then.get(name) != now.get(name)
    ]


def _code() -> str:
    """Digest over the files of the package that decide how an episode is played, scenarios left out."""
    whole = hashlib.sha256()
    for path, data in _sources(files("worldloom"), ""):
        for part in (path.encode(), data):
            whole.update(len(part).to_bytes(4, "big"))
            whole.update(part)
    return whole.hexdigest()[:16]


def _sources(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir():
            if item.name not in (_DATA, "__pycache__"):
                yield from _sources(item, f"{path}/{item.name}")
        elif item.name.endswith(_CODE):
            yield f"{path}/{item.name}", item.read_bytes()
