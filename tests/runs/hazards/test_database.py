"""The database of a run: locked, torn by a crash, or wanted by two processes at once."""

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import types

import pytest

from worldloom.core.errors import UsageError
from worldloom.runs import writer as module

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@contextlib.contextmanager
def locked(path):
    """While entered, another process holds the database for itself."""
    code = (
        "import sqlite3, sys; held = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "held.execute('BEGIN EXCLUSIVE'); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-S", "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"held\n"
        yield
        other.kill()


def test_a_database_that_another_process_holds_too_long_fails_the_run_which_goes_on_once_it_is_free(
    monkeypatch, desk, plays, fails, goes_on
):
    def connect(*place, **settings):
        return sqlite3.connect(*place, **{**settings, "timeout": 0.05})

    monkeypatch.setattr(module, "sqlite3", types.SimpleNamespace(connect=connect, Error=sqlite3.Error))
    desk.create(len(plays))
    with locked(desk.store.path):
        fails(desk, "database is locked.* resume the run")
        assert len(desk.store.episodes()) == len(plays), "reading is free"
        desk.store.close()
    goes_on(desk)


def test_a_database_that_another_process_holds_for_a_while_is_waited_for(
    desk, plays, go, acting, sound, goes_on
):
    desk.create(len(plays))
    with contextlib.ExitStack() as held:
        held.enter_context(locked(desk.store.path))
        seen = []

        def let_go():
            seen.append(sound(desk))
            held.close()

        go(desk, acting(24, let_go))
    assert seen == [[]], "nothing could be written until then"
    goes_on(desk)


def cut(log, chance):
    return log[: chance.randrange(len(log))]


def garbled(log, chance):
    tail = chance.randrange(1, len(log))
    return log[:-tail] + chance.randbytes(tail)


def zeroed(log, chance):
    tail = chance.randrange(1, len(log))
    return log[:-tail] + bytes(tail)


def with_one_bit_turned(log, chance):
    at = chance.randrange(len(log))
    return log[:at] + bytes([log[at] ^ 1 << chance.randrange(8)]) + log[at + 1 :]


def lengthened(log, chance):
    return log + chance.randbytes(chance.randrange(1, 9000))


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3, 4))])
@pytest.mark.parametrize("damage", [cut, garbled, zeroed, with_one_bit_turned, lengthened])
def test_of_a_log_with_a_torn_tail_all_that_stands_before_the_tear_holds(
    desk, new_desk, plays, life, go, acting, sound, goes_on, tmp_path, damage, seed
):
    desk.create(len(plays))
    dying = acting(200, lambda: os.kill(os.getpid(), signal.SIGKILL))
    killed = os.waitpid(life(lambda: go(desk, dying)), 0)[1]
    assert os.waitstatus_to_exitcode(killed) == -signal.SIGKILL
    shutil.copytree(desk.store.folder, tmp_path / "untorn")
    before = sound(new_desk("untorn"))
    assert len(before) > 100
    log = desk.store.path.with_name("run.sqlite-wal")
    log.write_bytes(damage(log.read_bytes(), random.Random(seed)))
    after = sound(desk)
    assert after == before[: len(after)], "a prefix of what was there"
    assert after == before or damage is not lengthened
    goes_on(desk)


def test_a_run_belongs_to_one_process_until_that_is_killed_and_readers_wait_for_nobody(
    desk, plays, life, go, acting, goes_on
):
    """The first process has got so far when its 100th answer is due, and stays there."""
    far, tell = os.pipe()

    def stay():
        os.write(tell, b"x")
        signal.pause()

    desk.create(len(plays))
    first = life(lambda: go(desk, acting(100, stay)))
    os.close(tell)
    assert os.read(far, 1) == b"x"
    os.close(far)
    with contextlib.closing(sqlite3.connect(desk.store.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        seen = reader.execute("SELECT count(*) FROM events").fetchone()
        with pytest.raises(UsageError, match=r"another process is writing the run .*wait for it or stop it"):
            go(desk)
        assert {row.status for row in desk.store.episodes()} == {"running", "planned"}
        desk.store.close()
        os.kill(first, signal.SIGKILL)
        os.waitpid(first, 0)
        assert {row.status for row in go(desk)} == {"ended"}
        assert reader.execute("SELECT count(*) FROM events").fetchone() == seen, "a reader sees one moment"
    goes_on(desk)
