"""Reading a scenario's expressions: each is compiled once, and every fault in it is a problem at its place.

Names are checked here, so that a slip of the pen is found when the file is loaded: entities and their properties,
parameters, context, `let` bindings, actions named in `called(…)` and its like.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from worldloom.core.canonical import Json
from worldloom.core.errors import Problem, nearest
from worldloom.core.scenario import Scenario
from worldloom.core.yamlio import Path
from worldloom.worlds.aaw.body import AawBody
from worldloom.worlds.aaw.trace import ACTION_ARGUMENTS, TRACE_FUNCTIONS
from worldloom.worlds.expressions import Program, Scope, SyntaxFault, compile_program
from worldloom.worlds.expressions.tree import Call, Literal, Name, Select, free_names, never_truth, walk

Names: TypeAlias = Mapping[str, Iterable[str] | None]
"""Names an expression may use -> the fields that each has; None if they are not known."""


UNKNOWN = object()
"""Stands for what cannot be known of a part of the initial state."""


@dataclass(frozen=True, slots=True)
class Template:
    """A value with expressions in it.

    Attributes:
        fill: gives the value for the values of names, and pays for it; raises `EvaluationError`.
        names: names that the expressions use.
    """

    fill: Callable[[Scope], Json]
    names: frozenset[str] = frozenset()


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
    _inside: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        entities = self.body.entities
        self.names: Names = {
            **{entity_id: tuple(entity.state.reveal()) for entity_id, entity in entities.items()},
            "context": tuple(self.body.context),
            "trace": None,
        }
        # Where some effect may put a longer list than the initial state has.
        self.grown = {
            target
            for entity in entities.values()
            for action in entity.actions
            for effect in action.effects.reveal()
            for kind, target in effect.targets()
            if kind != "remove"
        }
        self.actions = {
            f"{key}.{action.name}": action for key, entity in entities.items() for action in entity.actions
        }

    def inside(self, sample: Any) -> Any:
        """What the items of a list, or the values of a mapping, of the initial state have between them."""
        if id(sample) not in self._inside:  # lists may be long, and effects on them many
            items = list(sample.values()) if isinstance(sample, dict) else sample
            known = isinstance(items, list) and items and all(isinstance(item, dict) for item in items)
            fields = {key: value for item in items for key, value in item.items()} if known else UNKNOWN
            self._inside[id(sample)] = (sample, fields)
        return self._inside[id(sample)][1]

    def problem(
        self, path: Path, found: str, allowed: str, near: str | None = None, *, key: bool = False
    ) -> None:
        """Note a problem at the place of a path."""
        self.problems.append(self.scenario.document.problem(path, found, allowed, near, key=key))

    def program(
        self, text: str, path: Path, names: Names, *, key: bool = False, open: bool = False
    ) -> Program:
        """Compile an expression; of one that is faulty, `false`, and a problem.

        Args:
            text: the expression.
            path: where it stands: alone, behind `=`, or within a longer text.
            names: what it may name beside entities, context and trace.
            key: it stands in the key at `path`, not in the value.
            open: other names are allowed, too: fields of items that are not known yet.
        """
        spot = _Spot(path, text, key)
        known = {**self.names, **names}
        try:
            program = compile_program(text, TRACE_FUNCTIONS)
        except SyntaxFault as fault:
            self._at(spot, fault.offset, fault.found, fault.allowed)
            return compile_program("false")
        self.traced = self.traced or "trace" in program.names
        free = list(free_names(program.tree))
        for name in free if not open else ():
            if name.name not in known:
                self._unknown(spot, name.at, f"unknown name {name.name!r}", name.name, known)
        from_outside = {id(name) for name in free}
        for node in walk(program.tree):
            if isinstance(node, Select) and id(node.operand) in from_outside:
                self._check_field(spot, node, known)
            elif isinstance(node, Call) and node.name in ACTION_ARGUMENTS:
                self._check_actions(spot, node)
        return program

    def condition(
        self, text: str, path: Path, names: Names, *, key: bool = False, open: bool = False
    ) -> Program:
        """As `program`, of an expression whose value must be true or false."""
        program = self.program(text, path, names, key=key, open=open)
        if never_truth(program.tree):
            self._at(_Spot(path, text, key), 0, f"`{text[:60]}` is neither true nor false", "a condition")
        return program

    def template(self, value: Json, path: Path, names: Names) -> Template:
        """Compile a value in which text that begins with `=` is an expression and all else stands for itself."""
        if isinstance(value, str) and value.startswith("="):
            program = self.program(value[1:], path, names)
            return Template(program.evaluate, frozenset(program.names))
        if isinstance(value, dict):
            parts = {key: self.template(item, (*path, key), names) for key, item in value.items()}
            if used := frozenset[str]().union(*(part.names for part in parts.values())):

                def mapping(scope: Scope) -> Json:
                    scope.spend(len(parts))
                    return {key: part.fill(scope) for key, part in parts.items()}

                return Template(mapping, used)
        elif isinstance(value, list):
            items = [self.template(item, (*path, index), names) for index, item in enumerate(value)]
            if used := frozenset[str]().union(*(item.names for item in items)):

                def sequence(scope: Scope) -> Json:
                    scope.spend(len(items))
                    return [item.fill(scope) for item in items]

                return Template(sequence, used)
        return Template(lambda _: value)

    def _check_field(self, spot: "_Spot", node: Select, known: Names) -> None:
        assert isinstance(node.operand, Name)
        owner = node.operand.name
        fields = known.get(owner)
        if fields is not None and node.field not in fields:
            state = ": in an expression the name of an entity is its state" if node.field == "state" else ""
            self._unknown(spot, node.at, f"{owner} has no {node.field!r}{state}", node.field, fields)

    def _check_actions(self, spot: "_Spot", node: Call) -> None:
        for argument in node.arguments[: ACTION_ARGUMENTS[node.name]]:
            if isinstance(argument, Literal) and argument.value not in self.actions:
                found = f"{argument.value!r} is no action of this world"
                self._unknown(spot, argument.at, found, str(argument.value), self.actions)

    def _unknown(self, spot: "_Spot", offset: int, found: str, word: str, choices: Iterable[str]) -> None:
        names = list(choices)
        self._at(spot, offset, found, f"one of {', '.join(names)}" if names else "none", nearest(word, names))

    def _at(self, spot: "_Spot", offset: int, found: str, allowed: str, near: str | None = None) -> None:
        """Note a problem at a character of an expression; at its beginning, if the file spells it otherwise."""
        document = self.scenario.document
        line, column = document.locate(spot.path, key=spot.key)
        source = document.lines[line - 1] if 0 < line <= len(document.lines) else ""
        start = source.find(spot.text, column - 1)
        if start >= 0:
            column = start + 1 + offset
        elif offset:
            found = f"{found} (character {offset + 1} of the expression)"
        self.problems.append(document.problem_at(line, column, found, allowed, near))


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where an expression stands in the file; see `Reading.program`."""

    path: Path
    text: str
    key: bool
