"""From text to tree: the syntax of CEL (https://github.com/google/cel-spec).

Left out: unsigned numbers, bytes, messages, a leading dot. Length and depth are limited, since expressions come with
scenarios, which are untrusted.
"""

from collections.abc import Mapping

from worldloom.worlds.expressions.tokens import SyntaxFault, Token, literal, tokens
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
    children,
)

MAX_LENGTH = 2_000
"""Characters of one expression."""
MAX_DEPTH = 60
"""Levels of one tree: far below Python's limit on recursion, far above what a person can read."""

_RESERVED = frozenset((
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
    "namespace", "null", "package", "return", "true", "var", "void", "while",
))  # fmt: skip
_BINDING = {
    "||": 1, "&&": 2, "<": 3, "<=": 3, ">": 3, ">=": 3, "==": 3, "!=": 3, "in": 3,
    "+": 4, "-": 4, "*": 5, "/": 5, "%": 5,
}  # fmt: skip
_OPERAND = "a name, a literal, '(', '[' or '{'"
_MACROS: Mapping[str, tuple[int, ...]] = {
    "all": (2,),
    "exists": (2,),
    "exists_one": (2,),
    "map": (2, 3),
    "filter": (2,),
}
"""Macros that bind a variable, with the numbers of arguments each takes."""


def parse(source: str) -> Node:
    """The tree of an expression.

    Raises:
        SyntaxFault: it is no expression, or is longer or deeper than allowed.
    """
    if len(source) > MAX_LENGTH:
        raise SyntaxFault(0, f"an expression of {len(source)} characters", f"at most {MAX_LENGTH} characters")
    tree = _Parser(source).whole()
    _check_depth(tree)
    return tree


def _check_depth(tree: Node) -> None:
    waiting = [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise SyntaxFault(node.at, "an expression nested too deeply", f"at most {MAX_DEPTH} levels")
        waiting.extend((child, depth + 1) for child in children(node))


class _Parser:
    """Precedence climbing over the tokens of one expression."""

    def __init__(self, source: str) -> None:
        self._tokens = list(tokens(source))
        self._next = 0
        self._depth = 0

    def whole(self) -> Node:
        tree = self._expression()
        if self._token.kind != "end":
            raise self._unexpected("the end, or an operator")
        return tree

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._token
        self._next += 1
        return token

    def _taken(self, sign: str) -> bool:
        if self._token.kind == "sign" and self._token.text == sign:
            self._next += 1
            return True
        return False

    def _expect(self, sign: str) -> None:
        if not self._taken(sign):
            raise self._unexpected(f"{sign!r}")

    def _unexpected(self, allowed: str) -> SyntaxFault:
        token = self._token
        found = "the expression ends too early" if token.kind == "end" else f"unexpected {token.text[:40]!r}"
        return SyntaxFault(token.at, found, allowed)

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH // 2:
            allowed = f"at most {MAX_DEPTH // 2} levels of brackets"
            raise SyntaxFault(self._token.at, "an expression nested too deeply", allowed)
        node = self._binary(1)
        at = self._token.at
        if self._taken("?"):
            then = self._binary(1)
            self._expect(":")
            node = Conditional(at, node, then, self._expression())
        self._depth -= 1
        return node

    def _binary(self, lowest: int) -> Node:
        node = self._unary()
        while (binding := self._binding()) >= lowest:
            node = self._chain(node, binding)
        return node

    def _binding(self) -> int:
        """How strongly the operator that comes next binds; 0 if none comes."""
        token = self._token
        return _BINDING.get(token.text, 0) if token.kind in ("sign", "name") else 0

    def _chain(self, first: Node, binding: int) -> Chain:
        """The operands that follow the first one, as long as the operators bind just so."""
        at, rest = self._token.at, []
        while self._binding() == binding:
            operator = self._take().text
            rest.append((operator, self._binary(binding + 1)))
        return Chain(at, first, tuple(rest))

    def _unary(self) -> Node:
        signs: list[Token] = []
        while self._token.text in ("!", "-") and self._token.kind == "sign":
            if signs and self._token.text != signs[0].text:
                raise self._unexpected("brackets between '!' and '-'")
            signs.append(self._take())
        negative = bool(signs) and signs[-1].text == "-" and self._token.kind in ("int", "float")
        node = self._member(negative)
        for sign in reversed(signs[:-1] if negative else signs):
            node = Unary(sign.at, sign.text, node)
        return node

    def _member(self, negative: bool) -> Node:
        node = self._primary(negative)
        while True:
            at = self._token.at
            if self._taken("["):
                node = Index(at, node, self._expression())
                self._expect("]")
            elif self._taken("."):
                node = self._field(node)
            else:
                return node

    def _field(self, node: Node) -> Node:
        token = self._token
        if token.kind != "name" or token.text in ("in", "true", "false", "null"):
            raise self._unexpected("the name of a field or function")
        self._next += 1
        if not self._taken("("):
            return Select(token.at, node, token.text)
        arguments = self._list(")")
        if token.text in _MACROS:
            return _comprehension(token, node, arguments)
        return Call(token.at, token.text, node, arguments)

    def _list(self, end: str, trailing_comma: bool = False) -> tuple[Node, ...]:
        parts: list[Node] = []
        while not self._taken(end):
            if parts:
                self._expect(",")
                if trailing_comma and self._taken(end):
                    break
            parts.append(self._expression())
        return tuple(parts)

    def _primary(self, negative: bool) -> Node:
        token = self._token
        if token.kind in ("int", "float", "text", "raw"):
            self._next += 1
            return Literal(token.at, literal(token, negative))
        if token.kind == "name":
            return self._name()
        if self._taken("("):
            node = self._expression()
            self._expect(")")
            return node
        if self._taken("["):
            return ListOf(token.at, self._list("]", trailing_comma=True))
        if self._taken("{"):
            return self._map(token.at)
        raise self._unexpected(_OPERAND)

    def _name(self) -> Node:
        token = self._take()
        if token.text in ("true", "false", "null"):
            return Literal(token.at, {"true": True, "false": False, "null": None}[token.text])
        if token.text in _RESERVED:
            self._next -= 1
            raise self._unexpected(f"{_OPERAND}; the word is reserved in CEL")
        if not self._taken("("):
            return Name(token.at, token.text)
        arguments = self._list(")")
        if token.text == "has":
            return _has(token, arguments)
        if token.text in _MACROS:
            raise SyntaxFault(token.at, f"{token.text!r} without a list", f"list.{token.text}(item, …)")
        return Call(token.at, token.text, None, arguments)

    def _map(self, at: int) -> Node:
        entries: list[tuple[Node, Node]] = []
        while not self._taken("}"):
            if entries:
                self._expect(",")
                if self._taken("}"):
                    break
            key = self._expression()
            self._expect(":")
            entries.append((key, self._expression()))
        return MapOf(at, tuple(entries))


def _comprehension(token: Token, items: Node, arguments: tuple[Node, ...]) -> Comprehension:
    if len(arguments) not in _MACROS[token.text]:
        found = f"{token.text!r} with {len(arguments)} arguments"
        raise SyntaxFault(token.at, found, f"list.{token.text}(item, expression)")
    variable = arguments[0]
    if not isinstance(variable, Name):
        found = f"the first argument of {token.text!r} is no name"
        raise SyntaxFault(variable.at, found, "a new name for the item")
    return Comprehension(token.at, token.text, items, variable.name, arguments[1:])


def _has(token: Token, arguments: tuple[Node, ...]) -> Select:
    if len(arguments) != 1 or not isinstance(arguments[0], Select) or arguments[0].test:
        raise SyntaxFault(token.at, "'has' of something that is no field", "has(thing.field)")
    field = arguments[0]
    return Select(field.at, field.operand, field.field, test=True)
