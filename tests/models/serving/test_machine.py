"""What memory there is, as the machine's own files and nvidia-smi say."""

import os
import stat

import pytest

from worldloom.models.serving.machine import GIB, MIB, free_ram, gpus, read_gpus

LISTING = """\
0, GPU-aaaa, NVIDIA H200, 143771, 143000
1, GPU-bbbb, NVIDIA H200, 143771, 70000
2, GPU-cccc, NVIDIA GB10, [N/A], [N/A]
3, GPU-dddd, Tesla T4, 15360, 15000
"""


@pytest.mark.parametrize(
    ("visible", "free"),
    [
        (None, [143000, 70000, 15000]),
        ("3,0", [15000, 143000]),
        ("GPU-bb", [70000]),
        ("0,9,1", [143000]),
        ("", []),
        ("-1", []),
    ],
)
def test_gpus_are_those_that_are_visible(visible, free):
    assert [gpu.free // MIB for gpu in read_gpus(LISTING, visible)] == free


@pytest.mark.parametrize("does", [f"echo '{LISTING.splitlines()[0]}'", "echo broken; exit 9", None])
def test_nvidia_smi_is_asked_and_may_be_missing_or_fail(tmp_path, does):
    if does is not None:
        tool = tmp_path / "nvidia-smi"
        tool.write_text(f"#!/bin/sh\n{does}\n", "utf-8")
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    found = gpus({"PATH": str(tmp_path)})
    assert [gpu.name for gpu in found] == (["NVIDIA H200"] if does and "H200" in does else [])


def write(root, **files):
    for name, text in files.items():
        file = root / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


@pytest.fixture
def root(tmp_path):
    """A machine with 64 GiB available."""
    write(tmp_path, proc__meminfo=f"MemTotal: 99999999 kB\nMemAvailable:   {64 * GIB // 1024} kB\n")
    return tmp_path


def test_without_limits_all_that_is_available_is_free(root):
    assert free_ram(root) == 64 * GIB


def test_a_limit_of_any_cgroup_above_holds_and_its_file_cache_counts_as_free(root):
    write(root, proc__self__cgroup="0::/a/b\n")
    for place, limit in {"a": str(10 * GIB), "a/b": "max"}.items():
        folder = root / "sys/fs/cgroup" / place
        folder.mkdir(parents=True)
        (folder / "memory.max").write_text(limit + "\n")
        (folder / "memory.current").write_text(f"{4 * GIB}\n")
        (folder / "memory.stat").write_text(f"anon 1\ninactive_file {GIB}\n")
    assert free_ram(root) == 7 * GIB


def test_the_older_cgroups_are_read_too(root):
    write(root, proc__self__cgroup="4:memory:/box\n1:name=systemd:/\n")
    folder = root / "sys/fs/cgroup/memory/box"
    folder.mkdir(parents=True)
    (folder / "memory.limit_in_bytes").write_text(f"{8 * GIB}\n")
    (folder / "memory.usage_in_bytes").write_text(f"{2 * GIB}\n")
    (folder / "memory.stat").write_text(f"inactive_file 1\ntotal_inactive_file {GIB}\n")
    assert free_ram(root) == 7 * GIB


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="CPUs are not numbered here")
def test_the_numa_node_of_the_first_cpu_is_a_limit(root):
    node = root / "sys/devices/system/node/node1"
    (node / f"cpu{min(os.sched_getaffinity(0))}").mkdir(parents=True)
    lines = [
        f"Node 1 {name}: {GIB // 1024} kB"
        for name in ("MemFree", "Active(file)", "SReclaimable", "AnonPages")
    ]
    (node / "meminfo").write_text("\n".join(lines))
    assert free_ram(root) == 3 * GIB


def test_this_machine_has_some_memory():
    assert free_ram() > 0
