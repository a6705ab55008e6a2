"""A server starts, is found ready, tells why it ended, and leaves no process behind, whoever is killed."""

import asyncio
import os
import signal
import subprocess
import sys
from importlib.resources import files

import pytest

from worldloom.models.serving.keeping import RESTARTS, Bounds, Watch, keep
from worldloom.models.serving.server import Crashed

KEY = "sk-abcdef1234567890"


def test_a_server_becomes_ready_and_is_gone_with_its_engine_when_it_is_left(fake):
    fake.behave(engine=True, says=["Starting to load model m...", "Warming up model for the compilation..."])

    async def main():
        async with fake.server(grace_s=0.2) as server:
            phases = []
            assert await server.ready(phases.append) > 0
            assert phases[-1] == "ready"
            assert len(fake.left()) == 2

    asyncio.run(main())
    assert fake.left() == []


def test_a_server_that_ignores_the_request_to_end_is_killed(fake):
    fake.behave(stubborn=True)

    async def main():
        async with fake.server(grace_s=0.1) as server:
            await server.ready()

    asyncio.run(main())


def test_a_crash_before_it_is_ready_tells_the_last_exception_without_keys(fake, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "a-secret-token-123456")
    noise = ["(EngineCore pid=7) INFO 11-30 15:23:31 [core.py:133] quiet"] * 20
    said = [
        "(EngineCore pid=7) ERROR 11-30 15:23:31 [core.py:1] Traceback (most recent call last):",
        f"(EngineCore pid=7) ERROR 11-30 15:23:31 [core.py:1] ValueError: no room for {KEY} and a-secret-token-123456",
        "(APIServer pid=6) RuntimeError: Engine core initialization failed. See root cause above.",
    ]
    fake.behave(engine=True, says=[*said, *noise], fails=9)

    async def main():
        async with fake.server(grace_s=0.2) as server:
            await server.ready()

    with pytest.raises(Crashed, match="exit code 9 while starting") as caught:
        asyncio.run(main())
    text = str(caught.value)
    assert "\n  ValueError: no room for [key] and [key]\n" in text
    assert "See root cause" not in text
    assert "quiet" not in text
    assert str(fake.folder / "server.log") in text


def test_a_program_that_is_not_there_is_a_crash_that_says_so(fake):
    fake.program.unlink()

    async def main():
        async with fake.server() as server:
            await server.ready()

    with pytest.raises(Crashed, match="No such file"):
        asyncio.run(main())


def test_an_engine_that_falls_is_restarted_within_bounds_and_each_pause_is_longer(fake):
    pauses, crashes = [], []

    class Falling(Watch):
        def ready(self, server, seconds):
            request = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"

            async def fell():
                _, writer = await asyncio.open_connection(server.launch.host, server.launch.port)
                writer.write(request)
                await writer.drain()
                writer.close()

            self.task = asyncio.get_running_loop().create_task(fell())

        def restart(self, server, crash, number, pause_s):
            crashes.append((number, "the engine fell" in str(crash)))

    async def pause(seconds):
        pauses.append(seconds)

    with pytest.raises(Crashed, match="exit code 3 while ready") as caught:
        asyncio.run(keep([fake.server], Falling(), Bounds(RESTARTS, pause)))
    assert pauses == [1, 2, 4, 8, 16]
    assert crashes == [(number, True) for number in range(1, RESTARTS + 1)]
    assert caught.value.__notes__ == [f"it was restarted {RESTARTS} times in a row"]
    assert len(fake.pids()) == RESTARTS + 1


def test_without_restart_the_first_crash_ends_all_servers(fake):
    class Falling(Watch):
        def all_ready(self, servers):
            assert len(fake.left()) == 2
            os.kill(fake.left()[0], signal.SIGKILL)

    with pytest.raises(Crashed, match="was killed, perhaps for want of memory, while ready"):
        asyncio.run(keep([fake.server, fake.server], Falling()))


PARENT = """
import asyncio, sys
from pathlib import Path
from worldloom.models.serving.command import Launch
from worldloom.models.serving.server import Server
async def main():
    program, port, log = sys.argv[1:]
    argv = (program, "serve", "m", "--port", port)
    async with Server(Launch(argv, {}, "m", "127.0.0.1", int(port)), Path(log), grace_s=0.2) as server:
        await server.ready()
        print(server.pid, flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.fixture
def parent(fake):
    """A process of its own that serves and is then killed; gives it and the number of its launcher."""
    fake.behave(engine=True, stubborn=True)
    launch = fake.server().launch
    words = [str(fake.program), str(launch.port), str(fake.folder / "server.log")]
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", PARENT, *words], stdout=subprocess.PIPE, text=True
    )
    yield process, int(process.stdout.readline())
    process.kill()
    process.communicate()


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_kill_9_of_the_parent_leaves_no_process(fake, parent, until, alive):
    process, launcher = parent
    assert len(fake.left()) == 2
    process.kill()
    until(lambda: not alive(launcher))
    assert fake.left() == []


@pytest.mark.skipif(sys.platform != "linux", reason="needs prctl")
def test_kill_9_of_the_launcher_asks_the_server_to_end(fake, until):
    launch = fake.server().launch
    launcher = str(files("worldloom.models.serving").joinpath("launcher.py"))
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", launcher, "5", *launch.argv],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    until(fake.pids)
    process.kill()
    process.communicate()
    until(lambda: not fake.left())


def test_kill_9_of_the_launcher_ends_a_server_that_ignores_requests_too(fake, until):
    fake.behave(stubborn=True)

    async def main():
        async with fake.server() as server:
            await server.ready()
            os.kill(server.pid, signal.SIGKILL)
            assert "was killed" in str(await server.ended())

    asyncio.run(main())
    until(lambda: not fake.left())


def test_the_log_may_be_read_by_its_owner_only(fake):
    async def main():
        async with fake.server() as server:
            await server.ready()
            assert server.log.stat().st_mode & 0o077 == 0

    asyncio.run(main())
