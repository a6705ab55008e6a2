"""Functions over the trace: what was called, how often, in which order.

The trace holds one `{action, arguments, success}` a step. A call counts if it succeeded: a call that failed has changed
nothing and told nothing.

    called(a)         a was called            called(a, args)   … with at least these arguments
    never(a)          a was not called        never(a, args)    … with these arguments
    count(a)          how often               count(a, args)
    before(a, b)      a was called, and its first call came before the first of b, if b was called at all
"""

from collections.abc import Iterator, Mapping
from typing import Any

from worldloom.worlds.expressions.functions import Function
from worldloom.worlds.expressions.values import EvaluationError, Scope, equal, kind


def _calls(scope: Scope, action: Any, arguments: Any = None) -> Iterator[int]:
    """Indices of the successful calls of an action."""
    if type(action) is not str or (arguments is not None and type(arguments) is not dict):
        raise EvaluationError(
            f"an action is text and its arguments a mapping, not {kind(action)}, {kind(arguments)}"
        )
    trace = scope.names["trace"]
    scope.spend(len(trace))
    for index, step in enumerate(trace):
        if step["action"] == action and step["success"]:
            given = step["arguments"]
            if all(
                key in given and equal(value, given[key], scope) for key, value in (arguments or {}).items()
            ):
                yield index


def _called(scope: Scope, action: Any, arguments: Any = None) -> bool:
    return next(_calls(scope, action, arguments), None) is not None


def _never(scope: Scope, action: Any, arguments: Any = None) -> bool:
    return not _called(scope, action, arguments)


def _count(scope: Scope, action: Any, arguments: Any = None) -> int:
    return sum(1 for _ in _calls(scope, action, arguments))


def _before(scope: Scope, action: Any, other: Any) -> bool:
    first, second = next(_calls(scope, action), None), next(_calls(scope, other), None)
    return first is not None and (second is None or first < second)


TRACE_FUNCTIONS: Mapping[str, Function] = {
    "called": Function(_called, free=(1, 2), reads=("trace",)),
    "never": Function(_never, free=(1, 2), reads=("trace",)),
    "count": Function(_count, free=(1, 2), reads=("trace",)),
    "before": Function(_before, free=(2,), reads=("trace",)),
}
ACTION_ARGUMENTS: Mapping[str, int] = {"called": 1, "never": 1, "count": 1, "before": 2}
"""How many leading arguments of each function name actions."""
