"""Serving: `serve` starts vLLM for one model or several and keeps it up; `plan` says before whether a model fits."""

import asyncio
import functools
import json
import os
import re
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from rich.console import Console
from rich.status import Status

from worldloom.cli.boundary import FAILED
from worldloom.cli.terminal import cell, put_json, say, stderr, stdout, table
from worldloom.core.errors import UsageError, WorldloomError, nearest
from worldloom.core.project import Project, find_project
from worldloom.models.serving.command import Launch, launch, wish_of
from worldloom.models.serving.installation import Installation, examine, find_vllm
from worldloom.models.serving.keeping import RESTARTS, Bounds, Watch, free_port, is_free, keep
from worldloom.models.serving.log import READY
from worldloom.models.serving.machine import GIB, Machine, look
from worldloom.models.serving.plan import Plan, Wish, plan, sequences
from worldloom.models.serving.server import Crashed, Server
from worldloom.models.serving.shape import Shape
from worldloom.models.serving.source import Source, shape, source_of
from worldloom.models.weights import cache_folder

FIRST_PORT = 8000

_OWN = ("hosted_vllm/", "vllm/")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A model that a person wants served; `port` is None if any will do."""

    source: Source
    port: int | None = None


def serve(
    models: Sequence[str],
    passed: Sequence[str],
    *,
    port: int | None,
    restart: bool,
    planned: bool,
    dry: bool,
    as_json: bool,
) -> int:
    """Serve models until Ctrl-C.

    Raises:
        WorldloomError: a model or vLLM is missing, a model does not fit, a server crashed.
    """
    project = find_project(Path.cwd())
    vllm, machine = _found(project)
    launches = _launches(_wanted(models, project), passed, (vllm, machine), port, planned)
    if dry:
        _show_commands(launches, as_json)
        return 0
    for each in launches:
        if not is_free(each.port):
            raise UsageError(
                f"port {each.port} is taken: something listens there already; --port N names another"
            )
    folder = cache_folder().parent / "serve"
    folder.mkdir(parents=True, exist_ok=True)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    make = [_maker(each, folder / f"{_plain(each.name)}-{each.port}-{stamp}.log") for each in launches]
    with _Shown(stderr(), as_json) as shown:
        asyncio.run(keep(make, shown, Bounds(RESTARTS if restart else 0)))
    return 0


def show_plan(model: str, *, context: int | None, tokens: int, as_json: bool) -> int:
    """Say whether a model fits on this machine; returns the exit code: 1 if it does not.

    Raises:
        UsageError: there is no such model.
    """
    project = find_project(Path.cwd())
    (wanted,) = _wanted([model], project)
    machine = look()
    try:
        cpu = examine(find_vllm(project.vllm if project else None), gpu=bool(machine.gpus)).cpu
    except UsageError:  # one may plan before there is a vLLM
        cpu = not machine.gpus
    found = shape(wanted.source)
    made = plan(found, machine, Wish(context=context), cpu=cpu)
    length = min(tokens, made.context) if made.context else tokens
    if as_json:
        put_json(
            {"model": wanted.source.name, **asdict(made), "needs": made.needs, "tokens": length}
            | {"sequences": sequences(made, found, length), "fits": made.fits, "verdict": _verdict(made)}
        )
    else:
        _print_plan(made, found, length)
    return 0 if made.fits else FAILED


def _found(project: Project | None) -> tuple[Installation, Machine]:
    executable = find_vllm(project.vllm if project else None)
    machine = look()
    return examine(executable, gpu=bool(machine.gpus)), machine


def _wanted(models: Sequence[str], project: Project | None) -> list[Wanted]:
    """What the words mean: purposes of the project file, folders, names at the hub; each once."""
    purposes = {str(purpose) for purpose in project.models} if project else set()
    found: dict[tuple[str, int | None], Wanted] = {}
    for word in models:
        if project is not None and word in purposes:
            wanted = _of_purpose(word, project)
        else:
            try:
                wanted = Wanted(source_of(_bare(word)))
            except UsageError as error:
                close = nearest(word, purposes)
                raise UsageError(f"{error}; did you mean {close!r}?" if close else str(error)) from None
        found.setdefault((wanted.source.name, wanted.port), wanted)
    return list(found.values())


def _of_purpose(purpose: str, project: Project) -> Wanted:
    """The model that the project file names for a purpose, at the port at which it will be looked for."""
    entry = next(entry for name, entry in project.models.items() if name == purpose)
    address = urlsplit(entry.base_url or "")
    if not entry.model.startswith(_OWN) and entry.base_url is None:
        raise UsageError(
            f"{purpose} is {entry.model}, which needs no server; served are models named hosted_vllm/NAME"
        )
    if address.hostname not in (None, "127.0.0.1", "localhost"):
        raise UsageError(
            f"{purpose} is served by {address.hostname}; only what is on 127.0.0.1 is served from here"
        )
    name = _bare(entry.model)
    beside = project.file.parent / name
    return Wanted(source_of(str(beside) if beside.is_dir() else name, name), address.port)


def _bare(model: str) -> str:
    return next((model.removeprefix(own) for own in _OWN if model.startswith(own)), model)


def _launches(
    wanted: Sequence[Wanted],
    passed: Sequence[str],
    found: tuple[Installation, Machine],
    port: int | None,
    planned: bool,
) -> list[Launch]:
    """The servers to start; refuses what does not fit."""
    vllm, machine = found
    launches: list[Launch] = []
    for each in wanted:
        shaped = shape(each.source) if planned else None
        fit = None
        if shaped is not None:
            fit = plan(shaped, machine, wish_of(passed, len(wanted)), cpu=vllm.cpu)
            if not fit.fits:
                raise WorldloomError(
                    f"{each.source.name}: {_verdict(fit)}\n  --no-plan starts it all the same"
                )
        taken = [made.port for made in launches]
        at = each.port or (port if port and port not in taken else free_port(port or FIRST_PORT, taken))
        kind = shaped.model_type if shaped is not None else ""
        launches.append(launch(each.source, fit, vllm, at, passed, type=kind))
    return launches


def _maker(each: Launch, log: Path) -> "functools.partial[Server]":
    return functools.partial(Server, each, log)


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")


def _verdict(fit: Plan) -> str:
    if fit.fits:
        where = "the CPU" if fit.device == "cpu" else "one GPU" if fit.split == 1 else f"{fit.split} GPUs"
        return f"fits on {where}"
    if fit.made_for and fit.asked > fit.made_for:
        return f"does not fit: it was made for {fit.made_for:,} tokens of context, and {fit.asked:,} are asked for"
    short = (
        f"needs {fit.needs / GIB:.1f} GiB ({_parts(fit)}), and there are {fit.has / GIB:.1f} ({fit.devices})"
    )
    told = f"does not fit: {short}"
    if fit.device == "gpu" and fit.enough is not None and fit.enough > fit.split:
        told += f"; {fit.enough} such GPUs would do (--tensor-parallel-size {fit.enough})"
    if fit.context:
        told += f"; {fit.context:,} tokens of context would fit"
    return told


def _parts(fit: Plan) -> str:
    return (
        f"weights {fit.weights / GIB:.1f}, computing {fit.computing / GIB:.1f}, "
        f"cache of {fit.asked:,} tokens {fit.sequence / GIB:.2f}"
    )


def _print_plan(fit: Plan, shaped: Shape, tokens: int) -> None:
    screen = stdout()
    made = table("", "GiB", right=("GiB",))
    rows = {
        "weights": fit.weights,
        "computing": fit.computing,
        f"cache of one sequence of {fit.asked:,} tokens": fit.sequence,
        "needs": fit.needs,
        f"has ({fit.devices})": fit.has,
    }
    for name, size in rows.items():
        made.add_row(cell(name), cell(f"{size / GIB:.2f}"))
    screen.print(made)
    screen.print()
    of = f" of {fit.made_for:,}" if fit.made_for else ""
    say(screen, f"context that fits: {fit.context:,}{of} tokens ({fit.token / 1024:,.1f} KiB a token)")
    if fit.context:
        say(screen, f"at once: {sequences(fit, shaped, tokens):,} sequences of {tokens:,} tokens")
    say(screen, _verdict(fit), "green" if fit.fits else "red")


def _show_commands(launches: Sequence[Launch], as_json: bool) -> None:
    # A variable that is set already is kept, and shown as it will be.
    shown = [
        {
            "argv": list(each.argv),
            "environ": {name: os.environ.get(name, value) for name, value in each.environ.items()},
        }
        for each in launches
    ]
    if as_json:
        put_json(shown)
        return
    for each in launches:
        variables = [
            f"{name}={shlex.quote(os.environ.get(name, value))}" for name, value in each.environ.items()
        ]
        say(stdout(), " ".join([*variables, shlex.join(each.argv)]), wrap=False)


@dataclass
class _Shown(Watch):
    """What a person sees while servers start and run; JSON goes to stdout once, when all are ready."""

    screen: Console
    as_json: bool
    begun: float = field(default_factory=time.monotonic)
    took: dict[str, float] = field(default_factory=dict)
    _seen: tuple[str, str] = ("", "")
    _status: Status | None = None

    def __enter__(self) -> "_Shown":
        return self

    def __exit__(self, *_: object) -> None:
        self._still()

    def phase(self, server: Server, phase: str) -> None:
        now = (str(server.pid), phase)
        if now[0] != self._seen[0]:
            self.begun = time.monotonic()
            say(self.screen, f"{server.launch.name}: its log is {server.log}", "dim", wrap=False)
        seconds = int(time.monotonic() - self.begun)
        if self.screen.is_terminal and phase != READY:
            text = f"{server.launch.name}: {phase} ({seconds // 60}:{seconds % 60:02})"
            if self._status is None:
                self._status = self.screen.status(text)
                self._status.start()
            self._status.update(text)
        elif now != self._seen and phase != READY:
            say(self.screen, f"{server.launch.name}: {phase} ({seconds} s)", wrap=False)
        self._seen = now

    def ready(self, server: Server, seconds: float) -> None:
        self._still()
        self.took[server.launch.name] = seconds
        say(self.screen, f"{server.launch.name}: ready after {seconds:.0f} s", "green", wrap=False)

    def restart(self, server: Server, crash: Crashed, number: int, pause_s: float) -> None:
        say(self.screen, str(crash), "red", wrap=False)
        say(self.screen, f"restart {number} of {RESTARTS} in {pause_s:g} s")

    def all_ready(self, servers: Sequence[Server]) -> None:
        if self.as_json:  # one line, so that a program knows where it ends
            told = {"models": [_to_json(server, self.took[server.launch.name]) for server in servers]}
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()
            return
        for server in servers:
            words = f"worldloom run --model {shlex.quote(server.launch.model)} --base-url {server.launch.base_url}"
            say(stdout(), words, wrap=False)
        say(self.screen, "Ctrl-C stops " + ("it" if len(servers) == 1 else "them"), "dim")

    def _still(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def _to_json(server: Server, seconds: float) -> dict[str, object]:
    return {
        "name": server.launch.name,
        "model": server.launch.model,
        "base_url": server.launch.base_url,
        "port": server.launch.port,
        "pid": server.pid,
        "log": str(server.log),
        "ready_s": round(seconds, 1),
    }
