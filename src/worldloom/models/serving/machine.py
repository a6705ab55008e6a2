"""The machine: what memory there is to serve with, on GPUs as nvidia-smi tells, else RAM as far as the cgroup allows.

Nothing is loaded for it: no driver library, no torch.
"""

import csv
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
GIB = 1 << 30

_QUERY = ("--query-gpu=index,uuid,name,memory.total,memory.free", "--format=csv,noheader,nounits")
_TIMEOUT_S = 20.0
_FREE_ON_NODE = ("MemFree", "Active(file)", "Inactive(file)", "SReclaimable")


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU; memory in bytes."""

    name: str
    total: int
    free: int


@dataclass(frozen=True, slots=True)
class Machine:
    """What a server may take.

    Attributes:
        ram: bytes of main memory that are free for use, within the limits of the cgroup.
        gpus: those that CUDA_VISIBLE_DEVICES leaves visible.
    """

    ram: int
    gpus: tuple[Gpu, ...] = ()


def look(environ: Mapping[str, str] = os.environ) -> Machine:
    """What this machine has."""
    return Machine(free_ram(), gpus(environ))


def gpus(environ: Mapping[str, str] = os.environ) -> tuple[Gpu, ...]:
    """The visible GPUs; none where nvidia-smi is missing or fails."""
    tool = shutil.which("nvidia-smi", path=environ.get("PATH"))
    if tool is None:
        return ()
    try:
        asked = subprocess.run(
            [tool, *_QUERY], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    return read_gpus(asked.stdout, environ.get("CUDA_VISIBLE_DEVICES"))


def read_gpus(listing: str, visible: str | None) -> tuple[Gpu, ...]:
    """GPUs out of nvidia-smi's list.

    Args:
        listing: lines of index, uuid, name, MiB in all, MiB free. A GPU that shares the machine's memory names
            none and is left out.
        visible: CUDA_VISIBLE_DEVICES: indices or beginnings of UUIDs, up to the first that is no GPU.
    """
    found: dict[str, tuple[str, Gpu]] = {}
    for row in csv.reader(listing.splitlines(), skipinitialspace=True):
        if len(row) == 5 and row[3].strip().isdigit() and row[4].strip().isdigit():
            gpu = Gpu(row[2].strip(), int(row[3]) * MIB, int(row[4]) * MIB)
            found[row[0].strip()] = (row[1].strip(), gpu)
    if visible is None:
        return tuple(gpu for _, gpu in found.values())
    chosen: list[Gpu] = []
    for word in (part.strip() for part in visible.split(",")):
        matches = [
            gpu for index, (uuid, gpu) in found.items() if word and (word == index or uuid.startswith(word))
        ]
        if not matches:
            break
        chosen.append(matches[0])
    return tuple(chosen)


def free_ram(root: Path = Path("/")) -> int:
    """Bytes of main memory that can still be taken: what the kernel calls available, capped by each cgroup above and
    by the NUMA node of the first CPU, on which vLLM puts its cache.

    Args:
        root: where /proc and /sys are.
    """
    return min([_available(root), *_node_room(root), *_cgroup_room(root)])


def _available(root: Path) -> int:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")  # macOS tells no more


def _node_room(root: Path) -> Iterator[int]:
    first = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    for node in (root / "sys/devices/system/node").glob(f"node*/cpu{first}"):
        fields = {line.split()[2]: int(line.split()[3]) * 1024 for line in _lines(node.parent / "meminfo")}
        yield sum(fields.get(f"{name}:", 0) for name in _FREE_ON_NODE)


def _cgroup_room(root: Path) -> Iterator[int]:
    """What is left in the process's memory cgroup and in those above it; file cache counts as free."""
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            mount, limit, usage, cache = "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            mount, limit, usage = "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            cache = "total_inactive_file"
        else:
            continue
        top = root / mount
        folder = top / path.strip().lstrip("/")
        for place in (folder, *folder.parents):
            most, taken = _number(place / limit), _number(place / usage)
            if most is not None and taken is not None:
                yield max(0, most - taken + _statistic(place / "memory.stat", cache))
            if place == top:
                break


def _statistic(file: Path, name: str) -> int:
    return next((int(line.split()[1]) for line in _lines(file) if line.split()[:1] == [name]), 0)


def _number(file: Path) -> int | None:
    text = "".join(_lines(file)[:1]).strip()
    return int(text) if text.isdigit() else None  # `max` is no limit


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
