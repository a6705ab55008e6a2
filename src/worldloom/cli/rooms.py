"""Rooms: `rooms`: the worlds, graphs and agents that can be named, by their cards; nothing of them is imported."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from worldloom.cli.terminal import cell, put_json, say, stdout, table
from worldloom.core.project import find_project
from worldloom.core.registry import Registry
from worldloom.core.suite import library_suites


def list_rooms(*, as_json: bool) -> None:
    """Print all rooms.

    Raises:
        UsageError: a room cannot be read, or two have one name.
    """
    rooms = Registry.discover(find_project(Path.cwd())).rooms()
    if as_json:
        put_json([asdict(room) for room in rooms])
        return
    made = table("role", "name", "kind", "summary")
    for room in rooms:
        made.add_row(*(cell(value) for value in (room.role, room.name, room.kind, room.summary)))
    stdout().print(made)
    say(stdout(), "More rooms: name their folders or packages under `rooms:` in worldloom.yaml.")


def choices() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """What `run --help` adds: headings with (name, summary) of agents and suites."""
    rooms = Registry.discover(find_project(Path.cwd())).rooms("agent")
    yield (
        "Agents",
        [(room.name, f"{room.summary} (kind {room.kind})" if room.kind else room.summary) for room in rooms],
    )
    yield "Suites", [(name, "") for name in library_suites()]
