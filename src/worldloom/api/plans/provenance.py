"""Provenance: what a run was made with, so that a replay that differs can name what has changed since.

None of it is part of a fingerprint: the same record replays in another version or fails at a named key.
"""

import hashlib
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from worldloom.core.errors import UsageError
from worldloom.core.registry import Registry
from worldloom.models.model import Model
from worldloom.runs.shape import texts
from worldloom.runs.store import RunStore, put_value
from worldloom.runs.writer import Writer

_PACKAGES = ("worldloom", "langgraph", "numpy", "pydantic")
_CODE = (".py", ".md", ".yaml", ".sql")
_DATA = "library"


def made_with(registry: Registry) -> dict[str, str]:
    """What makes a run what it is beside its plan: versions, code with its prompts, Python, the machine."""
    return {
        **{name: version(name) for name in _PACKAGES},
        "code and prompts": _digest(files("worldloom")),
        **{f"{room.role} {room.name}": _digest(Path(room.place).parent) for room in registry.foreign()},
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def changes(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What differs from what a run was made with, each as `name: then → now`."""
    names = dict.fromkeys([*now, *then])
    return [
        f"{name}: {then.get(name, 'not recorded')} → {now.get(name, 'gone')}"
        for name in names
        if then.get(name) != now.get(name)
    ]


@dataclass(frozen=True, slots=True)
class Making:
    """What episodes were played with: as the manifest says, or as a resume that accepted changes found it.

    Attributes:
        made_with: see `made_with`.
        model_ids: name -> id of the model that answered.
    """

    made_with: Mapping[str, str]
    model_ids: Mapping[str, str]

    @property
    def parts(self) -> dict[str, str]:
        """All of it in one, for a comparison."""
        return {**self.made_with, **{f"model of {name}": of for name, of in self.model_ids.items()}}


def makings(store: RunStore) -> list[Making]:
    """What the episodes of a run were played with, by `EpisodeRow.making`.

    Raises:
        RecordError: what the record tells of it cannot be read.
    """
    first = Making(store.read_manifest("made_with", texts), store.read_manifest("model_ids", texts))
    return [first, *store.read_value("resumed", lambda told: [Making(**one) for one in told or ()])]


def current_making(
    store: RunStore, writer: Writer, registry: Registry, models: Mapping[str, Model], accept: bool
) -> int:
    """The number of what a run is resumed with now; a new one is recorded if it differs from the last.

    Raises:
        UsageError: it differs, and that is not accepted.
    """
    known = makings(store)
    now = Making(made_with(registry), {name: model.id for name, model in models.items()})
    differs = changes(known[-1].parts, now.parts)
    if not differs:
        return len(known) - 1
    if not accept:
        listed = "\n".join(f"  {one}" for one in differs)
        raise UsageError(
            f"{store.folder} was made with something else than there is now:\n{listed}\n"
            "  allowed: go back to that, or --accept-changes: this is recorded, and what was begun begins anew"
        )
    put_value(writer, "resumed", [asdict(one) for one in [*known[1:], now]])
    return len(known)


def _digest(folder: Traversable) -> str:
    """Digest over the files of a folder that decide how an episode is played, the library's scenarios left out."""
    whole = hashlib.sha256()
    for path, data in _sources(folder, ""):
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
