"""Scorer of kind aaw: the rubric over the finished record.

Metrics of an episode, as published: SPR is 1 if all criteria pass, NSS the share that passes. A criterion that cannot
be judged is left out of both and counted; if no judged criterion failed, SPR is then unknown. Ours: the exploration
ratio, read-only actions before the first successful write over all actions.

What can be computed is computed. A judge, if the run has one, is asked about the other criteria only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from worldloom.core.canonical import Json
from worldloom.core.errors import UsageError
from worldloom.core.frozen import thaw
from worldloom.core.scenario import Scenario
from worldloom.graphs.aaw.judge import Evidence, Judge, Question, form
from worldloom.graphs.config import GraphConfig
from worldloom.runs.context import Context
from worldloom.runs.rows import Score
from worldloom.runs.scorer import EpisodeRecord
from worldloom.worlds.aaw.body import body_of
from worldloom.worlds.aaw.checks import compile_rubric


class AawScorer:
    """Scores the episodes of one scenario."""

    judge_form = staticmethod(form)
    about: ClassVar[Mapping[str, str]] = {
        "SPR": "share of scenarios in which all criteria passed",
        "NSS": "share of criteria that passed, those included that hold if nothing is done",
        "explore": "share of steps that only looked, before anything was changed",
    }
    """What each metric is."""

    def __init__(self, config: GraphConfig) -> None:
        self._scenario = config.scenario
        self._rubric = compile_rubric(config.scenario)
        self._judge = None if config.judge is None else Judge(config.judge)

    @property
    def criteria(self) -> tuple[str, ...]:
        """The texts of the rubric, in order: the n-th criterion among the scores is the n-th of these."""
        return tuple(criterion.criterion for criterion in self._rubric)

    async def score(self, record: EpisodeRecord, ctx: Context) -> list[Score]:
        """SPR, NSS, explore, then one score per criterion."""
        steps = [event.body for event in record.of_type("stepped.1")]
        state, context = final_state(self._scenario, steps), body_of(self._scenario).context
        verdicts = [criterion.evaluate(state, context, steps) for criterion in self._rubric]
        criteria = [
            Score(criterion.criterion, _number(verdict.passed), 1, "criterion", verdict.how, verdict.why)
            for criterion, verdict in zip(self._rubric, verdicts, strict=True)
        ]
        left = [place for place, criterion in enumerate(self._rubric) if criterion.how == "unscored"]
        if self._judge is not None and left:
            questions = [question(self._scenario, place) for place in left]
            scores = await self._judge.scores(questions, evidence(self._scenario, record), ctx)
            for place, score in zip(left, scores, strict=True):
                criteria[place] = score
        return [*_metrics(criteria), _explore(steps), *criteria]

    def blind(self, place: int) -> "BlindScorer":
        """A scorer that puts one criterion to the judge, whether or not it could be computed.

        Raises:
            UsageError: there is no judge.
        """
        if self._judge is None:
            raise UsageError("there is no judge")
        return BlindScorer(self._scenario, self._judge, question(self._scenario, place))


@dataclass(frozen=True, slots=True)
class BlindScorer:
    """Scores one criterion by the judge, who sees its prose and never how it is computed."""

    scenario: Scenario
    judge: Judge
    question: Question

    async def score(self, record: EpisodeRecord, ctx: Context) -> list[Score]:
        """The one score."""
        return await self.judge.scores([self.question], evidence(self.scenario, record), ctx)


def question(scenario: Scenario, place: int) -> Question:
    """A criterion of the rubric in the words of its author; a `check` is no part of them."""
    criterion = scenario.evaluation_rubric.reveal()[place]
    return Question(criterion.criterion, criterion.pass_condition or "")


def evidence(scenario: Scenario, record: EpisodeRecord) -> Evidence:
    """What the judge may see of an episode: neither rules nor checks nor what a scenario says about itself.

    The state at the beginning is shown as well: whether something was left as it was cannot be told without it.
    """
    steps = [event.body for event in record.of_type("stepped.1")]
    decided = [event.body for event in record.of_type("decided.1")]
    acted = [body for body in decided if body["action"] is not None]
    taken: list[Json] = [
        {
            "step": number,
            "agent_said": decision["rationale"],
            "action": step["action"],
            "arguments": step["arguments"],
            "success": step["success"],
            "answer": step["message"],
            "changed": step["changes"],
        }
        # An episode that was stopped may hold one decision more than the world has answered.
        for number, (decision, step) in enumerate(zip(acted, steps, strict=False), start=1)
    ]
    if decided and decided[-1]["action"] is None and not decided[-1].get("fault"):
        taken.append({"step": len(taken) + 1, "agent_said": decided[-1]["rationale"], "action": "DONE"})
    return (
        ("what the user asked for", scenario.user_prompt),
        ("what is known to all", thaw(body_of(scenario).context)),
        ("state at the beginning", final_state(scenario, ())),
        ("actions of the agent in their order, one a line", taken),
        ("state at the end", final_state(scenario, steps)),
    )


def final_state(scenario: Scenario, steps: Sequence[Mapping[str, Any]]) -> dict[str, Json]:
    """Entity -> property -> value after `steps`, each the body of a `stepped.1` event."""
    state: dict[str, Json] = {
        entity_id: dict(entity.state.reveal()) for entity_id, entity in body_of(scenario).entities.items()
    }
    for step in steps:
        for entity_id, changes in step["changes"].items():
            entity = state[entity_id]
            assert isinstance(entity, dict)
            entity.update(changes)
    return state


def _metrics(criteria: Sequence[Score]) -> list[Score]:
    judged = [score.value for score in criteria if score.value is not None]
    missing = len(criteria) - len(judged)
    note = f"{missing} of {len(criteria)} criteria unscored" if missing else ""
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
