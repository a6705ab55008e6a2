"""A disk that is full, or may not be written: one error, what was written stays, and a resume completes the run.

Where a process may have mounts of its own the disks are real ones, also for root; no other process sees them.
"""

import contextlib
import ctypes
import os
import resource
import shutil
import sqlite3
import sys
import types

import pytest

from worldloom.core.errors import RecordError, UsageError
from worldloom.runs import writer as module

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

NEWNS, NEWUSER, RDONLY, REMOUNT, BIND, REC, PRIVATE = 0x20000, 0x10000000, 1, 32, 4096, 16384, 1 << 18
MAY_NOT = 77


def call(name, *arguments):
    """Call a function of libc by name."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def mount(source, place, kind, flags, options=""):
    source, place, options = (os.fsencode(word) for word in (source, place, options))
    call("mount", source, place, kind, ctypes.c_ulong(flags), options)


def take_mounts_of_ones_own():
    user, group, root = os.getuid(), os.getgid(), os.geteuid() == 0
    call("unshare", NEWNS if root else NEWNS | NEWUSER)
    if not root:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    mount("none", "/", None, REC | PRIVATE)


@pytest.fixture
def apart(life):
    """Runs a function in a process that may mount; skips the test where that is not allowed."""

    def run(function, mounts=True):
        def child():
            if mounts:
                try:
                    take_mounts_of_ones_own()
                except (OSError, AttributeError) as refused:
                    sys.stderr.write(f"{refused}\n")
                    os._exit(MAY_NOT)
            function()

        code = os.waitstatus_to_exitcode(os.waitpid(life(child), 0)[1])
        if code == MAY_NOT:
            pytest.skip("a process may not have mounts of its own here")
        assert code == 0, "see the traceback of the process"

    return run


@pytest.mark.parametrize(
    ("room", "words"),
    [
        (0, "is the disk full.* resume the run"),
        *((room, "disk is full.* resume the run") for room in (40, 100, 300)),
    ],
)
def test_a_disk_that_fills_up_fails_the_run_which_goes_on_once_there_is_room(
    apart, new_desk, tmp_path, plays, fails, sound, goes_on, room, words
):
    """In KiB beside the run as it is laid out: not enough to open it, to say that it runs, to play a little, more."""
    disk, desk = tmp_path / "disk", new_desk("disk/run")
    disk.mkdir()

    def on_a_small_disk():
        mount("none", disk, b"tmpfs", 0, "size=64m")
        desk.create(len(plays))
        mount("none", disk, None, REMOUNT, f"size={desk.store.path.stat().st_size // 1024 + room}k")
        fails(desk, words)
        mount("none", disk, None, REMOUNT, "size=64m")
        assert bool(sound(desk)) == (room >= 100), "what was written before stays"
        goes_on(desk)

    apart(on_a_small_disk)


def fill(disk):
    """Take all room that a disk has left, and names as far as it has but few."""
    with contextlib.suppress(OSError), open(disk / "full", "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    with contextlib.suppress(OSError):
        for number in range(100):
            (disk / f"name-{number}").touch()


@pytest.mark.parametrize("most", ["size=400k", "size=4m,nr_inodes=30"])
def test_on_a_full_disk_a_run_is_read_and_what_cannot_be_done_is_blamed_on_the_disk(
    apart, new_desk, tmp_path, plays, fails, goes_on, most
):
    disk, desk, crashed = tmp_path / "disk", new_desk("disk/run"), new_desk("disk/crashed")
    disk.mkdir()

    def on_a_full_disk():
        mount("none", disk, b"tmpfs", 0, most)
        desk.create(len(plays))
        with contextlib.closing(sqlite3.connect(desk.store.path)) as connection:
            with connection:
                connection.execute("UPDATE episodes SET seed = seed")
            shutil.copytree(desk.store.folder, crashed.store.folder, ignore=shutil.ignore_patterns("*-shm"))
        fill(disk)
        assert {row.status for row in desk.store.episodes()} == {"planned"}, "nothing but reading"
        for failed in (desk, crashed):
            fails(failed, "is the disk full|No space left")
        for name in os.listdir(disk):
            if name.startswith(("full", "name-")):
                (disk / name).unlink()
        mount("none", disk, None, REMOUNT, "size=64m,nr_inodes=1000")
        for mended in (desk, crashed):
            goes_on(mended)

    apart(on_a_full_disk)


def test_a_run_for_which_there_is_no_room_at_all_is_none(apart, new_desk, tmp_path):
    disk, desk = tmp_path / "disk", new_desk("disk/run")
    disk.mkdir()

    def on_a_full_disk():
        mount("none", disk, b"tmpfs", 0, "size=16k")
        with pytest.raises(RecordError, match=r"cannot create the run folder .*disk is full"):
            desk.create(12)
        with pytest.raises(UsageError, match="holds no run"):
            desk.store.episodes()

    apart(on_a_full_disk)


def test_a_file_that_may_not_grow_fails_the_run_which_goes_on_once_it_may(
    apart, desk, plays, fails, sound, goes_on
):
    """A quota, as far as a process can set itself one."""
    desk.create(len(plays))

    def under_a_quota():
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
        fails(desk, "disk I/O error.* resume the run")
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        assert sound(desk), "what was written before stays"
        goes_on(desk)

    apart(under_a_quota, mounts=False)


def test_on_a_read_only_disk_a_run_is_read_and_neither_begun_nor_played_on(
    apart, new_desk, tmp_path, plays, fails, goes_on
):
    disk, desk, other = tmp_path / "disk", new_desk("disk/run"), new_desk("disk/other")
    desk.create(len(plays))

    def on_a_read_only_disk():
        mount(disk, disk, None, BIND)
        mount("none", disk, None, REMOUNT | BIND | RDONLY)
        with pytest.raises(RecordError, match=r"cannot create the run folder .*Read-only file system"):
            other.create(1)
        fails(desk, "cannot write the record in .*Read-only file system")
        assert {row.status for row in desk.store.episodes()} == {"planned"}

    apart(on_a_read_only_disk)
    goes_on(desk)


def test_a_disk_that_becomes_read_only_under_a_run_fails_it_and_the_run_goes_on_once_it_is_writable(
    monkeypatch, desk, fails, acting, sound, goes_on
):
    """No mount can be taken back while files are open on it, so SQLite is told to take it for read-only."""
    connections = []

    def connect(*place, **settings):
        connections.append(sqlite3.connect(*place, **settings))
        return connections[-1]

    monkeypatch.setattr(module, "sqlite3", types.SimpleNamespace(connect=connect, Error=sqlite3.Error))
    desk.create(12)
    fails(
        desk,
        "attempt to write a readonly database.* resume the run",
        acting(100, lambda: connections[-1].execute("PRAGMA query_only = 1")),
    )
    assert sound(desk), "what was written before stays"
    goes_on(desk)
