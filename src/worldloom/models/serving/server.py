"""Server: one vLLM that runs: started through the launcher, waited for, watched, stopped with all it has spawned."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path

import httpx2

from worldloom.core.errors import WorldloomError
from worldloom.core.secrets import secrets_of
from worldloom.models.serving.command import Launch
from worldloom.models.serving.installation import clean
from worldloom.models.serving.log import READY, STARTING, Follow, last_words

GRACE_S = 5.0
"""Time that a server has to end by itself before it is killed."""

_LOOK_S = 0.2
_HEALTH_TIMEOUT_S = 5.0


class Crashed(WorldloomError):
    """A server ended by itself; the text holds what its log said last."""

    code = "server"


class Server:
    """A server; use as an async context manager: when it is left, no process is.

    Args:
        launch: its command line and environment.
        log: the file that it writes.
        environ: the environment that the launch adds to; a variable that is set there is kept.
        grace_s: time to end by itself.
    """

    def __init__(
        self,
        launch: Launch,
        log: Path,
        *,
        environ: Mapping[str, str] = os.environ,
        grace_s: float = GRACE_S,
    ) -> None:
        self.launch = launch
        self.log = log
        self.phase = STARTING
        self._environ = environ
        self._grace_s = grace_s
        self._process: asyncio.subprocess.Process | None = None
        self._swept = False
        self._begin = 0  # of what this server writes to its log

    @property
    def pid(self) -> int:
        """The launcher, whose process group is the server's."""
        return self._running().pid

    async def __aenter__(self) -> "Server":
        launcher = str(files("worldloom.models.serving").joinpath("launcher.py"))
        descriptor = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._begin = os.fstat(descriptor).st_size
        try:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", launcher, str(self._grace_s), *self.launch.argv),
                stdin=asyncio.subprocess.PIPE,  # the lifeline: it closes when this process is gone
                stdout=descriptor,
                stderr=descriptor,
                env={**self.launch.environ, **clean(self._environ)},
                start_new_session=True,  # Ctrl-C in the terminal is not for it
            )
        finally:
            os.close(descriptor)
        return self

    async def __aexit__(self, *_: object) -> None:
        process = self._running()
        if process.returncode is None and process.stdin is not None:
            process.stdin.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._grace_s + GRACE_S):
                    await process.wait()
            if process.returncode is None:
                process.kill()
        await self._gone()

    async def ready(self, tell: Callable[[str], None] = lambda _phase: None) -> float:
        """Wait until it answers; returns the seconds that it took.

        Args:
            tell: told the phase at every look.

        Raises:
            Crashed: it ended before.
        """
        begun = time.monotonic()
        follow = Follow(self.log, read=self._begin)
        # The address is on this machine: no proxy stands between.
        async with httpx2.AsyncClient(trust_env=False, timeout=_HEALTH_TIMEOUT_S) as client:
            while True:
                self.phase = follow.look()
                tell(self.phase)
                if self._running().returncode is not None:
                    raise await self.ended()
                if await self._healthy(client):
                    self.phase = READY
                    tell(READY)
                    return time.monotonic() - begun
                await asyncio.sleep(_LOOK_S)

    async def ended(self) -> Crashed:
        """Wait until it ends by itself; returns why, as far as its log tells."""
        code = await self._gone()
        said = last_words(self.log, secrets_of(self._environ).values(), self._begin)
        shown = "\n".join(f"  {line}" for line in said) or "  (nothing)"
        return Crashed(
            f"the server of {self.launch.name} {_end(code)} while {self.phase}; its log said last:\n"
            f"{shown}\n  the whole log: {self.log}"
        )

    async def _gone(self) -> int:
        """Wait for the launcher's end; if it was killed, end at once what it had no time to end."""
        process = self._running()
        code = await process.wait()
        if code < 0 and not self._swept:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        self._swept = True  # later, the number may be another's
        return code

    async def _healthy(self, client: httpx2.AsyncClient) -> bool:
        try:
            return (await client.get(f"{self.launch.root}/health")).status_code == 200
        except httpx2.HTTPError:
            return False

    def _running(self) -> asyncio.subprocess.Process:
        assert self._process is not None, "the server is used inside its context"
        return self._process


def _end(code: int) -> str:
    if code in (-signal.SIGKILL, 128 + signal.SIGKILL):
        return "was killed, perhaps for want of memory,"
    return f"ended with exit code {code}"
