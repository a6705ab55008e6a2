"""Where a model's files are: a local folder, the cache of Hugging Face on this machine, else the hub.

Only the config and the sizes of the weights are read: weights are loaded by vLLM and by nothing else.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import httpx2

from worldloom.core.errors import UsageError
from worldloom.core.files import read_bytes
from worldloom.core.yamlio.wording import quoted
from worldloom.models.serving.shape import Shape, shape_of, whole

CONFIG = "config.json"
_INDEX = "model.safetensors.index.json"
_LARGEST = 100 * 2**20  # bytes of an index; those of the largest models have some 20 MiB
_MOST_WEIGHTS = 2**50  # bytes; a thousand times what the largest models have
_MOST_DIGITS = 1000  # of a number; Python itself refuses to read more than 4,300


@dataclass(frozen=True, slots=True)
class Source:
    """A model to serve.

    Attributes:
        name: as it is served.
        location: what vLLM is given: a folder, or a name at the hub.
    """

    name: str
    location: str


def source_of(model: str, name: str | None = None) -> Source:
    """What a person means by a model; files are not looked into yet.

    Args:
        model: a folder, or a name at the hub such as `Qwen/Qwen3-8B`.
        name: as it is to be served; None: the folder's name, or the name at the hub.

    Raises:
        UsageError: it is neither.
    """
    folder = Path(os.path.expanduser(model))  # unlike the method, it leaves unknown users as they are
    if folder.is_dir():
        found = folder.absolute()
        return Source(name or found.name, str(found))
    if folder.is_file() or folder.suffix == ".gguf":
        raise UsageError(
            f"{model} is no folder: vLLM serves a folder with {CONFIG} and safetensors. docs/serving.md tells how to "
            f"make one of a GGUF file; as it is, a run plays on it with --model embedded:{model}"
        )
    if (
        folder.is_absolute()
        or model.startswith((".", "~"))
        or model.count("/") != 1
        or not all(model.split("/"))
    ):
        raise UsageError(f"no model {model!r}: there is no such folder, and a name at the hub is OWNER/NAME")
    return Source(name or model, model)


def shape(source: Source, environ: Mapping[str, str] = os.environ) -> Shape:
    """How much a model takes, from its files here, else from the hub.

    Raises:
        UsageError: it cannot be found or read; says where was looked.
    """
    here = Path(source.location) if Path(source.location).is_absolute() else _cached(source.location, environ)
    return _local(here) if here is not None else _hub(source.location)


def _local(folder: Path) -> Shape:
    file, index = folder / CONFIG, folder / _INDEX
    config = _json(file)
    size = _said(index) if index.is_file() else 0
    if not size:
        parts = (part for part in folder.glob("*.safetensors") if part.is_file())
        size = _total((part.name, part.stat().st_size) for part in parts)
    if not size:
        raise UsageError(f"{folder} holds no weights: no *.safetensors and no {_INDEX}")
    return shape_of(config, size, str(file))


def _said(index: Path) -> int:
    """Bytes of the weights as the index of a model says; 0 if it does not."""
    metadata = _json(index).get("metadata")
    if metadata is None:
        return 0
    if not isinstance(metadata, dict):
        raise UsageError(f"{index}: metadata is {quoted(metadata)}; allowed: a mapping with total_size")
    try:
        return whole(metadata, "total_size", most=_MOST_WEIGHTS)
    except ValueError as error:
        raise UsageError(f"{index}: metadata.{error}") from None


def _total(files: Iterable[tuple[str, int]]) -> int:
    """Bytes of the weights; the second copy that some makers keep beside them is left out."""
    sizes = {
        name: size for name, size in files if PurePosixPath(name).match("*.safetensors") and "/" not in name
    }
    main = {name: size for name, size in sizes.items() if not name.startswith("consolidated")}
    return sum((main or sizes).values())


def _json(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_bytes(file, _LARGEST), parse_int=_int)
    except ValueError as error:
        raise UsageError(f"{file} is no JSON that can be used: {error}") from None
    except RecursionError:
        raise UsageError(
            f"{file} holds too many levels inside one another; allowed: a mapping as models have it"
        ) from None
    if not isinstance(found, dict):
        raise UsageError(f"{file} holds {quoted(found)}; allowed: a JSON object")
    return found


def _int(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(text):,} digits; allowed: at most {_MOST_DIGITS:,}")
    return int(text)


def _cached(model: str, environ: Mapping[str, str]) -> Path | None:
    """The snapshot of a model in the hub's cache on this machine, if its config and weights are there."""
    home = Path(environ.get("HF_HOME") or Path(environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface")
    hub = Path(os.path.expanduser(environ.get("HF_HUB_CACHE") or home / "hub"))
    stored = hub / f"models--{model.replace('/', '--')}"
    main = stored / "refs" / "main"
    if not main.is_file():
        return None
    snapshot = stored / "snapshots" / read_bytes(main, _LARGEST).decode("utf-8", "replace").strip()
    return snapshot if (snapshot / CONFIG).is_file() and any(snapshot.glob("*.safetensors*")) else None


def _hub(model: str) -> Shape:
    """The shape as the hub tells it: its config and the sizes of its files, a few kilobytes."""
    try:
        from huggingface_hub import HfApi, hf_hub_download  # noqa: PLC0415 (optional, and half a second)
    except ImportError:
        raise UsageError(f"no folder {model!r}; to look at the hub: pip install huggingface_hub") from None
    try:
        files = HfApi().model_info(model, files_metadata=True).siblings or []
        config = _json(Path(hf_hub_download(model, CONFIG)))
    except (httpx2.HTTPError, OSError, ValueError) as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise UsageError(
            f"no model {model!r}: there is no such folder, it is not in the hub's cache on this machine, and the hub "
            f"does not give it: {said[0]}"
        ) from None
    size = _total((file.rfilename, file.size or 0) for file in files)
    if not size:
        raise UsageError(f"model {model!r} at the hub has no safetensors, which is what vLLM loads")
    return shape_of(config, size, f"{model}/{CONFIG}")
