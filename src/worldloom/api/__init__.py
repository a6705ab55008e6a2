"""The Python API: what `import worldloom as wl` hands out.

    result = wl.run(["my_scenario.yaml"], model="hosted_vllm/Qwen/Qwen3-8B", base_url="http://127.0.0.1:8000/v1")

`run`, `resume` and `replay` start an event loop of their own; inside one that runs already, `await` the functions of
`worldloom.api.playing`.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from worldloom.agents.agent import Agent
from worldloom.api import asking, forking, playing, replaying, rescoring
from worldloom.api.plans.cast import CastSpec, WorldSpec, called
from worldloom.api.plans.plan import config_of
from worldloom.api.plans.request import check_texts
from worldloom.api.plans.request import plan as plan
from worldloom.api.results.result import RunResult
from worldloom.core import scenario as scenarios_module
from worldloom.core.arguments import PathLike, path_of, whole
from worldloom.core.canonical import Json
from worldloom.core.errors import UsageError
from worldloom.core.project import Project, find_project
from worldloom.core.registry import RULES, Registry
from worldloom.core.scenario import Scenario
from worldloom.core.suite import library_suite, load_scenarios
from worldloom.graphs.config import GraphConfig
from worldloom.runs.limits import Limits, RunLimits
from worldloom.runs.questions import Question
from worldloom.runs.redact import redactor
from worldloom.runs.store import DEFAULT_SCORING
from worldloom.runs.verification import Verification, Verified

T = TypeVar("T")


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
    run_limits: RunLimits | None = None,
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
        run_limits: what the whole run may use; with that used up it stops with status `run_limit`, and `resume` goes on
            with it.
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
    work = playing.start(wanted, registry, runs_dir=place, concurrency=concurrency, run_limits=run_limits)
    return in_new_loop(work)


def resume(
    folder: PathLike,
    *,
    concurrency: int = 8,
    accept_changes: bool = False,
    retry_failed: bool = False,
    run_limits: RunLimits | None = None,
) -> RunResult:
    """Play on what a run has left after a crash, a stop or a question; what has ended is not touched.

    Args:
        accept_changes: go on although code, versions or models are not those of the run. That is recorded, and episodes
            that were begun begin anew.
        retry_failed: go on as well with episodes that ended by a fault of the infrastructure, from what failed on.
        run_limits: what this call may use, whatever earlier ones used.

    Raises:
        UsageError: there is no such run, or something else than it was made with would go on with it.
        RecordError: the record cannot be written, or an episode diverges from it.
    """
    registry = Registry.discover(find_project(Path.cwd()))
    work = playing.resume(
        path_of(folder),
        registry,
        concurrency=concurrency,
        accept_changes=accept_changes,
        retry_failed=retry_failed,
        run_limits=run_limits,
    )
    return in_new_loop(work)


def questions(folder: PathLike) -> list[Question]:
    """What the waiting episodes of a run ask people, answered meanwhile or not."""
    return asking.open_questions(path_of(folder))


def answer(folder: PathLike, text: str, *, episode: int | None = None, at: str | None = None) -> Question:
    """Answer a question of a run; `resume` then goes on with the episode that asked it.

    Args:
        episode, at: which question, as `questions` tells; may be left out if only one can be meant.

    Raises:
        UsageError: no question or several are meant, or the answer is none of its choices.
        RecordError: the answer cannot be written.
    """
    return asking.answer(path_of(folder), text, episode=episode, at=at)


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
    return in_new_loop(work)


def replay(folder: PathLike, *, concurrency: int = 8) -> list[replaying.Replayed]:
    """Play a run again from its record alone; each entry says whether its episode was reproduced byte for byte."""
    registry = Registry.discover(find_project(Path.cwd()))
    return in_new_loop(replaying.replay(path_of(folder), registry, concurrency=concurrency))


def verify_effects(folder: PathLike, *, concurrency: int = 8) -> list[Verified]:
    """Replay a run and ask its models, and the tools that may be asked again, what is on record.

    Returns:
        How often each said the same, with an interval. It is a statistic and says nothing about the replay.

    Raises:
        UsageError: another model than that of the run would be asked, or one does not answer.
    """
    registry, verification = Registry.discover(find_project(Path.cwd())), Verification(redactor())
    work = replaying.replay(path_of(folder), registry, concurrency=concurrency, verification=verification)
    in_new_loop(work)
    return verification.found()


def rescore(
    folder: PathLike,
    *,
    judge: str | None = None,
    judge_base_url: str | None = None,
    name: str | None = None,
    against: str = DEFAULT_SCORING,
    concurrency: int = 8,
) -> rescoring.Rescored:
    """Score the ended episodes of a run again, with the present scorers, and compare with an older pass of scoring.

    Nothing but the new pass changes in the run. The same call goes on with a pass that was cut short.

    Args:
        folder: the run.
        judge: model string of the judge of what cannot be checked; without one, only checks are made.
        judge_base_url: root of the server that serves it.
        name: of the new pass; by default that of the judge's model, or `checks`.
        against: the pass to compare with.
        concurrency: episodes at a time.

    Raises:
        UsageError: something given cannot be used, or the name is that of a pass by another judge or other code.
        RecordError: the record cannot be read or written.
    """
    check_texts({"world": RULES, "judge": judge, "judge_base_url": judge_base_url})
    project = find_project(Path.cwd())
    who = rescoring.judge_given(project, judge, judge_base_url)
    work = rescoring.rescore(
        path_of(folder), Registry.discover(project), who, name=name, against=against, concurrency=concurrency
    )
    return in_new_loop(work)


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


def in_new_loop(work: Coroutine[Any, Any, T]) -> T:
    """What `work` comes to, on an event loop of its own.

    Raises:
        UsageError: a loop is running already.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    work.close()
    raise UsageError("an event loop is running already: await the functions of worldloom.api.playing instead")
