"""Forking: `fork`: play an episode again from one of its keys, with something changed, and see what became of it."""

from pathlib import Path

from worldloom.api import forking
from worldloom.api.plans.manifest import models_of
from worldloom.api.results.result import RunResult
from worldloom.cli.locating import find_run
from worldloom.cli.pulling import have_weights
from worldloom.cli.running import play
from worldloom.cli.terminal import cell, stdout, table
from worldloom.core.canonical import Json, parse
from worldloom.core.errors import UsageError
from worldloom.core.key import read_key
from worldloom.core.project import find_project
from worldloom.core.registry import Registry
from worldloom.core.scenario import load_scenario
from worldloom.runs.episode import STOPPED
from worldloom.runs.fork import TEXTS
from worldloom.runs.store import RunStore


def fork(
    name: str,
    *,
    episode: int,
    at: str,
    answer: str | None,
    scenario: Path | None,
    place: Path | None,
    as_json: bool,
) -> int:
    """Fork an episode and print parent and child side by side; returns the exit code.

    Raises:
        WorldloomError: there is no such run, episode or key, or the fork cannot be played.
    """
    folder = find_run(name, place)
    registry = Registry.discover(find_project(Path.cwd()))
    changed = None if scenario is None else load_scenario(scenario, registry)
    with RunStore(folder) as store:
        store.episode(episode)  # before its answer is read, or weights are fetched for it
        have_weights(models_of(store).values())
        before = RunResult.of(store)
        event = store.events(episode).get(read_key(at))
    value = answer if event is None or event.type in (*TEXTS, STOPPED) else _json(answer)
    return play(
        lambda watch: forking.fork(
            folder, registry, episode=episode, at=at, answer=value, scenario=changed, watch=watch
        ),
        as_json=as_json,
        first=lambda after: _print(before, episode, after),
    )


def _json(text: str | None) -> Json:
    try:
        return None if text is None else parse(text)
    except ValueError as wrong:
        raise UsageError(
            f"--answer {text!r} is no JSON: {wrong}; only a model and a person answer with plain text"
        ) from wrong


def _told(result: RunResult, number: int) -> dict[str, Json]:
    row = result.episodes[number]
    scores: dict[str, Json] = {score.name: score.value for score in result.scores.get(number, ())}
    return {"reason": row.reason or row.status, "steps": row.steps, **scores}


def _print(before: RunResult, episode: int, after: RunResult) -> None:
    parent, child = _told(before, episode), _told(after, 0)
    made = table("", "parent", "fork", right=("parent", "fork"))
    for name in dict.fromkeys([*parent, *child]):
        same = parent.get(name) == child.get(name)
        made.add_row(
            cell(name), cell(_shown(parent.get(name))), cell(_shown(child.get(name)), "" if same else "bold")
        )
    screen = stdout()
    screen.print(made)
    screen.print()


def _shown(value: Json) -> str | None:
    return None if value is None else f"{value:z.2f}" if isinstance(value, float) else str(value)
