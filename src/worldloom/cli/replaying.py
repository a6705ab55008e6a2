"""Replaying: `replay`: is every episode of a run reproduced from its record, byte for byte?"""

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Any

from worldloom.api import replaying
from worldloom.api.plans.manifest import models_of
from worldloom.api.plans.provenance import changes, made_with, makings
from worldloom.api.replaying import Replayed
from worldloom.cli.boundary import FAILED
from worldloom.cli.locating import find_run
from worldloom.cli.pulling import have_weights
from worldloom.cli.terminal import cell, counted, near, put_json, say, stderr, stdout, table, with_interval
from worldloom.core.project import find_project
from worldloom.core.registry import Registry
from worldloom.runs.redact import redactor
from worldloom.runs.store import RunStore
from worldloom.runs.verification import Verification, Verified

_FINDINGS = 10  # printed in full; all are in the JSON
_EVERY, _EVERY_ASKED = 1_000, 10  # episodes between two lines of progress; the second where models are asked


def replay(name: str, *, concurrency: int, verify_effects: bool, place: Path | None, as_json: bool) -> int:
    """Replay a run; returns the exit code: 0 if all that ended was reproduced.

    Args:
        verify_effects: ask models, and tools that may be asked again, what is on record, and show how often they say
            the same. That is a statistic and decides nothing.

    Raises:
        WorldloomError: there is no such run, or it cannot be read.
    """
    folder = find_run(name, place)
    registry = Registry.discover(find_project(Path.cwd()))
    screen, seen = stderr(), 0

    def count(one: Replayed) -> None:
        nonlocal seen
        seen += 1
        if seen % (_EVERY_ASKED if verify_effects else _EVERY) == 0:
            say(screen, f"{seen:,} episodes replayed")

    verification = Verification(redactor()) if verify_effects else None
    with RunStore(folder) as store:
        made = makings(store)
        if verify_effects:
            have_weights(models_of(store).values())
    work = replaying.replay(folder, registry, concurrency=concurrency, verification=verification, seen=count)
    found = asyncio.run(work)
    findings = [one for one in found if one.problem is not None]
    now, then = made_with(registry), {one.episode.making for one in findings or found}
    changed = list(
        dict.fromkeys(one for making in sorted(then) for one in changes(made[making].made_with, now))
    )
    verified = None if verification is None else verification.found()
    if as_json:
        put_json(
            {
                "run": str(folder),
                "replayed": len(found),
                "reproduced": len(found) - len(findings),
                "findings": [_to_json(one) for one in findings],
                "changed_since": changed,
                "verified": None if verified is None else [asdict(one) for one in verified],
            }
        )
    else:
        _print(folder, found, findings)
        if findings:
            _explain(changed)
        if verified is not None:
            _verified(verified)
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


def _verified(found: list[Verified]) -> None:
    """How often the outside said again what is on record."""
    screen = stdout()
    if not found:
        say(screen, "There is nothing on record that could be asked again.")
        return
    made = table(
        "asked again", "answers", "the same", "no answer", "differs first at", right=("answers", "the same")
    )
    for one in found:
        rate = one.same
        share = with_interval(rate.value, rate.low, rate.high)
        rest = (cell(one.silent), cell(", ".join(one.examples) or None))
        made.add_row(cell(one.what), cell(rate.n), share, *rest)
    screen.print(made)
    say(
        screen,
        "The same: share of answers in which all but the count of tokens was as on record, with a 95 % interval by "
        "scenario. A replay does not need it: it uses the record.",
    )


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
            f"{len(findings):,} of {counted('episode', len(found))} not reproduced: {near(folder)}",
            "red",
            wrap=False,
        )
    else:
        say(
            screen,
            f"{len(found):,} of {counted('episode', len(found))} reproduced byte for byte: {near(folder)}",
            "green",
            wrap=False,
        )
