"""Reading a scenario's expressions: each is compiled once, and every fault in it is a problem at its place.

Names are checked here, so that a slip of the pen is found when the file is loaded: entities and their properties,
parameters, context, `let` bindings, actions named in `called(…)` and its like.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from worldloom.core.canonical import Json
from worldloom.core.errors import Problem, nearest
from worldloom.core.scenario import Scenario
from worldloom.core.yamlio import Path
from worldloom.worlds.aaw.body import AawBody
from worldloom.worlds.aaw.trace import ACTION_ARGUMENTS, TRACE_FUNCTIONS
from worldloom.worlds.expressions import Program, SyntaxFault, compile_program
from worldloom.worlds.expressions.tree import Call, Literal, Name, Node, Select, free_names, walk

Names: TypeAlias = Mapping[str, Iterable[str] | None]
"""Names an expression may use -> the fields that each has; None if they are not known."""
Values: TypeAlias = Mapping[str, Json]
Fill: TypeAlias = Callable[[Values], Json]
"""Gives the value of a template for the values of names."""


@dataclass
class Reading:
    """One pass over a scenario's rules or rubric.

    Attributes:
        problems: what was found so far, in the order of reading.
        traced: some expression read so far uses the trace.
    """

    scenario: Scenario
    body: AawBody
    problems: list[Problem] = field(default_factory=list)
    traced: bool = False

    def __post_init__(self) -> None:
        entities = self.body.entities
        self.names: Names = {
            **{entity_id: tuple(entity.state.reveal()) for entity_id, entity in entities.items()},
            "context": tuple(self.body.context),
            "trace": None,
        }
        self.actions = {f"{key}.{action.name}": action for key, entity in entities.items() for action in entity.actions}

    def problem(self, path: Path, found: str, allowed: str, near: str | None = None, *, key: bool = False) -> None:
        """Note a problem at the place of a path."""
        self.problems.append(self.scenario.document.problem(path, found, allowed, near, key=key))

    def program(self, text: str, path: Path, names: Names, *, within: str | None = None, open: bool = False) -> Program:
        """Compile an expression that stands at `path`; of one that is faulty, `false`, and a problem.

        Args:
            text: the expression.
            path: its place; the place of a key if the expression is a part of that key, see `within`.
            names: what it may name beside entities, context and trace.
            within: the longer text that stands at the place, if it is not the expression alone.
            open: other names are allowed, too: they are fields of an item that is not known yet.
        """
        known = {**self.names, **names}
        try:
            program = compile_program(text, TRACE_FUNCTIONS)
        except SyntaxFault as fault:
            self._at(path, text, within, fault.offset, fault.found, fault.allowed)
            return compile_program("false")
        self.traced = self.traced or "trace" in program.names
        for name in free_names(program.tree):
            if name.name not in known and not open:
                self._unknown(path, text, within, name.at, f"unknown name {name.name!r}", name.name, known)
        for node in walk(program.tree):
            self._check_field(node, known, path, text, within)
            self._check_actions(node, path, text, within)
        return program

    def template(self, value: Json, path: Path, names: Names) -> Fill:
        """Compile a value in which text that begins with `=` is an expression and all else stands for itself."""
        if isinstance(value, str) and value.startswith("="):
            return self.program(value[1:], path, names, within=value).evaluate
        if isinstance(value, dict):
            parts = {key: self.template(item, (*path, key), names) for key, item in value.items()}
            if any(_moves(item) for item in value.values()):
                return lambda values: {key: part(values) for key, part in parts.items()}
        elif isinstance(value, list):
            items = [self.template(item, (*path, index), names) for index, item in enumerate(value)]
            if any(_moves(item) for item in value):
                return lambda values: [item(values) for item in items]
        return lambda _: value

    def _check_field(self, node: Node, known: Names, path: Path, text: str, within: str | None) -> None:
        if isinstance(node, Select) and isinstance(node.operand, Name):
            fields = known.get(node.operand.name)
            if fields is not None and node.field not in fields:
                found = f"{node.operand.name} has no {node.field!r}"
                self._unknown(path, text, within, node.at, found, node.field, fields)

    def _check_actions(self, node: Node, path: Path, text: str, within: str | None) -> None:
        if not isinstance(node, Call) or node.name not in ACTION_ARGUMENTS:
            return
        for argument in node.arguments[: ACTION_ARGUMENTS[node.name]]:
            if isinstance(argument, Literal) and argument.value not in self.actions:
                found = f"{argument.value!r} is no action of this world"
                self._unknown(path, text, within, argument.at, found, str(argument.value), self.actions)

    def _unknown(
        self, path: Path, text: str, within: str | None, at: int, found: str, word: str, choices: Iterable[str]
    ) -> None:
        names = list(choices)
        self._at(path, text, within, at, found, f"one of {', '.join(names)}" if names else "none", nearest(word, names))

    def _at(
        self, path: Path, text: str, within: str | None, offset: int, found: str, allowed: str, near: str | None = None
    ) -> None:
        """Note a problem at a character of an expression; at the beginning, if the file spells it otherwise."""
        document = self.scenario.document
        line, column = document.locate(path, key=within is not None and not within.startswith("="))
        source = document.lines[line - 1] if 0 < line <= len(document.lines) else ""
        start = source.find(text, column - 1)
        if start >= 0:
            column = start + 1 + offset
        elif offset:
            found = f"{found} (character {offset + 1} of the expression)"
        self.problems.append(document.problem_at(line, column, found, allowed, near))


def _moves(value: Json) -> bool:
    """Whether a template has an expression in it."""
    if isinstance(value, dict):
        return any(_moves(item) for item in value.values())
    if isinstance(value, list):
        return any(_moves(item) for item in value)
    return isinstance(value, str) and value.startswith("=")
