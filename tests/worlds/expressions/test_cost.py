"""Hostile expressions: refused when read, or stopped after a bounded number of steps."""

import time
from typing import Any

import pytest

from worldloom.worlds.expressions import EvaluationError, Scope, SyntaxFault, compile_program
from worldloom.worlds.expressions.values import MAX_STEPS

THOUSAND = list(range(1000))
BOUND_S = 5.0  # each takes well under 0.5 s; a bomb that goes off takes minutes


@pytest.mark.parametrize(
    "source",
    [
        "(" * 1_000 + "1" + ")" * 1_000,
        "[" * 500 + "]" * 500,
        "!" * 1_900 + "true",
        "1" + "+(1" * 40 + ")" * 40,
        "true?1:" * 250 + "1",
        "a" + ".a" * 900,
        "a" + "[0]" * 600,
        "[1]" + ".map(x,[x,x])" * 100,
        " " * 2_001,
    ],
)
def test_what_is_too_long_or_too_deep_is_refused_when_read(source: str) -> None:
    with pytest.raises(SyntaxFault):
        compile_program(source)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("l.map(x, l.map(y, x + y))", {"l": THOUSAND}),
        ("l.all(x, l.all(y, l.all(z, true)))", {"l": THOUSAND}),
        ("l.exists(x, l.exists(y, x + y < 0) || true && l.exists(y, x + y < 0))", {"l": THOUSAND}),
        ("['xxxxxxxxxx']" + ".map(x, x + x)" * 40, {}),
        ("[[1]]" + ".map(x, [x, x])" * 40, {}),
        ("[[1]]" + ".map(x, [x, x])" * 30 + " == [[1]]" + ".map(x, [x, x])" * 30, {}),
        ("l.map(x, s + s)", {"l": THOUSAND, "s": "x" * 40_000}),
        ("l.exists(x, s.contains(t))", {"l": THOUSAND * 30, "s": "ab" * 45_000, "t": "ab" * 20_000 + "c"}),
        ("l.join(s)", {"l": ["a"] * 1_000, "s": "x" * 1_000}),
        ("l.exists(x, s.matches('(a{1,20}){1,12}b'))", {"l": THOUSAND, "s": "a" * 1_000}),
        ("s.matches('(((a{1,9}){1,9}){1,9}){1,9}b')", {"s": "a" * 4_000}),
        ("l.exists(x, x in l)", {"l": [*range(1_000), 5.5] * 300}),
    ],
)
def test_what_takes_too_many_steps_is_stopped(source: str, names: dict[str, Any]) -> None:
    program = compile_program(source)
    start = time.process_time()
    with pytest.raises(EvaluationError):
        program.evaluate(names)
    assert time.process_time() - start < BOUND_S


def test_a_nested_quantifier_that_a_thousand_repeats_would_hang_still_works_on_small_data() -> None:
    program = compile_program("l.all(x, l.all(y, x + y >= 0))")
    assert program.evaluate({"l": list(range(50))}) is True


def test_a_backtracking_trap_is_no_trap() -> None:
    program = compile_program("s.matches('^(a+)+$')")
    assert program.evaluate({"s": "a" * 5_000 + "b"}) is False


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("false" + " || false" * 200 + " || true", True),
        ("true" + " && true" * 200 + " && false", False),
        ("nobody" + " || nobody" * 150 + " || true", True),
        ("1" + "+1" * 900, 901),
        ("1" + " - 1 + 1" * 200, 1),
        ("1" + " * 2 / 2" * 200, 1),
        ("2" + " * 3 + 2" * 200, 1_202),
        ("true" + " == true" * 200, True),
        ("false || true && true == (1 + 1 * 1 < 3)" + " || false" * 100, True),
    ],
)
def test_a_flat_chain_is_one_level_however_long_it_is(source: str, expected: Any) -> None:
    assert compile_program(source).evaluate({}) == expected


def test_every_link_of_a_chain_is_paid() -> None:
    for links in (10, 100):
        scope = Scope({"a": 1})
        compile_program("a" + "+a" * links).evaluate(scope)
        assert MAX_STEPS - scope.meter.left >= links
