"""Episode: what happened in one episode, event by event: who decided what, on which answer, and what came of it."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from worldloom.api.plans.manifest import prices_of
from worldloom.api.results.passes import scoring_of
from worldloom.cli.locating import find_run
from worldloom.cli.reports.cost import cost_line
from worldloom.cli.terminal import cell, put_json, say, stdout, table
from worldloom.core.key import show_key
from worldloom.runs.cost import cost_of
from worldloom.runs.rows import EpisodeRow, Score
from worldloom.runs.store import DEFAULT_SCORING, RunStore

_LONGEST = 400  # characters of one event that are shown; --json has all
_BLOCK = {"rows", "columns", "cells"}
_EVENTS = 500  # events that are shown, half of them the first ones; --json has all


def show_episode(name: str, number: int, *, scoring: str | None, place: Path | None, as_json: bool) -> None:
    """Print the record of one episode of a run.

    Raises:
        UsageError: the run has no episode of this number, or no such pass of scoring.
    """
    with RunStore(find_run(name, place)) as store:
        row = store.episode(number)
        events = [(show_key(key), event.type, event.body) for key, event in store.events(number).items()]
        cost = cost_of([row], prices_of(store))
        scores = store.scores(scoring_of(store, scoring or DEFAULT_SCORING).name).get(number, [])
    if as_json:
        shown = [{"key": key, "type": type, "body": body} for key, type, body in events]
        put_json({
            **asdict(row), "cost": cost.to_json(), "scores": [asdict(score) for score in scores],
            "events": shown,
        })  # fmt: skip
        return
    _print(row, events, scores, cost_line(cost))


def _print(
    row: EpisodeRow, events: list[tuple[str, str, dict[str, Any]]], scores: list[Score], cost: str | None
) -> None:
    screen = stdout()
    say(
        screen,
        f"episode {row.row}: {row.scenario}, {row.cast_name}, seed {row.seed}, epoch {row.epoch}",
        "bold",
    )
    made, left_out = table("key", "event", "what"), len(events) - _EVENTS
    for place, (key, type, body) in enumerate(events):
        if left_out > 0 and place == _EVENTS // 2:
            made.add_row(cell("…"), cell("…"), cell(f"{left_out:,} events are left out here; --json has all"))
        if left_out <= 0 or not 0 <= place - _EVENTS // 2 < left_out:
            made.add_row(cell(key), cell(type.partition(".")[0]), cell(_told(type, body)))
    screen.print(made)
    if any(body.keys() == _BLOCK for _, _, body in events):
        say(screen, "What these rows came to, in pictures: worldloom runs draw RUN --episode N")
    say(screen, f"Ended: {row.reason or row.status}" + (f": {row.detail}" if row.detail else ""))
    if cost is not None:
        say(screen, cost)
    if not scores:
        return
    made = table("score", "value", "how", "why", right=("value",))
    for score in scores:
        value = "unscored" if score.value is None else f"{score.value:z.2f}"
        made.add_row(cell(score.name), cell(value), cell(score.how), cell(score.detail or None))
    screen.print()
    screen.print(made)


def _told(type: str, body: Mapping[str, Any]) -> str:
    """An event in one paragraph: the text of an answer, else its fields."""
    answer = body.get("answer")
    if type == "model.1" and isinstance(answer, dict) and "text" in answer:
        told = f"{answer['text']} ({answer['finish_reason']})"
    elif body.keys() == _BLOCK:
        told = f"{body['rows']:,} rows of {', '.join(str(column['name']) for column in body['columns'])}"
    else:
        told = "; ".join(
            f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
            for name, value in body.items()
        )
    return told if len(told) <= _LONGEST else told[:_LONGEST] + "…"
