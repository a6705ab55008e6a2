"""Wanted: what somebody asks for, by names and numbers, as the plan of a run; nothing given may go without effect."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from worldloom.api.plans.cast import A_MODEL, contestant_of, is_small, model_of, world_of
from worldloom.api.plans.plan import Plan, refuse_secrets
from worldloom.api.plans.pricing import prices_for
from worldloom.core.arguments import PathLike, paths_of, shown, text, whole
from worldloom.core.errors import UsageError
from worldloom.core.project import Project
from worldloom.core.registry import RULES, Registry
from worldloom.core.scenario import Scenario
from worldloom.core.study import MAX_EPISODES
from worldloom.core.suite import library_suite, load_scenarios
from worldloom.runs.limits import Limits

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
    scenarios: Sequence[Scenario] = (),
    project: Project | None = None,
    registry: Registry | None = None,
) -> Plan:
    """What a run with these settings would play; see `run`. Scenarios that are read already take the place of paths."""
    registry = registry or Registry.discover(project)
    given = {
        "agent": agent, "model": model, "base_url": base_url, "world_model": world_model,
        "world_base_url": world_base_url, "judge": judge, "judge_base_url": judge_base_url,
    }  # fmt: skip
    check_texts({"world": world, **given})
    epochs = whole("epochs", epochs, 1, MAX_EPISODES)
    seed = whole("seed", seed, 0, 2**63 - epochs)
    files = paths_of(paths)
    if suite is not None and files:
        raise UsageError("name files or a suite, not both")
    suite = STARTER if suite is None and not files and not scenarios else suite
    found = tuple(scenarios) or load_scenarios(files if suite is None else library_suite(suite), registry)
    refuse_many("epochs", epochs, found)
    refuse_secrets(found)
    entries = project.models if project else {}
    contestant = contestant_of(found, agent, model, base_url, entries.get("agent"), registry)
    simulator = model_of(entries.get("world"), world_model, world_base_url)
    short = suite == STARTER or any(is_small(spec) for spec in contestant.models.values())
    planned = Plan(
        found,
        contestant,
        epochs,
        seed,
        _limits(limits, max_steps, _usual_steps(found, short)),
        suite or _title(files),
        world_of(world, simulator, [one.kind for one in found], registry),
        model_of(entries.get("judge"), judge, judge_base_url) if judge or "judge" in entries else None,
    )
    return _without_unused(replace(planned, prices=prices_for(project, planned.models)), given)


def refuse_many(name: str, each: int, scenarios: Sequence[Scenario]) -> None:
    """Raise `UsageError` for more episodes than a run may have; `name` is what says how many `each` scenario gets."""
    if each * len(scenarios) > MAX_EPISODES:
        played = f"{len(scenarios):,} scenario{'s' if len(scenarios) > 1 else ''}"
        raise UsageError(
            f"{name} is {shown(each)} for {played}; allowed: at most {MAX_EPISODES:,} episodes, of all together"
        )


def _usual_steps(scenarios: Sequence[Scenario], short: bool) -> int:
    """The limit on steps if nobody names one: none but their own for worlds that come to an end by themselves."""
    ends = [one.body.steps for one in scenarios]
    if all(ends):
        return max(end for end in ends if end is not None)
    return SHORT_STEPS if short else Limits().steps


def _title(files: Sequence[Path]) -> str:
    """What is run, for people, if it has no name."""
    others = f" and {len(files) - 3:,} others" if len(files) > 3 else ""
    return ", ".join(str(path) for path in files[:3]) + others


def check_texts(given: Mapping[str, object]) -> None:
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
