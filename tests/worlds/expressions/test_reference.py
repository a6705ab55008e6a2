"""Against the package `common-expression-language`: what both give a value for, they give the same value."""

import math
from datetime import datetime, timedelta
from typing import Any

import cel
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worldloom.worlds.expressions import EvaluationError, SyntaxFault, compile_program

NAMES: dict[str, Any] = {
    "i": 7,
    "j": -2,
    "f": 2.5,
    "s": "lamp on",
    "b": True,
    "n": None,
    "l": [1, 2, 3, 2],
    "t": ["a", "b"],
    "m": {"k": 1, "o": {"p": "q"}},
    "r": [{"id": "a", "v": 1}, {"id": "b", "v": 2}],
}
ATOMS = [
    *NAMES,
    "0",
    "1",
    "3",
    "2.5",
    "-1",
    "'a'",
    '"on"',
    "true",
    "false",
    "null",
    "[]",
    "[1, 2]",
    "{'k': 1}",
]
ATOMS += [
    "m.k",
    "m.o.p",
    "m.x",
    "r[0].v",
    "r[9]",
    "l[1]",
    "has(m.k)",
    "has(m.o.z)",
    "x",
    "x.v",
    "x.id",
    "-i",
    "-f",
    "-m.k",
]
MACROS = ["all", "exists", "exists_one", "filter", "map"]


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = ["+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "in"]
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(operators), inner),
        st.builds("{} {} {}".format, inner, st.sampled_from(operators), inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
        st.builds("{}({})".format, st.sampled_from(["!", "size", "int", "double"]), inner),
        st.builds("({})[{}]".format, inner, inner),
        st.builds(
            "({}).{}({})".format, inner, st.sampled_from(["contains", "startsWith", "endsWith"]), inner
        ),
        st.builds(
            "{}.{}(x, {})".format, st.sampled_from(["l", "t", "r", "[3, 4]"]), st.sampled_from(MACROS), inner
        ),
        st.builds("[{}, {}]".format, inner, inner),
        st.builds("{{'k': {}}}".format, inner),
    )


EXPRESSIONS = st.recursive(st.sampled_from(ATOMS), compound, max_leaves=8)


def reference(source: str) -> Any:
    """The value that the package gives; `...` if it gives none that JSON can hold."""
    try:
        return jsonable(cel.compile(source).execute(NAMES))
    except (ArithmeticError, KeyError, IndexError, RuntimeError, TypeError):
        return ...


def jsonable(value: Any) -> Any:
    finite = not isinstance(value, float) or math.isfinite(value)
    return ... if not finite or isinstance(value, bytes | datetime | timedelta) else value


def plain(value: Any) -> Any:
    """A value in which `true` and 1 differ, and 1 and 1.0 too."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return (type(value).__name__, value)


@settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(EXPRESSIONS)
def test_what_the_reference_gives_a_value_for_has_the_same_value_here(source: str) -> None:
    try:
        program = compile_program(source)
    except SyntaxFault as fault:
        assert "unknown function" not in fault.found
        try:
            cel.compile(source)
        except ValueError:
            return
        raise AssertionError(f"only we refuse {source}: {fault}") from fault
    expected = reference(source)
    try:
        found = program.evaluate(NAMES)
    except EvaluationError as error:
        # The reference adds the keys of a mapping to a list, in random order; CEL has no such operator.
        odd = "cannot add a list and a mapping" in str(error)
        assert expected is ... or odd, f"{source}: the reference says {expected!r}, we say {error}"
        return
    if expected is not ...:
        assert plain(found) == plain(expected)
    else:
        # The one kinder rule: whole and decimal numbers meet in arithmetic.
        assert any(sign in source for sign in "+-*/"), f"{source}: only we find a value: {found!r}"


TEXT = st.text(alphabet="abx0129.,:?!<>=&|+-*/%()[]{}'\"\\ \n_ufe", max_size=24)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(TEXT)
def test_what_is_read_here_is_read_by_the_reference(source: str) -> None:
    try:
        compile_program(source)
    except SyntaxFault:
        return
    cel.compile(source)
