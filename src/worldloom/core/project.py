"""The project file `worldloom.yaml`: models named once and their prices, rooms of one's own, where runs are kept.

It never holds a key to anything: those come from the environment and are neither printed nor stored.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

from worldloom.core.canonical import Json
from worldloom.core.errors import DocumentError
from worldloom.core.yamlio import Document, Fault, Faults, check_faults, read, validate
from worldloom.core.yamlio import Path as YamlPath

FILE_NAME = "worldloom.yaml"
Purpose = Literal["agent", "world", "judge", "embedder", "vision"]

_SECRET = re.compile(
    "api_?key|password|passwd|passphrase|secret|credential|authori[sz]ation|bearer|private_?key|access_?key|cookie"
)
# `max_tokens` and `stop_token_ids` are parameters of models, and so are the tokens that a vocabulary names.
_TOKEN = re.compile("(^|.*_)(?<!bos_)(?<!eos_)(?<!pad_)(?<!unk_)token")


class ModelLimits(BaseModel):
    """What one model's endpoint is asked for at once."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    concurrency: int | None = Field(default=None, ge=1, description="requests at the same time")
    timeout_s: float = Field(default=300.0, gt=0, description="seconds for one attempt")


def _address(url: str) -> str:
    allowed = "http://… or https://… without user, password or query; keys come from the environment"
    try:
        parts = urlsplit(url)
        clean = not (parts.username or parts.password or parts.query) and parts.port != 0
    except ValueError:
        raise Faults(Fault((), "an address that cannot be read", allowed)) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not clean:
        raise Faults(Fault((), "an address that cannot be used", allowed))
    return url


class ModelEntry(BaseModel):
    """One model, as the project file names it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    model: str = Field(min_length=1, description="e.g. hosted_vllm/Qwen/Qwen3-8B, embedded")
    base_url: Annotated[str, AfterValidator(_address)] | None = None
    parameters: dict[str, JsonValue] = Field(default_factory=dict, description="temperature, max_tokens, …")
    limits: ModelLimits = Field(default_factory=ModelLimits)


HIGHEST_PRICE = 1e9
"""Of a million tokens, or of an hour of one GPU: what a run costs stays a number."""
_Money = Annotated[float, Field(ge=0, le=HIGHEST_PRICE)]


class PriceEntry(BaseModel):
    """What one model costs: by token, or by the hour of a GPU that serves it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    prompt: _Money | None = Field(default=None, description="money per million tokens of prompts")
    completion: _Money | None = Field(default=None, description="money per million tokens of answers")
    gpu_hour: _Money | None = Field(default=None, description="money per hour of one GPU")
    gpus: int | None = Field(default=None, ge=1, le=1_000_000, description="how many GPUs serve it")


def _price(entry: PriceEntry) -> PriceEntry:
    given = entry.model_dump(exclude_none=True).keys()
    if given not in ({"prompt", "completion"}, {"gpu_hour", "gpus"}):
        found = f"a price of {' and '.join(given) or 'nothing'}"
        raise Faults(Fault((), found, "{prompt, completion} by token, or {gpu_hour, gpus} by time"))
    return entry


class _Serving(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    vllm: str | None = Field(None, min_length=1, description="vLLM's `vllm`, relative to this file")


class _ProjectFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    models: dict[Purpose, ModelEntry] = Field(default_factory=dict)
    rooms: tuple[str, ...] = Field(
        default=(), description="folders with a room.yaml, relative to this file, or packages"
    )
    runs_dir: str | None = Field(
        None, min_length=1, description="folder of the records, relative to this file"
    )
    prices: dict[str, Annotated[PriceEntry, AfterValidator(_price)]] = Field(
        default_factory=dict,
        description="model string: {prompt, completion} per million tokens, or {gpu_hour, gpus}",
    )
    currency: str = Field("USD", min_length=1, description="of the prices")
    serve: _Serving = Field(_Serving(vllm=None), description="how `worldloom serve` serves")


@dataclass(frozen=True, slots=True)
class Project:
    """A project file that was read.

    Attributes:
        file: where it stands.
        models: purpose -> model.
        rooms: packages and folders, as written; relative folders are relative to the file.
        runs_dir: folder of the records; None if the file names none.
        vllm: the program that serves models; None if the file names none.
        prices: model string -> what it costs, in `currency`.
    """

    file: Path
    models: Mapping[Purpose, ModelEntry]
    rooms: tuple[str, ...] = ()
    runs_dir: Path | None = None
    vllm: Path | None = None
    prices: Mapping[str, PriceEntry] = field(default_factory=dict)
    currency: str = "USD"


def find_project(start: Path) -> Project | None:
    """The project file in a folder or the nearest one above it; None if there is none.

    Raises:
        DocumentError: there is one and it has problems.
    """
    folder = start.absolute()
    for place in (folder, *folder.parents):
        if (place / FILE_NAME).is_file():
            return load_project(place / FILE_NAME)
    return None


def load_project(path: Path) -> Project:
    """Read a project file.

    Raises:
        DocumentError: it has problems; what may be a secret is not repeated in them.
    """
    document = read(path)
    _refuse_secrets(document)
    content = validate(document, _ProjectFile)
    runs_dir = path.parent / content.runs_dir if content.runs_dir else None
    vllm = path.parent / os.path.expanduser(content.serve.vllm) if content.serve.vllm else None
    return Project(path, content.models, content.rooms, runs_dir, vllm, content.prices, content.currency)


def _refuse_secrets(document: Document) -> None:
    allowed = "no keys to anything: they come from the environment, e.g. OPENAI_API_KEY"
    faults = [
        Fault(path, f"the key {path[-1]!r}", allowed, key=True) for path in _secrets(document.value, ())
    ]
    if faults:
        # The line is left out of the problem: it would show what is to stay unseen.
        raise DocumentError([replace(problem, source="") for problem in check_faults(document, faults)])


def _secrets(value: Json, path: YamlPath) -> Iterator[YamlPath]:
    """Paths of keys under which people put credentials."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, inner in items:
        if isinstance(part, str) and _is_secret(part):
            yield (*path, part)
        else:
            yield from _secrets(inner, (*path, part))


def _is_secret(key: str) -> bool:
    words = re.sub("([a-z0-9])([A-Z])", r"\1_\2", key).lower().replace("-", "_").replace(" ", "_")
    return bool(_SECRET.search(words) or _TOKEN.fullmatch(words))
