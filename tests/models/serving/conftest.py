"""A stand-in for vLLM: a program that starts as it does, forks an engine, answers, and misbehaves as it is told."""

import json
import os
import signal
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from worldloom.models.serving.command import Launch
from worldloom.models.serving.server import Server

# `engine` in its behaviour forks a child that ignores SIGTERM and leaves the group; its number is written to a file.
FAKE = """\
import json, os, signal, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer
here, words = os.path.dirname(os.path.abspath(__file__)), sys.argv[1:]
tells = json.load(open(os.path.join(here, "behaviour.json")))
def note(name, pid):
    with open(os.path.join(here, name), "a") as file:
        file.write(f"{pid}\\n")
note("pids", os.getpid())
if "engine" in tells:
    child = os.fork()
    if not child:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            signal.pause()
    note("pids", child)
if "stubborn" in tells:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in tells.get("says", []):
    print(line, file=sys.stderr, flush=True)
if "fails" in tells:
    sys.exit(tells["fails"])
class Health(BaseHTTPRequestHandler):
    def log_message(self, *_): ...
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()
    def do_POST(self):
        print("RuntimeError: the engine fell", file=sys.stderr, flush=True)
        os._exit(3)
HTTPServer(("127.0.0.1", int(words[words.index("--port") + 1])), Health).serve_forever(0.01)
"""


def alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def until(holds: Callable[[], Any], timeout_s: float = 20.0) -> Any:
    """Poll until something holds; returns it."""
    deadline = time.monotonic() + timeout_s
    while not (found := holds()):
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.01)
    return found


def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Fake:
    """The program, and what is known of the processes that it has become."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = folder / "vllm"
        self.program.write_text(f"#!{sys.executable} -IS\n{FAKE}", "utf-8")
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)
        self.behave()

    def behave(self, **behaviour: Any) -> None:
        (self.folder / "behaviour.json").write_text(json.dumps(behaviour), "utf-8")

    def pids(self) -> list[int]:
        file = self.folder / "pids"
        return [int(line) for line in file.read_text("utf-8").split()] if file.exists() else []

    def left(self) -> list[int]:
        return [pid for pid in self.pids() if alive(pid)]

    def server(self, *, grace_s: float = 5.0) -> Server:
        at = port()
        argv = (str(self.program), "serve", "m", "--port", str(at))
        return Server(Launch(argv, {}, "m", "127.0.0.1", at), self.folder / "server.log", grace_s=grace_s)


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Fake]:
    program = Fake(tmp_path)
    yield program
    left = program.left()
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == [], "a test left processes behind"


@pytest.fixture(name="until")
def _until() -> Callable[..., Any]:
    return until


@pytest.fixture(name="alive")
def _alive() -> Callable[[int], bool]:
    return alive
