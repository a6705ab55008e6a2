"""Forking: an episode of a stored run goes back to one of its keys and plays on live, with something changed."""

import shutil
from dataclasses import replace
from pathlib import Path

from worldloom.api.plans.manifest import plan_of
from worldloom.api.plans.plan import ForkSpec, Plan, refuse_secrets, text_of
from worldloom.api.plans.provenance import made_with
from worldloom.api.playing import Watch, new_folder, resume
from worldloom.api.results.result import RunResult
from worldloom.core.canonical import Json, digest
from worldloom.core.errors import Divergence, UsageError, offer
from worldloom.core.key import read_key, show_key
from worldloom.core.registry import Registry
from worldloom.core.scenario import Scenario
from worldloom.runs.fork import answered, give_past
from worldloom.runs.store import RunStore


async def fork(
    folder: Path,
    registry: Registry,
    *,
    episode: int,
    at: str,
    answer: Json = None,
    scenario: Scenario | None = None,
    watch: Watch | None = None,
) -> RunResult:
    """Play an episode again from a key on: its record up to there, then live, as a run of its own beside the parent.

    Args:
        episode: its number in the parent.
        at: key of an event, as `runs show` prints it.
        answer: what is put in place of the recorded answer at `at`; None leaves that to be asked anew.
        scenario: changed rules, state or texts; what was recorded below `at` must still follow from it.

    Raises:
        UsageError: there is no such run, episode or key, or the answer does not fit there; nothing has been written.
        Divergence: the change alters what was recorded before `at`.
    """
    with RunStore(folder) as parent:
        plan, row, events = plan_of(parent, registry), parent.episode(episode), parent.events(episode)
        key = read_key(at)
        if key not in events:
            keys = [show_key(known) for known in events]
            raise UsageError(f"episode {episode} has no event at {at}{offer(at, keys)}")
        override = None if answer is None else answered(events, key, answer)
        place = ForkSpec(
            folder.name,
            episode,
            at,
            None if answer is None else digest(answer),
            row.scenario,
            row.cast_name,
            row.seed,
            row.epoch,
        )
        child = _planned(plan, place, scenario)
        manifest = {
            **child.manifest(),
            "model_ids": parent.manifest("model_ids", dict),
            "judge_form": parent.manifest("judge_form", str),
            "made_with": made_with(registry),
        }
        texts = [text_of(one) for one in child.scenarios]
        store = RunStore.create(
            new_folder(folder.parent), manifest, [one for one, _, _ in child.entries()], texts
        )
        with store:
            give_past(store, parent, episode, key, override)
    try:
        return await resume(store.folder, registry, watch=watch)
    except Divergence as change:
        shutil.rmtree(store.folder)  # it holds nothing but a copy of the parent's past
        change.add_note(f"the change alters what happened before {at}: fork there, or change less")
        raise


def _planned(plan: Plan, place: ForkSpec, scenario: Scenario | None) -> Plan:
    scenarios = plan.scenarios
    if scenario is not None:
        if scenario.id != place.scenario:
            raise UsageError(
                f"{scenario.file} is the scenario {scenario.id!r}; allowed: {place.scenario!r}, changed"
            )
        refuse_secrets([scenario])
        scenarios = tuple(scenario if one.id == scenario.id else one for one in scenarios)
    title = f"fork of {place.run}, episode {place.episode} at {place.at}"
    child = replace(plan, scenarios=scenarios, title=title, fork=place)
    if not any(True for _ in child.entries()):
        raise UsageError(
            f"{place.cast_name} does not play the changed scenario: it has no such path any more"
        )
    return child
