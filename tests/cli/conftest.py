"""The command line in a folder of its own, and a server whose model plays as it is told."""

import json
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from worldloom.cli.app import app

PYTHON = [sys.executable, "-P", "-m", "worldloom.cli"]


@dataclass
class Server:
    """A model server on loopback.

    Attributes:
        said: what it answers to a chat, by the number of answers in it; the last one for ever.
        hold: numbers of chat requests that it leaves without an answer until `release`.
    """

    said: Sequence[str]
    hold: frozenset[int] = frozenset()
    names: Sequence[str] = ("m",)
    chats: int = 0
    held: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def answer(self, body: dict[str, Any]) -> str:
        self.chats += 1
        if self.chats in self.hold:
            self.held.set()
            self.release.wait(60)
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        return self.said[min(turn, len(self.said) - 1)]


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None: ...

        def do_GET(self) -> None:
            self._send({"data": [{"id": name, "max_model_len": 4096} for name in server.names]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            message = {"role": "assistant", "content": server.answer(body)}
            usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            self._send(
                {"id": "1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
            )

        def _send(self, value: object) -> None:
            data = json.dumps(value).encode()
            try:
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except ConnectionError:  # whoever asked is gone
                self.close_connection = True

    return Handler


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Starts servers: `serve(said, hold={2})`."""
    running = []

    def start(said: Sequence[str], **options: Any) -> Server:
        server = Server(said, **options)
        http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
        http.daemon_threads = True
        server.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
        thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        running.append((server, http, thread))
        return server

    yield start
    for server, http, thread in running:
        server.release.set()
        http.shutdown()
        http.server_close()
        thread.join()


def decision(name: str, **arguments: object) -> str:
    """A reply of the model: an action, or TASK_COMPLETE."""
    entity, _, action = name.partition(".")
    call = {"entity_id": entity, "action_name": action, "arguments": arguments} if action else name
    return json.dumps({"thought_process": "", "action": call})


CAREFUL = (
    decision("printer.get_status"),
    decision("printer.set_both_sides", enabled=True),
    decision("printer.print_handout", copies=30),
    decision("TASK_COMPLETE"),
)


@pytest.fixture
def careful() -> tuple[str, ...]:
    """Replies that pass the example scenario."""
    return CAREFUL


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, in an environment that names nothing of worldloom."""
    for name in ("WORLDLOOM_MODEL", "WORLDLOOM_BASE_URL", "WORLDLOOM_RUNS_DIR", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WORLDLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setenv("TZ", "UTC")
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def command(here: Path) -> Callable[..., Any]:
    """Runs a command in this process: `command("runs", "list")` has exit_code, stdout, stderr."""
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def project(command: Callable[..., Any], here: Path) -> Path:
    """A project as `init` makes it."""
    assert command("init").exit_code == 0
    return here


@pytest.fixture
def played(command: Callable[..., Any], project: Path) -> Path:
    """A project with one run of the careful agent; its folder."""
    done = command("run", "scenarios", "--agent", "careful")
    assert done.exit_code == 0, done.stderr
    return next((project / "runs").iterdir())


@pytest.fixture(name="python")
def _python() -> list[str]:
    return PYTHON
