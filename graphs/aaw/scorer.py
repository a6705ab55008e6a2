"""Scorer of kind aaw: the rubric over the finished record.

Metrics of an episode, as published: SPR is 1 if all criteria pass, NSS the share that passes. A criterion that cannot
be judged is left out of both and counted; if no judged criterion failed, SPR is then unknown. Ours: the exploration
ratio, read-only actions before the first successful write over all actions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from worldloom.core.canonical import Json
from worldloom.core.scenario import Scenario
from worldloom.graphs.config import GraphConfig
from worldloom.runs.scorer import EpisodeRecord
from worldloom.runs.store import Score
from worldloom.worlds.aaw.body import AawBody
from worldloom.worlds.aaw.checks import Verdict, compile_rubric


class AawScorer:
    """Scores the episodes of one scenario."""

    def __init__(self, config: GraphConfig) -> None:
        self._scenario = config.scenario
        self._rubric = compile_rubric(config.scenario)

    def score(self, record: EpisodeRecord) -> list[Score]:
        """SPR, NSS, explore, then one score per criterion."""
        steps = [event.body for event in record.of_type("stepped.1")]
        state, context = final_state(self._scenario, steps), _body(self._scenario).context
        verdicts = [criterion.evaluate(state, context, steps) for criterion in self._rubric]
        criteria = [
            Score(criterion.criterion, _number(verdict.passed), 1, "criterion", verdict.how, verdict.why)
            for criterion, verdict in zip(self._rubric, verdicts, strict=True)
        ]
        return [*_metrics(verdicts), _explore(steps), *criteria]


def final_state(scenario: Scenario, steps: Sequence[Mapping[str, Any]]) -> dict[str, Json]:
    """Entity -> property -> value after `steps`, each the body of a `stepped.1` event."""
    state: dict[str, Json] = {
        entity_id: dict(entity.state.reveal()) for entity_id, entity in _body(scenario).entities.items()
    }
    for step in steps:
        for entity_id, changes in step["changes"].items():
            entity = state[entity_id]
            assert isinstance(entity, dict)
            entity.update(changes)
    return state


def _metrics(verdicts: Sequence[Verdict]) -> list[Score]:
    judged = [verdict.passed for verdict in verdicts if verdict.passed is not None]
    missing = len(verdicts) - len(judged)
    note = f"{missing} of {len(verdicts)} criteria unscored" if missing else ""
    if not judged:
        return [Score(name, None, 0, "share", "rubric", note) for name in ("SPR", "NSS")]
    all_passed = None if missing and all(judged) else _number(all(judged))
    share = sum(judged) / len(judged)
    return [
        Score("SPR", all_passed, len(judged), "share", "rubric", note),
        Score("NSS", share, len(judged), "share", "rubric", note),
    ]


def _explore(steps: Sequence[Mapping[str, Any]]) -> Score:
    first_write = next(
        (place for place, step in enumerate(steps) if step["success"] and not step["read_only"]), len(steps)
    )
    reads = sum(1 for step in steps[:first_write] if step["read_only"])
    return Score("explore", reads / len(steps) if steps else None, len(steps), "share", "record")


def _number(passed: bool | None) -> float | None:
    return None if passed is None else float(passed)


def _body(scenario: Scenario) -> AawBody:
    body = scenario.body
    assert isinstance(body, AawBody), "the registry gives scenarios of kind aaw this body"
    return body
