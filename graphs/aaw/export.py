"""The paper's record of a run, as published with Implicit Intelligence (arXiv 2602.20424)."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from worldloom.core.event import Event
from worldloom.core.scenario import Scenario
from worldloom.runs.rows import EpisodeRow, Score


def paper_record(
    episode: EpisodeRow, events: Sequence[Event], scores: Sequence[Score], scenario: Scenario
) -> dict[str, Any]:
    """One entry of the published list.

    Args:
        episode: the projection of an ended episode.
        events: its events in key order.
        scores: its scores.

    Returns:
        A JSON object; durations in milliseconds, timestamps in ISO 8601, UTC. A step at which the model gave no
        usable reply has no action and is left out, so step numbers are those of actions.
    """
    decided = [event.body for event in events if event.type == "decided.1"]
    acted = [body for body in decided if body["action"] is not None]
    stepped = [event.body for event in events if event.type == "stepped.1"]
    when = _iso(episode.started_at)
    steps, log = [], []
    # An episode that was stopped may hold one decision more than the world has answered.
    for number, (decision, step) in enumerate(zip(acted, stepped, strict=False), start=1):
        entity_id, _, action = step["action"].partition(".")
        call = {"step": number, "entity_id": entity_id, "action": action, "arguments": step["arguments"]}
        steps.append({**call, "rationale": decision["rationale"]})
        log.append({"step": number, "action": steps[-1], "feedback": _feedback(step), "timestamp": when})
    entities = list(dict.fromkeys(step["entity_id"] for step in steps))
    return {
        "scenario_id": episode.scenario,
        "category": episode.category,
        "trajectory": {
            "steps": steps,
            "selected_entities": entities,
            "overall_rationale": decided[-1]["rationale"] if decided else "",
        },
        "execution_log": log,
        "evaluation": _evaluation(episode, scores, scenario),
        "duration_ms": round((episode.seconds or 0.0) * 1000),
        "timestamp": when,
    }


def _feedback(step: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "success": step["success"],
        "message": step["message"],
        "state_changes": step["changes"],
        "new_observations": [],
        "thought_process": "",
    }


def _evaluation(episode: EpisodeRow, scores: Sequence[Score], scenario: Scenario) -> dict[str, Any]:
    criteria = [score for score in scores if score.is_criterion]
    judged = [score for score in criteria if score.value is not None]
    passed = sum(1 for score in judged if score.value == 1.0)
    conditions = {
        one.criterion: one.pass_condition or one.check for one in scenario.evaluation_rubric.reveal()
    }
    results = [
        {
            "criterion": score.name,
            "pass_condition": conditions.get(score.name),
            "passed": None if score.value is None else score.value == 1.0,
            "reasoning": score.detail,
        }
        for score in criteria
    ]
    return {
        "scenario_id": episode.scenario,
        "passed_criteria_count": passed,
        "total_criteria": len(judged),
        "feedback": f"The episode ended: {episode.reason}.",
        "pass_rate": passed / len(judged) if judged else None,
        "detailed_metrics": {"evaluation_results": results},
    }


def _iso(seconds: float | None) -> str | None:
    return (
        None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    )
