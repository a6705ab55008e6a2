"""Expressions of the Common Expression Language, read and evaluated under a cost limit.

    program = compile_program("tank.ml >= dose * 14")
    program.evaluate({"tank": {"ml": 1500}, "dose": 100})      # True; or EvaluationError, and never anything else

CEL has no loops but its macros and no side effects. The evaluator is our own because scenarios are untrusted and runs
must replay: the package `common-expression-language` can neither be stopped nor metered (1,000 × 1,000 `map`: more
than a minute; deeply nested data: a crash of the process) and goes through mappings in random order. It is the
reference in the tests, and does the matching of regular expressions, in linear time.
"""

from worldloom.worlds.expressions.program import Program, compile_program
from worldloom.worlds.expressions.tokens import SyntaxFault
from worldloom.worlds.expressions.values import EvaluationError, Scope

__all__ = ["EvaluationError", "Program", "Scope", "SyntaxFault", "compile_program"]
