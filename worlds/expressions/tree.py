"""The tree of an expression: its parts, and `at`, where each stands in the text (0-based)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, text, `true`, `false` or `null`."""

    at: int
    value: None | bool | int | float | str


@dataclass(frozen=True, slots=True)
class Name:
    """A name from outside, or the variable of a macro."""

    at: int
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`; with `test`, the macro `has(operand.field)`."""

    at: int
    operand: "Node"
    field: str
    test: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    """`operand[index]`."""

    at: int
    operand: "Node"
    index: "Node"


@dataclass(frozen=True, slots=True)
class Call:
    """`name(arguments)`, or `receiver.name(arguments)`."""

    at: int
    name: str
    receiver: "Node | None"
    arguments: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Unary:
    """`!operand` or `-operand`."""

    at: int
    operator: str
    operand: "Node"


@dataclass(frozen=True, slots=True)
class Chain:
    """`first operator operand operator operand …`, from left to right: one level, however many there are.

    The operators bind equally strongly. `at` is the place of the first one.
    """

    at: int
    first: "Node"
    rest: tuple[tuple[str, "Node"], ...]


@dataclass(frozen=True, slots=True)
class Conditional:
    """`condition ? then : otherwise`."""

    at: int
    condition: "Node"
    then: "Node"
    otherwise: "Node"


@dataclass(frozen=True, slots=True)
class ListOf:
    """`[items]`."""

    at: int
    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class MapOf:
    """`{key: value}`."""

    at: int
    entries: tuple[tuple["Node", "Node"], ...]


@dataclass(frozen=True, slots=True)
class Comprehension:
    """`items.macro(variable, body…)`: the one kind of loop that CEL has."""

    at: int
    macro: str
    items: "Node"
    variable: str
    body: tuple["Node", ...]


Node: TypeAlias = (
    Literal | Name | Select | Index | Call | Unary | Chain | Conditional | ListOf | MapOf | Comprehension
)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes right below a node."""
    match node:
        case Literal() | Name():
            return ()
        case Select(operand=operand) | Unary(operand=operand):
            return (operand,)
        case Index(operand=operand, index=index):
            return (operand, index)
        case Call(receiver=receiver, arguments=arguments):
            return arguments if receiver is None else (receiver, *arguments)
        case Chain(first=first, rest=rest):
            return (first, *(operand for _, operand in rest))
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            return (condition, then, otherwise)
        case ListOf(items=parts):
            return parts
        case MapOf(entries=entries):
            return tuple(part for entry in entries for part in entry)
        case Comprehension(items=items, body=body):
            return (items, *body)


def walk(node: Node) -> Iterator[Node]:
    """A node and all below it."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(children(current)))


def free_names(node: Node, bound: frozenset[str] = frozenset()) -> Iterator[Name]:
    """The names that an expression takes from outside, in order; variables of macros are not among them."""
    if isinstance(node, Name):
        if node.name not in bound:
            yield node
    elif isinstance(node, Comprehension):
        yield from free_names(node.items, bound)
        for part in node.body:
            yield from free_names(part, bound | {node.variable})
    else:
        for part in children(node):
            yield from free_names(part, bound)


def never_truth(node: Node) -> bool:
    """Whether a value of this expression can be neither true nor false, whatever the names stand for."""
    match node:
        case Literal(value=value):
            return type(value) is not bool
        case Unary(operator=operator):
            return operator == "-"
        case Chain(rest=rest):
            return rest[0][0] in ("+", "-", "*", "/", "%")
        case Conditional(then=then, otherwise=otherwise):
            return never_truth(then) and never_truth(otherwise)
        case Comprehension(macro=macro):
            return macro in ("map", "filter")
    return isinstance(node, ListOf | MapOf)


def path_of(node: Node) -> tuple[str, ...] | None:
    """`a.b.c` as ("a", "b", "c"); None if the node is anything else."""
    fields: list[str] = []
    while isinstance(node, Select) and not node.test:
        fields.append(node.field)
        node = node.operand
    return (node.name, *reversed(fields)) if isinstance(node, Name) else None
