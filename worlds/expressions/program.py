"""Program: an expression made ready to run many times; a tree becomes nested Python closures.

An evaluation pays for each part of the expression, and every pass of a macro for each part of its body, so the steps
are bounded whatever the input.
As in CEL, `&&`, `||`, `all` and `exists` have a value if one side decides, even if another side is an error.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from worldloom.core.canonical import Json
from worldloom.core.errors import meant
from worldloom.worlds.expressions import values
from worldloom.worlds.expressions.functions import FUNCTIONS, Function
from worldloom.worlds.expressions.parser import parse
from worldloom.worlds.expressions.tokens import SyntaxFault
from worldloom.worlds.expressions.tree import (
    Call,
    Chain,
    Comprehension,
    Conditional,
    Index,
    ListOf,
    Literal,
    MapOf,
    Name,
    Node,
    Select,
    Unary,
    free_names,
    path_of,
    walk,
)
from worldloom.worlds.expressions.values import EvaluationError, Exhausted, Scope

Run: TypeAlias = Callable[[Scope], Any]
Pass: TypeAlias = Callable[[dict[str, Any], Scope, list[Any]], Any]
"""Goes through items, each bound to the macro's variable in the given names, which the scope holds, too."""


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled expression.

    Attributes:
        source: the expression as written.
        tree: its syntax tree.
        names: the names whose values it needs, in order.
    """

    source: str
    tree: Node
    names: tuple[str, ...]
    _run: Run = field(repr=False, compare=False)
    _is_path: bool = field(repr=False, compare=False)
    _parts: int = field(repr=False, compare=False)

    def evaluate(self, names: Mapping[str, Json] | Scope) -> Json:
        """The value, as plain JSON that may share parts with the inputs.

        Args:
            names: name -> value; a scope, if the evaluation shares its steps with others.

        Raises:
            EvaluationError: there is none, or finding it takes more steps than are left.
        """
        # A path leads to a part of the input, which is JSON already.
        return self._result(names, as_json=not self._is_path)  # type: ignore[no-any-return]

    def holds(self, names: Mapping[str, Json] | Scope) -> bool:
        """The value of a condition.

        Raises:
            EvaluationError: as `evaluate`; also if the value is neither true nor false.
        """
        value = self._result(names, as_json=False)
        if type(value) is not bool:
            raise self._fault(EvaluationError(f"it is {values.kind(value)}, not true or false"))
        return value

    def _result(self, names: Mapping[str, Json] | Scope, as_json: bool) -> Any:
        scope = names if isinstance(names, Scope) else Scope(names)
        try:
            scope.spend(self._parts)
            value = self._run(scope)
            return values.to_json(value, scope) if as_json else value
        except EvaluationError as error:
            raise self._fault(error) from None
        except (ArithmeticError, RecursionError, ValueError) as error:
            raise self._fault(
                EvaluationError(f"its value is out of range ({type(error).__name__})")
            ) from None

    def _fault(self, error: EvaluationError) -> EvaluationError:
        shown = self.source if len(self.source) <= 120 else f"{self.source[:120]}…"
        return type(error)(f"`{shown}`: {error}")


def compile_program(source: str, functions: Mapping[str, Function] | None = None) -> Program:
    """Make an expression ready to run. `functions` are known beside CEL's own.

    Raises:
        SyntaxFault: it is no expression, or calls a function that does not exist.
    """
    tree = parse(source)
    known = FUNCTIONS if functions is None else {**FUNCTIONS, **functions}
    names = {name.name: None for name in free_names(tree)}
    for node in walk(tree):
        if isinstance(node, Call):
            _check_call(node, known)
            names.update(dict.fromkeys(known[node.name].reads))
    parts = sum(1 for _ in walk(tree))
    return Program(source, tree, tuple(names), _compiled(tree, known), path_of(tree) is not None, parts)


def _check_call(call: Call, known: Mapping[str, Function]) -> None:
    function = known.get(call.name)
    if function is None:
        found = f"unknown function {call.name!r}{meant(call.name, known)}"
        raise SyntaxFault(call.at, found, f"has, {', '.join(sorted(known))}")
    allowed = function.free if call.receiver is None else function.method
    if len(call.arguments) not in allowed:
        forms = [f"{call.name}({', '.join('abc'[:n])})" for n in function.free]
        forms += [f"x.{call.name}({', '.join('abc'[:n])})" for n in function.method]
        found = f"{call.name!r} with {len(call.arguments)} arguments" + (
            " as a method" if call.receiver else ""
        )
        raise SyntaxFault(call.at, found, " or ".join(forms))


def _compiled(node: Node, known: Mapping[str, Function]) -> Run:
    def compiled(part: Node) -> Run:
        return _compiled(part, known)

    match node:
        case Literal(value=value):
            return lambda _: value
        case Name(name=name):
            return _name(name)
        case Select():
            return _select(node, compiled(node.operand))
        case Index():
            operand, index = compiled(node.operand), compiled(node.index)
            return lambda scope: values.at_index(operand(scope), index(scope))
        case Call():
            parts = node.arguments if node.receiver is None else (node.receiver, *node.arguments)
            return _call(known[node.name], tuple(map(compiled, parts)))
        case Unary(operator=operator, operand=below):
            return _not(compiled(below)) if operator == "!" else _negative(compiled(below))
        case Chain(first=first, rest=rest):
            return _chain(compiled(first), tuple((operator, compiled(operand)) for operator, operand in rest))
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            return _conditional(compiled(condition), compiled(then), compiled(otherwise))
        case ListOf(items=items):
            runs = tuple(map(compiled, items))
            return lambda scope: [run(scope) for run in runs]
        case MapOf(entries=entries):
            return _mapping(tuple((compiled(key), compiled(value)) for key, value in entries))
        case Comprehension():
            return _comprehension(node, compiled(node.items), tuple(map(compiled, node.body)))


def _name(name: str) -> Run:
    def run(scope: Scope) -> Any:
        try:
            return scope.names[name]
        except KeyError:
            raise EvaluationError(f"{name!r} has no value here") from None

    return run


def _select(node: Select, operand: Run) -> Run:
    name = node.field

    def run(scope: Scope) -> Any:
        value = operand(scope)
        if type(value) is dict:
            try:
                return value[name]
            except KeyError:
                raise EvaluationError(f"there is no {name!r} in {_shown(node.operand)}") from None
        raise EvaluationError(f"{_shown(node.operand)} is {values.kind(value)}, it has no {name!r}")

    def test(scope: Scope) -> bool:
        value = operand(scope)
        if type(value) is dict:
            return name in value
        raise EvaluationError(f"{_shown(node.operand)} is {values.kind(value)}, it has no fields")

    return test if node.test else run


def _shown(node: Node) -> str:
    path = path_of(node)
    return ".".join(path) if path else "that"


def _call(function: Function, arguments: tuple[Run, ...]) -> Run:
    act = function.run
    return lambda scope: act(scope, *[argument(scope) for argument in arguments])


def _truth(value: Any) -> bool:
    if type(value) is bool:
        return value
    raise EvaluationError(f"{values.kind(value)} where true or false is needed")


def _not(operand: Run) -> Run:
    return lambda scope: not _truth(operand(scope))


def _negative(operand: Run) -> Run:
    return lambda scope: values.negate(operand(scope))


def _conditional(condition: Run, then: Run, otherwise: Run) -> Run:
    return lambda scope: then(scope) if _truth(condition(scope)) else otherwise(scope)


def _mapping(entries: tuple[tuple[Run, Run], ...]) -> Run:
    def run(scope: Scope) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in entries:
            name = key(scope)
            if type(name) is not str:
                raise EvaluationError(f"the key of a mapping is {values.kind(name)}; it must be text")
            made[name] = value(scope)
        return made

    return run


_ARITHMETIC: Mapping[str, Callable[[Any, Any, Scope], Any]] = {
    "+": values.add,
    "-": values.subtract,
    "*": values.multiply,
    "/": values.divide,
    "%": values.modulo,
    "==": values.equal,
    "!=": lambda left, right, scope: not values.equal(left, right, scope),
    "in": values.among,
    "<": lambda left, right, scope: values.compare(left, right, scope) < 0,
    "<=": lambda left, right, scope: values.compare(left, right, scope) <= 0,
    ">": lambda left, right, scope: values.compare(left, right, scope) > 0,
    ">=": lambda left, right, scope: values.compare(left, right, scope) >= 0,
}


def _chain(first: Run, rest: tuple[tuple[str, Run], ...]) -> Run:
    operator, second = rest[0]
    if operator in ("&&", "||"):
        return _logical(operator == "||", (first, *(operand for _, operand in rest)))
    if len(rest) == 1:
        only = _ARITHMETIC[operator]
        return lambda scope: only(first(scope), second(scope), scope)
    links = tuple((_ARITHMETIC[operator], operand) for operator, operand in rest)

    def run(scope: Scope) -> Any:
        value = first(scope)
        for act, operand in links:
            value = act(value, operand(scope), scope)
        return value

    return run


def _logical(decisive: bool, operands: tuple[Run, ...]) -> Run:
    """`||` if true decides, `&&` if false does."""

    def run(scope: Scope) -> bool:
        first: EvaluationError | None = None
        for operand in operands:
            try:
                if _truth(operand(scope)) is decisive:
                    return decisive
            except Exhausted:
                raise
            except EvaluationError as error:
                first = first or error
        if first is not None:
            raise first
        return not decisive

    return run


def _comprehension(node: Comprehension, items: Run, body: tuple[Run, ...]) -> Run:
    macro = {
        "all": _quantified,
        "exists": _quantified,
        "exists_one": _one,
        "filter": _filtered,
        "map": _mapped,
    }
    work = macro[node.macro](node, body)
    cost = sum(1 for part in node.body for _ in walk(part))

    def run(scope: Scope) -> Any:
        over = items(scope)
        if type(over) is dict:
            over = sorted(over)  # CEL leaves the order of keys open; a run must not
        elif type(over) is not list:
            raise EvaluationError(f"{node.macro!r} goes through lists and mappings, not {values.kind(over)}")
        scope.spend(len(over) * cost + (len(scope.names) >> 3))
        outer, scope.names = scope.names, {**scope.names}
        try:
            return work(scope.names, scope, over)
        finally:
            scope.names = outer

    return run


def _quantified(node: Comprehension, body: tuple[Run, ...]) -> Pass:
    condition, variable, decisive = body[0], node.variable, node.macro == "exists"

    def work(names: dict[str, Any], scope: Scope, over: list[Any]) -> bool:
        first: EvaluationError | None = None
        for item in over:
            names[variable] = item
            try:
                if _truth(condition(scope)) is decisive:
                    return decisive
            except Exhausted:
                raise
            except EvaluationError as error:
                first = first or error
        if first is not None:
            raise first
        return not decisive

    return work


def _one(node: Comprehension, body: tuple[Run, ...]) -> Pass:
    kept = _filtered(node, body)
    return lambda names, scope, over: len(kept(names, scope, over)) == 1


def _filtered(node: Comprehension, body: tuple[Run, ...]) -> Pass:
    condition, variable = body[0], node.variable

    def work(names: dict[str, Any], scope: Scope, over: list[Any]) -> list[Any]:
        kept = []
        for item in over:
            names[variable] = item
            if _truth(condition(scope)):
                kept.append(item)
        return kept

    return work


def _mapped(node: Comprehension, body: tuple[Run, ...]) -> Pass:
    change, variable = body[-1], node.variable
    kept = _filtered(node, body) if len(body) == 2 else None

    def work(names: dict[str, Any], scope: Scope, over: list[Any]) -> list[Any]:
        made = []
        for item in over if kept is None else kept(names, scope, over):
            names[variable] = item
            made.append(change(scope))
        return made

    return work
