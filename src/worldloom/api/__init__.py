"""The Python API: what `import worldloom as wl` hands out.

    result = wl.run(["my_scenario.yaml"], model="hosted_vllm/Qwen/Qwen3-8B", base_url="http://127.0.0.1:8000/v1")

`run`, `resume` and `replay` start an event loop of their own; inside one that runs already, `await` the functions of
`worldloom.api.playing`.
"""

import asyncio
import os
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from worldloom.agents.agent import Agent
from worldloom.api import forking, playing
from worldloom.api.cast import (
    A_MODEL,
    CastSpec,
    WorldSpec,
    called,
    cast_of,
    is_small,
    model_of,
    seat_of,
    world_of,
)
from worldloom.api.planning import Plan, config_of, refuse_secrets
from worldloom.api.result import RunResult
from worldloom.core import scenario as scenarios_module
from worldloom.core.arguments import PathLike, path_of, paths_of, text, whole
from worldloom.core.canonical import Json
from worldloom.core.errors import UsageError
from worldloom.core.project import Project, find_project
from worldloom.core.registry import RULES, Registry
from worldloom.core.scenario import Scenario, Seat
from worldloom.core.suite import library_suite, load_scenarios
from worldloom.graphs.config import GraphConfig
from worldloom.runs.limits import Limits

T = TypeVar("T")
STARTER = "starter"
SHORT_STEPS = 10
"""Steps of the suite `starter`, and wherever the small embedded model plays: it never says that it is done."""
_URL = "an address, e.g. http://127.0.0.1:8000/v1"
_TEXTS = {
    "agent": "the name of an agent, e.g. careful",
    "model": A_MODEL,
    "base_url": _URL,
    "world": "rules, model or replay:FILE",
    "world_model": A_MODEL,
    "world_base_url": _URL,
    "judge": A_MODEL,
    "judge_base_url": _URL,
}
"""What is allowed where a text is wanted."""


def load_scenario(path: PathLike, *, registry: Registry | None = None) -> Scenario:
    """Read a scenario file.

    Raises:
        DocumentError: it has problems; each is given with file, line and column.
    """
    return scenarios_module.load_scenario(
        path_of(path), registry or Registry.discover(find_project(Path.cwd()))
    )


def load_suite(name: str, *, registry: Registry | None = None) -> tuple[Scenario, ...]:
    """The scenarios of a suite that comes with worldloom, by name.

    Raises:
        UsageError: there is no such suite.
    """
    return load_scenarios(library_suite(name), registry or Registry.discover(find_project(Path.cwd())))


def plan(
    paths: PathLike | Sequence[PathLike] = (),
    *,
    suite: str | None = None,
    agent: str | None = None,
    model: str | None = None,
    base_url: str | None = None,
    epochs: int = 1,
    seed: int = 0,
    max_steps: int | None = None,
    limits: Limits | None = None,
    world: str = RULES,
    world_model: str | None = None,
    world_base_url: str | None = None,
    judge: str | None = None,
    judge_base_url: str | None = None,
    project: Project | None = None,
    registry: Registry | None = None,
) -> Plan:
    """What a run with these settings would play; see `run`."""
    registry = registry or Registry.discover(project)
    given = {
        "agent": agent, "model": model, "base_url": base_url, "world_model": world_model,
        "world_base_url": world_base_url, "judge": judge, "judge_base_url": judge_base_url,
    }  # fmt: skip
    _check_texts({"world": world, **given})
    epochs = whole("epochs", epochs, 1)
    seed = whole("seed", seed, 0, 2**63 - epochs)
    files = paths_of(paths)
    if suite is not None and files:
        raise UsageError("name files or a suite, not both")
    suite = STARTER if suite is None and not files else suite
    found = load_scenarios(files if suite is None else library_suite(suite), registry)
    refuse_secrets(found)
    entries = project.models if project else {}
    seat = seat_of(found) if agent is None else Seat(agent=agent)
    player = model_of(entries.get("agent"), seat.model if model is None else model, base_url)
    contestant = cast_of(seat.agent, player, registry)
    simulator = model_of(entries.get("world"), world_model, world_base_url)
    short = suite == STARTER or any(is_small(spec) for spec in contestant.models.values())
    planned = Plan(
        found,
        contestant,
        epochs,
        seed,
        _limits(limits, max_steps, SHORT_STEPS if short else Limits().steps),
        suite or ", ".join(str(path) for path in files),
        world_of(world, simulator, [one.kind for one in found], registry),
        model_of(entries.get("judge"), judge, judge_base_url) if judge or "judge" in entries else None,
    )
    return _without_unused(planned, given)


def _check_texts(given: Mapping[str, object]) -> None:
    """Raise `UsageError` for what is no text, or blank; all but the world may be left out."""
    for name, value in given.items():
        if value is not None or name == "world":
            text(name, value, _TEXTS[name])


def _limits(limits: Limits | None, max_steps: int | None, usual_steps: int) -> Limits:
    """The limits of each episode, of which `max_steps` says the steps if it is given."""
    if limits is not None and not isinstance(limits, Limits):
        raise UsageError(f"limits is {limits!r}; allowed: worldloom.Limits(…)")
    limits = limits or Limits(steps=usual_steps)
    return limits if max_steps is None else replace(limits, steps=whole("max_steps", max_steps, 1))


def _without_unused(plan: Plan, given: Mapping[str, str | None]) -> Plan:
    """The plan, if nothing was given that names a model, or where it is served, and the plan asks none there.

    What the environment says as well, as in `WORLDLOOM_MODEL` for `model`, was said of all runs: this one may have no
    use for it. The same goes for the project file, which is not in `given`.

    Raises:
        UsageError: something would be ignored.
    """
    asked = (
        (plan.contestant.models, f"the agent {plan.contestant.agent!r} asks no model", "the agent llm"),
        (plan.world.models, f"the world {plan.world.engine!r} asks no model", "the world model"),
        (plan.judge, "there is no judge", "a judge"),
    )
    names = (("model", "base_url"), ("world_model", "world_base_url"), ("judge_base_url",))
    for (used, why, needed), each in zip(asked, names, strict=True):
        for name in each if not used else ():
            if given[name] not in (None, os.environ.get(f"WORLDLOOM_{name.upper()}")):
                raise UsageError(f"{name} is given, but {why}; allowed: only with {needed}")
    return plan


def run(
    paths: PathLike | Sequence[PathLike] = (),
    *,
    suite: str | None = None,
    agent: str | None = None,
    model: str | None = None,
    base_url: str | None = None,
    epochs: int = 1,
    seed: int = 0,
    concurrency: int = 8,
    max_steps: int | None = None,
    limits: Limits | None = None,
    world: str = RULES,
    world_model: str | None = None,
    world_base_url: str | None = None,
    judge: str | None = None,
    judge_base_url: str | None = None,
    runs_dir: PathLike | None = None,
) -> RunResult:
    """Play scenarios and record what happened.

    Args:
        paths: scenario files, folders of them, or suite files; none for the suite `starter`.
        suite: a suite of the library, by name, instead of paths.
        agent: name of an agent's room, with an argument after a colon where it takes one; without one, that of the
            scenarios' `cast`, else `llm`.
        model: model string of the agent `llm`; without one, that of `worldloom.yaml`, else `embedded`.
        base_url: root of the OpenAI-compatible server that serves it.
        epochs: how often each scenario is played; epoch e has seed `seed + e`.
        concurrency: episodes at a time.
        max_steps: limit on the actions of an episode.
        limits: further limits; a scenario's own are stricter where both say something.
        world: what simulates the worlds: `rules`, `model`, or `replay:FILE`.
        world_model: model string of the world `model`; without one, that of `worldloom.yaml`, else `embedded`.
        world_base_url: as `base_url`, for the world's model.
        judge: model string of the judge of what cannot be checked; without one, that of `worldloom.yaml`, else nobody.
        judge_base_url: as `base_url`, for the judge.
        runs_dir: folder for the record; default `runs`.

    Raises:
        UsageError: something given cannot be used, or would be ignored; nothing has been written.
        RecordError: the record cannot be written.
    """
    project = find_project(Path.cwd())
    registry = Registry.discover(project)
    wanted = plan(
        paths, suite=suite, agent=agent, model=model, base_url=base_url, epochs=epochs, seed=seed,
        max_steps=max_steps, limits=limits, world=world, world_model=world_model, world_base_url=world_base_url,
        judge=judge, judge_base_url=judge_base_url, project=project, registry=registry,
    )  # fmt: skip
    place = path_of(runs_dir) if runs_dir is not None else runs_folder(project)
    return _in_new_loop(playing.start(wanted, registry, runs_dir=place, concurrency=concurrency))


def resume(folder: PathLike, *, concurrency: int = 8) -> RunResult:
    """Play on what a run has left after a crash or an interrupt; ended episodes are not touched."""
    registry = Registry.discover(find_project(Path.cwd()))
    return _in_new_loop(playing.resume(path_of(folder), registry, concurrency=concurrency))


def fork(
    folder: PathLike,
    *,
    episode: int,
    at: str,
    answer: Json = None,
    scenario: Scenario | PathLike | None = None,
) -> RunResult:
    """Play an episode of a run again from one of its keys: its record up to there, then live, as a run of its own.

    Args:
        folder: the run.
        episode: number of the episode.
        at: key of an event, as `worldloom runs show RUN --episode N` prints it.
        answer: what a model (text) or a tool (JSON) is to have answered there; None asks anew.
        scenario: the episode's scenario with other rules, state or texts.

    Raises:
        UsageError: there is no such episode or key, or the answer does not fit there; nothing has been written.
        Divergence: the change alters what was recorded before `at`.
    """
    registry = Registry.discover(find_project(Path.cwd()))
    if scenario is not None and not isinstance(scenario, Scenario):
        scenario = load_scenario(scenario, registry=registry)
    episode = whole("episode", episode, 0)
    work = forking.fork(path_of(folder), registry, episode=episode, at=at, answer=answer, scenario=scenario)
    return _in_new_loop(work)


def replay(folder: PathLike, *, concurrency: int = 8) -> list[playing.Replayed]:
    """Play a run again from its record alone; each entry says whether its episode was reproduced byte for byte."""
    registry = Registry.discover(find_project(Path.cwd()))
    return _in_new_loop(playing.replay(path_of(folder), registry, concurrency=concurrency))


def build_graph(name: str, scenario: Scenario | PathLike, agent: str | Agent = "llm") -> Any:
    """The LangGraph state machine of a system, compiled; an ordinary graph that can be invoked or embedded.

    Args:
        name: the graph's room, e.g. `aaw`.
        scenario: what is played.
        agent: who plays: the name of an agent's room, or any object with `async act(memo, view, ctx)`.

    Invoke it with `await graph.ainvoke({}, context=Context.null(models={"agent": model}))`.
    """
    registry = Registry.discover(find_project(Path.cwd()))
    if not isinstance(scenario, Scenario):
        scenario = load_scenario(scenario, registry=registry)
    factory = called(registry.get("graph", name).load())
    if isinstance(agent, str):
        who, _, argument = agent.partition(":")
        return factory(config_of(scenario, CastSpec(who, argument), registry))
    return factory(GraphConfig(scenario, WorldSpec().build(scenario, registry), {"agent": agent}))


def runs_folder(project: Project | None) -> Path:
    """Where records go if nobody says: the project's `runs_dir`, else `runs` here."""
    return project.runs_dir if project and project.runs_dir else Path("runs")


def _in_new_loop(work: Coroutine[Any, Any, T]) -> T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    work.close()
    raise UsageError("an event loop is running already: await the functions of worldloom.api.playing instead")
