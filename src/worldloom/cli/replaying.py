"""Replaying: `replay`: is every episode of a run reproduced from its record, byte for byte?"""

import asyncio
from pathlib import Path
from typing import Any

from worldloom.api import playing
from worldloom.api.playing import Replayed
from worldloom.api.provenance import changes
from worldloom.cli.boundary import FAILED
from worldloom.cli.locating import find_run
from worldloom.cli.terminal import near, put_json, say, stderr, stdout
from worldloom.core.project import find_project
from worldloom.core.registry import Registry
from worldloom.runs.store import RunStore

_FINDINGS = 10  # printed in full; all are in the JSON
_EVERY = 1_000  # episodes between two lines of progress


def replay(name: str, *, concurrency: int, place: Path | None, as_json: bool) -> int:
    """Replay a run; returns the exit code: 0 if all that ended was reproduced.

    Raises:
        WorldloomError: there is no such run, or it cannot be read.
    """
    folder = find_run(name, place)
    registry = Registry.discover(find_project(Path.cwd()))
    screen, seen = stderr(), 0

    def count(one: Replayed) -> None:
        nonlocal seen
        seen += 1
        if seen % _EVERY == 0:
            say(screen, f"{seen:,} episodes replayed")

    found = asyncio.run(playing.replay(folder, registry, concurrency=concurrency, seen=count))
    findings = [one for one in found if one.problem is not None]
    with RunStore(folder) as store:
        changed = changes(store.manifest("made_with", dict))
    if as_json:
        put_json(
            {
                "run": str(folder),
                "replayed": len(found),
                "reproduced": len(found) - len(findings),
                "findings": [_to_json(one) for one in findings],
                "changed_since": changed,
            }
        )
    else:
        _print(folder, found, findings)
        if findings:
            _explain(changed)
    return FAILED if findings else 0


def _explain(changed: list[str]) -> None:
    """Say what is different from when the run was made, which is where a cause is to be sought first."""
    screen = stdout()
    if not changed:
        say(
            screen,
            "Neither code nor versions have changed since the run was made: its record was, or something in it is no "
            "function of what is recorded.",
        )
        return
    say(screen, "Since the run was made these have changed:")
    for one in changed:
        say(screen, f"  {one}", wrap=False)


def _to_json(one: Replayed) -> dict[str, Any]:
    row = one.episode
    return {
        "episode": row.row,
        "scenario": row.scenario,
        "cast": row.cast_name,
        "seed": row.seed,
        "problem": one.problem,
    }


def _print(folder: Path, found: list[Replayed], findings: list[Replayed]) -> None:
    screen = stdout()
    for one in findings[:_FINDINGS]:
        row = one.episode
        say(
            screen,
            f"episode {row.row}: {row.scenario}, {row.cast_name}, seed {row.seed}",
            "bold red",
            wrap=False,
        )
        say(screen, str(one.problem), wrap=False)
    if len(findings) > _FINDINGS:
        say(screen, f"… and {len(findings) - _FINDINGS:,} more; --json shows all")
    if not found:
        say(screen, f"Nothing to replay: no episode of {near(folder)} has ended.", wrap=False)
    elif findings:
        say(
            screen,
            f"{len(findings):,} of {len(found):,} episodes are not reproduced: {near(folder)}",
            "red",
            wrap=False,
        )
    else:
        say(
            screen,
            f"All {len(found):,} episodes are reproduced byte for byte: {near(folder)}",
            "green",
            wrap=False,
        )
