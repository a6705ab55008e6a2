"""The replay world: what a record says happens again, and what it does not say is the world's fault."""

import asyncio
import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import worldloom as wl
from worldloom.cli.exporting import export_run
from worldloom.core.action import Action
from worldloom.core.errors import UsageError
from worldloom.core.scenario import Scenario
from worldloom.runs.context import Context
from worldloom.worlds.aaw.engines import options_of
from worldloom.worlds.aaw.recorded.world import ReplayWorld, build

LAMP: dict[str, Any] = {
    "type": "app",
    "name": "Lamp",
    "state": {"on": False, "level": 3},
    "actions": [
        {"name": "read", "description": "Read.", "parameters": {}, "returns": "NO STATE CHANGES."},
        {
            "name": "dim",
            "description": "Dim.",
            "parameters": {"level": {"type": "integer", "required": True}},
            "returns": "STATE CHANGES to lamp:\nlevel: {the level parameter}",
        },
    ],
}


def logged(number: int, action: str, arguments: Any, message: str, changes: Any, success: bool = True) -> Any:
    call = {"step": number, "entity_id": "lamp", "action": action, "arguments": arguments, "rationale": "why"}
    feedback = {"success": success, "message": message, "state_changes": changes, "new_observations": []}
    return {
        "step": number,
        "action": call,
        "feedback": {**feedback, "thought_process": "t"},
        "timestamp": "…",
    }


ENTRY: dict[str, Any] = {
    "scenario_id": "made",
    "category": "accessibility",
    "trajectory": {"steps": [], "selected_entities": ["lamp"], "overall_rationale": ""},
    "execution_log": [
        logged(1, "read", {}, '{"on":false}', {}),
        logged(2, "dim", {"level": 20}, "Out of range.", None, success=False),
        logged(3, "dim", {"level": 5}, "", {"lamp": {"level": 5, "glow": "warm"}}),
    ],
    "evaluation": {"scenario_id": "made", "pass_rate": 1.0},
    "duration_ms": 12,
    "timestamp": "2026-05-09T10:40:00",
}


def dim(level: Any) -> Action:
    return Action("lamp.dim", {"level": level})


MOVES = [Action("lamp.read"), dim(20), dim(5.0)]


@pytest.fixture
def scenario(scenario_of: Callable[..., Scenario]) -> Scenario:
    return scenario_of({"lamp": LAMP})


def written(tmp_path: Path, value: Any) -> str:
    file = tmp_path / "record.json"
    file.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return str(file)


def play(world: ReplayWorld, moves: list[Action]) -> tuple[Any, list[dict[str, Any]]]:
    async def steps() -> tuple[Any, list[dict[str, Any]]]:
        state, facts = world.initial(0), []
        for move in moves:
            done = await world.step(state, {"agent": move}, Context.null())
            state = done.state
            facts += [dict(fact) for fact in done.facts]
        return state, facts

    return asyncio.run(steps())


OTHERS = ({**ENTRY, "scenario_id": "x"}, {**ENTRY, "execution_log": []})


@pytest.mark.parametrize("content", [ENTRY, [ENTRY], [OTHERS[0], ENTRY, OTHERS[1]]])
def test_the_first_episode_of_the_scenario_is_played_back(
    scenario: Scenario, tmp_path: Path, content: Any
) -> None:
    world = build(scenario, options_of("replay", written(tmp_path, content)))
    state, facts = play(world, MOVES)
    assert [(fact["success"], fact["message"], fact["changes"]) for fact in facts] == [
        (True, '{"on":false}', {}),
        (False, "Out of range.", {}),
        (True, "", {"lamp": {"level": 5, "glow": "warm"}}),
    ]
    assert [fact["read_only"] for fact in facts] == [True, False, False]
    assert state.to_json() == {"lamp": {"on": False, "level": 5, "glow": "warm"}}
    assert world.initial(1).to_json() == {"lamp": {"on": False, "level": 3}}
    assert not any("fault" in fact for fact in facts)


@pytest.mark.parametrize(
    ("moves", "detail"),
    [
        ([dim(1)], 'step 1 differs from the record; recorded: lamp.read {}; found: lamp.dim {"level": 1}'),
        ([MOVES[0], dim(21)], 'recorded: lamp.dim {"level": 20}; found: lamp.dim {"level": 21}'),
        ([MOVES[0], dim(True)], 'found: lamp.dim {"level": true}'),
        ([*MOVES, MOVES[0]], "step 4 differs from the record; recorded: nothing, it ends before; found: lamp.read {}"),
        ([Action("sun.set")], "found: sun.set {}"),
    ],
)  # fmt: skip
def test_the_first_difference_is_the_worlds_fault_and_shown_side_by_side(
    scenario: Scenario, tmp_path: Path, moves: list[Action], detail: str
) -> None:
    world = build(scenario, options_of("replay", written(tmp_path, ENTRY)))
    before, _ = play(world, moves[:-1])
    state, facts = play(world, moves)
    assert detail in facts[-1]["fault"] and not facts[-1]["success"] and facts[-1]["changes"] == {}
    assert state.to_json() == before.to_json()


def changed(path: str, value: Any) -> Any:
    """The entry with another value, or without it, at a dotted path."""
    entry = copy.deepcopy(ENTRY)
    *way, last = path.split(".")
    inner: Any = entry
    for part in way:
        inner = inner[int(part) if part.isdigit() else part]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return entry


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", ":1:2: "),
        ("[NaN]", "NaN is no JSON number"),
        ('{"a": 1, "a": 2}', "the key 'a' stands twice"),
        ("[" * 100_000, "no JSON that can be used"),
        ('["\\ud800"]', "lone surrogate"),
        ("7", "the whole: found the number 7"),
        (changed("scenario_id", ...), "scenario_id: is missing"),
        (changed("execution_log", ...), "execution_log: is missing"),
        (changed("execution_log.1.feedback.success", "yes"), 'execution_log[1].feedback.success: found the text "yes"'),
        (changed("execution_log.1.feedback.message", ...), "execution_log[1].feedback.message: is missing"),
        (changed("execution_log.1.action.entity_id", 3), "execution_log[1].action.entity_id: found the number 3"),
        (changed("execution_log.1.action.arguments", []), "execution_log[1].action.arguments: found a list"),
        (changed("execution_log.2.feedback.state_changes", {"lamp": 1}), "state_changes.lamp: found the number 1"),
        ([ENTRY, changed("execution_log.0.action.action", ...)], "[1].execution_log[0].action.action: is missing"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_record_is_refused_by_name_and_place(
    tmp_path: Path, content: Any, said: str
) -> None:
    file = written(tmp_path, content)
    with pytest.raises(UsageError) as refused:
        options_of("replay", file)
    assert said in str(refused.value) and file in str(refused.value)


def test_a_missing_file_and_a_missing_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"needs its file, e\.g\. --world replay:record\.json"):
        options_of("replay", "")
    with pytest.raises(UsageError, match="there is no such file"):
        options_of("replay", str(tmp_path / "none.json"))
    with pytest.raises(UsageError, match="the world `model` takes no argument"):
        options_of("model", "x")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (changed("scenario_id", "mode"), "no episode of the scenario 'made', did you mean 'mode'?"),
        (changed("execution_log.2.feedback.state_changes", {"sun": {"up": 1}}), "step 3 of the record changes 'sun'"),
    ],
)  # fmt: skip
def test_a_record_of_another_scenario_is_refused(
    scenario: Scenario, tmp_path: Path, entry: Any, said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        build(scenario, options_of("replay", written(tmp_path, entry)))
    assert said in str(refused.value)


def test_the_options_hold_what_is_played_back_and_neither_the_files_name_nor_its_dates(
    tmp_path: Path,
) -> None:
    one = options_of("replay", written(tmp_path, ENTRY))
    other = tmp_path / "elsewhere.json"
    other.write_text(json.dumps([{**ENTRY, "timestamp": "later", "duration_ms": 99}], indent=2), "utf-8")
    assert options_of("replay", str(other)) == one
    assert one != options_of("replay", written(tmp_path, changed("execution_log.0.feedback.message", "x")))


def test_an_exported_run_is_played_back_with_the_same_scores(tmp_path: Path) -> None:
    file, runs = tmp_path / "record.json", tmp_path / "runs"
    first = wl.run(suite="starter", agent="careful", runs_dir=runs)
    export_run(str(first.folder), format="paper", output=file, scoring=None, place=None)
    second = wl.run(suite="starter", agent="careful", world=f"replay:{file}", runs_dir=runs)
    file.unlink()
    assert [one.problem for one in wl.replay(second.folder)] == [None] * len(second.episodes)
    for run in (first, second):
        assert {row.reason for row in run.episodes if row.cast_name == "careful"} == {"completed"}

    def scores(run: Any) -> Any:
        return [run.scores[row.row] for row in run.episodes if row.cast_name == "careful"]

    assert scores(first) == scores(second)
    assert {row.id for row in first.episodes}.isdisjoint(row.id for row in second.episodes)
