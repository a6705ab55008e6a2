"""Command: the line that starts vLLM for a model, and the environment it starts in.

Pure functions of what was found: the model, its family, the plan, which vLLM there is. What a person passes through
replaces a flag of ours of the same name and is otherwise left as it is; a variable that is already set is kept.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from worldloom.models.serving.families import family
from worldloom.models.serving.installation import Installation
from worldloom.models.serving.plan import BATCH_TOKENS, Plan, Wish
from worldloom.models.serving.source import Source

HOST = "127.0.0.1"

_SHORT = {"tp": "tensor-parallel-size"}
_NUMBER = re.compile(r"-\d+(\.\d+)?")
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "K": 1 << 10, "M": 1 << 20}
# Dense JSON: small models otherwise fill an answer with blanks. guidance takes more of JSON Schema than xgrammar.
_STRUCTURED = json.dumps({"backend": "guidance", "disable_any_whitespace": True})


@dataclass(frozen=True, slots=True)
class Launch:
    """A server to be started.

    Attributes:
        argv: the command line.
        environ: variables that are added to the environment.
        name: as the model is served.
        host, port: where it listens.
    """

    argv: tuple[str, ...]
    environ: Mapping[str, str]
    name: str
    host: str
    port: int

    @property
    def model(self) -> str:
        """The string that names the model to worldloom."""
        return f"hosted_vllm/{self.name}"

    @property
    def root(self) -> str:
        host = {"0.0.0.0": HOST, "::": "::1"}.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def base_url(self) -> str:
        return f"{self.root}/v1"


def launch(
    source: Source, fit: Plan | None, vllm: Installation, port: int, passed: Sequence[str], *, type: str = ""
) -> Launch:
    """The command line of a model.

    Args:
        source: the model.
        fit: its plan; None if nobody planned.
        vllm: which vLLM starts it.
        port: where it is to listen.
        passed: words for vLLM, unchanged; they win.
        type: `model_type` of its config, if it was read.
    """
    flags = {
        "served-model-name": (source.name,),
        "host": (HOST,),
        "port": (str(port),),
        "enable-prefix-caching": (),
        "structured-outputs-config": (_STRUCTURED,),
        **_parsers(source, type),
        **(_cpu_flags(fit, wish_of(passed).context) if vllm.cpu else _gpu_flags(fit)),
    }
    given = options(passed)
    own = [
        word for name, values in flags.items() if _plain(name) not in given for word in (f"--{name}", *values)
    ]
    return Launch(
        argv=(*vllm.serve(source.location), *own, *passed),
        environ=_environ(fit, vllm),
        name=_last(given, "served-model-name", source.name, first=True),
        host=_last(given, "host", HOST),
        port=int(_last(given, "port", str(port))),
    )


def wish_of(passed: Sequence[str], sharing: int = 1) -> Wish:
    """What passed words ask of the plan; a value that cannot be read is left to vLLM to judge."""
    given = options(passed)
    used = _last(given, "gpu-memory-utilization", "")
    split = _last(given, "tensor-parallel-size", "")
    return Wish(
        context=_tokens(_last(given, "max-model-len", "")),
        split=int(split) if split.isdigit() and int(split) else None,
        used=float(used) if re.fullmatch(r"0?\.\d+|1(\.0+)?", used) else None,
        sharing=sharing,
    )


def options(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Flags of a command line with their values; `--no-x` and `--x.y` count as x, `_` as `-`."""
    found: dict[str, tuple[str, ...]] = {}
    name = ""
    for word in words:
        if word.startswith("-") and not _NUMBER.fullmatch(word):
            flag, has_value, value = word.lstrip("-").partition("=")
            name = _plain(flag)
            found[name] = (value,) if has_value else ()
        else:
            found[name] = (*found.get(name, ()), word)
    return found


def _plain(flag: str) -> str:
    plain = flag.replace("_", "-").removeprefix("no-").split(".")[0]
    return _SHORT.get(plain, plain)


def _parsers(source: Source, type: str) -> dict[str, tuple[str, ...]]:
    kind = family(source.name, type) or family(source.location)
    flags: dict[str, tuple[str, ...]] = {}
    if kind is not None and kind.tools is not None:
        flags |= {"enable-auto-tool-choice": (), "tool-call-parser": (kind.tools,)}
    if kind is not None and kind.reasoning is not None:
        flags["reasoning-parser"] = (kind.reasoning,)
    return flags


def _gpu_flags(fit: Plan | None) -> dict[str, tuple[str, ...]]:
    if fit is None:
        return {}
    flags: dict[str, tuple[str, ...]] = {
        "max-model-len": (str(fit.context),),
        "gpu-memory-utilization": (f"{fit.used:.2f}",),
    }
    if fit.split > 1:
        flags["tensor-parallel-size"] = (str(fit.split),)
    return flags


def _cpu_flags(fit: Plan | None, asked: int | None) -> dict[str, tuple[str, ...]]:
    """With chunked prefill, a request's seed under load ends the engine: "CPU Generator does not use offset"."""
    context = fit.context if fit is not None else asked or BATCH_TOKENS["cpu"]
    batch = max(BATCH_TOKENS["cpu"], context)
    return {
        "max-model-len": (str(context),),
        "no-enable-chunked-prefill": (),
        "max-num-batched-tokens": (str(batch),),
    }


def _environ(fit: Plan | None, vllm: Installation) -> dict[str, str]:
    # Usage statistics would go out to the network.
    found = {"VLLM_NO_USAGE_STATS": "1"}
    if vllm.cpu:
        found["VLLM_CPU_NUM_OF_RESERVED_CPU"] = "0"
        if fit is not None:
            found["VLLM_CPU_KVCACHE_SPACE"] = str(max(1, fit.cache >> 30))
    return found


def _last(given: Mapping[str, tuple[str, ...]], name: str, otherwise: str, *, first: bool = False) -> str:
    values = given.get(name) or (otherwise,)
    return values[0] if first else values[-1]


def _tokens(text: str) -> int | None:
    """Tokens as vLLM reads them: 4096, 8k (8,000), 8K (8,192)."""
    match = re.fullmatch(r"(\d+)([kKmM]?)", text)
    return int(match[1]) * _UNITS[match[2]] or None if match else None
