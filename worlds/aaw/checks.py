"""Checks: whether a criterion of the rubric holds for a finished episode, by parsing and nothing else.

`check` is an expression over the final state, the context and the trace. Without one, `pass_condition` is read if it
is in the published idiom. Everything else is `unscored`, with the reason: never a guess, and never counted as failed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from worldloom.core.canonical import Json
from worldloom.core.errors import DocumentError
from worldloom.core.scenario import Criterion, Scenario
from worldloom.worlds.aaw.body import body_of
from worldloom.worlds.aaw.idiom import Clause, Unread, read_condition
from worldloom.worlds.aaw.reading import Reading
from worldloom.worlds.expressions import EvaluationError, Program

How: TypeAlias = Literal["check", "idiom", "unscored"]
Trace: TypeAlias = Sequence[Mapping[str, Json]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one criterion.

    Attributes:
        passed: None if it could not be judged.
        how: by which text it was judged.
        why: why it failed or was not judged; empty if it passed.
    """

    passed: bool | None
    how: How
    why: str = ""


@dataclass(frozen=True, slots=True)
class CompiledCriterion:
    """A criterion made ready to be judged many times.

    Attributes:
        criterion: its text.
        how: by which text it will be judged.
    """

    criterion: str
    how: How
    _judge: Callable[[Mapping[str, Json], Mapping[str, Json], Trace], Verdict] = field(
        repr=False, compare=False
    )

    def evaluate(self, final_state: Mapping[str, Json], context: Mapping[str, Json], trace: Trace) -> Verdict:
        """Judge an episode.

        Args:
            final_state: entity -> property -> value.
            context: the scenario's open facts.
            trace: one mapping with `action`, `arguments` and `success` a step, other keys ignored.
        """
        return self._judge(final_state, context, trace)


def compile_rubric(scenario: Scenario) -> tuple[CompiledCriterion, ...]:
    """The criteria of a scenario of kind `aaw`, in order.

    Raises:
        DocumentError: a `check` is no expression, or names what is not there; holds all such problems.
    """
    body = body_of(scenario)
    reading = Reading(scenario, body)
    rubric = scenario.evaluation_rubric.reveal()
    compiled = tuple(_compiled(criterion, index, reading) for index, criterion in enumerate(rubric))
    if reading.problems:
        raise DocumentError(reading.problems)
    return compiled


def _compiled(criterion: Criterion, index: int, reading: Reading) -> CompiledCriterion:
    if criterion.check is not None:
        program = reading.condition(criterion.check, ("evaluation_rubric", index, "check"), {})
        return CompiledCriterion(criterion.criterion, "check", _by_check(program))
    assert criterion.pass_condition is not None, "the body has been checked for criteria without either"
    try:
        clauses = read_condition(criterion.pass_condition, reading.body)
    except Unread as error:
        return _unscored(criterion.criterion, f"`pass_condition` is not in the idiom: {error}")
    return CompiledCriterion(criterion.criterion, "idiom", _by_idiom(clauses))


def _by_check(program: Program) -> Callable[[Mapping[str, Json], Mapping[str, Json], Trace], Verdict]:
    def judge(final_state: Mapping[str, Json], context: Mapping[str, Json], trace: Trace) -> Verdict:
        steps: list[Json] = [dict(step) for step in trace]
        try:
            holds = program.holds({**final_state, "context": dict(context), "trace": steps})
        except EvaluationError as error:
            return Verdict(None, "unscored", f"the check has no value: {error}")
        return Verdict(holds, "check", "" if holds else f"`{program.source}` is false")

    return judge


def _by_idiom(
    clauses: tuple[Clause, ...],
) -> Callable[[Mapping[str, Json], Mapping[str, Json], Trace], Verdict]:
    def judge(final_state: Mapping[str, Json], _: Mapping[str, Json], trace: Trace) -> Verdict:
        try:
            why = next((reason for clause in clauses if (reason := clause(final_state, trace))), "")
        except EvaluationError as error:
            return Verdict(None, "unscored", f"the condition cannot be evaluated: {error}")
        return Verdict(not why, "idiom", why)

    return judge


def _unscored(criterion: str, why: str) -> CompiledCriterion:
    return CompiledCriterion(criterion, "unscored", lambda *_: Verdict(None, "unscored", why))
