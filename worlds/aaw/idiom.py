"""The idiom in which published files write `pass_condition`, read completely or not at all.

    condition   clause AND clause …, with or without a full stop
    clause      path == value      also !=, <, <=, >, >=; the value is a literal or another path
                path is between 0.2 and 0.5 (inclusive)
                Agent called lamp.get_status [before [any] lamp.turn_on]      also: lamp.get_status was called
                Agent never called lamp.turn_on      also: did not call lamp.turn_on; lamp.turn_on was never called
    path        entity.state.key, entity.key, list['id'].field; once a path has named an entity, key alone

Nothing is guessed: a word too many, a path that leads nowhere or a name with two meanings, and the condition is not
read. What a path names in the final state may be gone by then; no comparison holds for it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from worldloom.core.canonical import Json
from worldloom.core.errors import UsageError
from worldloom.worlds.aaw.body import AawBody
from worldloom.worlds.aaw.trace import TRACE_FUNCTIONS
from worldloom.worlds.expressions.values import Scope, equal

States: TypeAlias = Mapping[str, Json]
Trace: TypeAlias = Sequence[Mapping[str, Json]]
Clause: TypeAlias = Callable[[States, Trace], str]
"""Gives "" if the clause holds, else why not."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'[^']*'|"[^"]*")
          | (?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.]*\w))
          | (?P<word>[A-Za-z_](?:[\w-]*\w)?)
          | (?P<dot>\.(?=\w))
          | (?P<sign>==|!=|<=|>=|[<>()\[\].]))""",
    re.VERBOSE,
)
_LITERALS: Mapping[str, Json] = {"true": True, "false": False, "null": None}
_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


class Unread(UsageError):
    """A condition that is not in the idiom; the text says why."""

    code = "unread"


@dataclass(frozen=True, slots=True)
class _Path:
    """A property of an entity, and the way down from it: names, and `("id",)` for a look-up by id."""

    entity: str
    steps: tuple[str | tuple[str], ...]

    def __str__(self) -> str:
        return self.entity + "".join(
            f".{step}" if isinstance(step, str) else f"['{step[0]}']" for step in self.steps
        )

    def find(self, states: States) -> Json:
        """The value in some state; `KeyError` if there is none."""
        value: Json = states[self.entity]
        for step in self.steps:
            value = _named(value, step) if isinstance(step, str) else _looked_up(value, step[0])
        return value


def read_condition(text: str, body: AawBody) -> tuple[Clause, ...]:
    """The clauses of a condition, all of which must hold.

    Raises:
        Unread: it is not in the idiom, or names what is not there.
    """
    return _Reader(text, body).condition()


def _named(value: Json, name: str) -> Json:
    if not isinstance(value, dict):
        raise KeyError(name)
    return value[name]


def _looked_up(value: Json, key: str) -> Json:
    """The one item of a list whose id-like field is `key`, or the value under a key of a mapping."""
    if isinstance(value, dict):
        return value[key]
    found = (
        [item for item in value if isinstance(item, dict) and _has_id(item, key)]
        if isinstance(value, list)
        else []
    )
    if len(found) != 1:
        raise KeyError(key)
    return found[0]


def _has_id(item: Mapping[str, Json], key: str) -> bool:
    return any((name == "id" or name.endswith("_id")) and value == key for name, value in item.items())


class _Reader:
    """Recursive descent over the words of one condition."""

    def __init__(self, text: str, body: AawBody) -> None:
        self._body = body
        self._tokens: list[tuple[str, str]] = []
        self._next = 0
        self._entity = ""  # named by the last path
        at, end = 0, len(text.rstrip())
        while at < end:
            found = _TOKEN.match(text, at)
            if found is None:
                raise Unread(f"{text[at:].strip()[:40]!r} is not in the idiom")
            self._tokens.append((found.lastgroup or "", found[found.lastgroup or 0]))
            at = found.end()

    def condition(self) -> tuple[Clause, ...]:
        clauses = [self._clause()]
        while self._word("and"):
            clauses.append(self._clause())
        self._taken("sign", ".")
        if self._next < len(self._tokens):
            self._refuse("after a complete clause")
        return tuple(clauses)

    def _clause(self) -> Clause:
        if self._words("the", "agent") or self._word("agent"):
            if self._word("called"):
                return self._called(self._action())
            if self._words("never", "called") or self._words("did", "not", "call"):
                return _absence(self._action())
            self._refuse("after 'agent'")
        start = self._next
        names = self._dotted()
        if self._words("was", "called"):
            return self._called(self._action_named(names))
        if self._words("was", "never", "called") or self._words("was", "not", "called"):
            return _absence(self._action_named(names))
        self._next = start
        return self._comparison(self._path())

    def _called(self, action: str) -> Clause:
        if not self._word("before"):
            return _presence(action)
        self._words("any", "call", "to") or self._word("any") or self._word("calling")
        return _order(action, self._action())

    def _comparison(self, path: _Path) -> Clause:
        if self._words("is", "between"):
            low = self._number()
            if not self._word("and"):
                self._refuse("between two numbers")
            high = self._number()
            if not (self._taken("sign", "(") and self._word("inclusive") and self._taken("sign", ")")):
                self._refuse("after the numbers; '(inclusive)' must stand there")
            return _between(path, low, high)
        kind, operator = self._token
        if kind != "sign" or operator not in ("==", "!=", *_ORDERS):
            self._refuse(f"after the path {path}")
        self._next += 1
        return _compared(path, operator, self._value())

    def _value(self) -> "_Path | _Literal":
        kind, text = self._token
        if kind in ("text", "number") or (kind == "word" and text in _LITERALS):
            self._next += 1
            if kind == "word":
                return _Literal(_LITERALS[text])
            return _Literal(text[1:-1] if kind == "text" else _number(text))
        start = self._next
        if len(self._dotted()) == 1 and self._token != ("sign", "["):
            raise Unread(f"{text!r} could be a property or a text without quotes")
        self._next = start
        return self._path()

    def _number(self) -> float:
        kind, text = self._token
        if kind != "number":
            self._refuse("where a number is needed")
        self._next += 1
        return _number(text)

    def _action(self) -> str:
        return self._action_named(self._dotted())

    def _action_named(self, names: list[str]) -> str:
        if self._taken("sign", "(") and not self._taken("sign", ")"):
            self._refuse("in the brackets of a call")
        entities = self._body.entities.items()
        known = [f"{key}.{action.name}" for key, entity in entities for action in entity.actions]
        name = ".".join(names)
        fits = [
            action for action in known if action == name or (len(names) == 1 and action.endswith(f".{name}"))
        ]
        if len(fits) != 1:
            raise Unread(f"{name!r} is {'several actions' if fits else 'no action'} of this world")
        return fits[0]

    def _dotted(self) -> list[str]:
        names: list[str] = []
        while not names or self._taken("dot", "."):
            kind, text = self._token
            if kind != "word":
                self._refuse("where a name is needed")
            self._next += 1
            names.append(text)
        return names

    def _path(self) -> _Path:
        steps: list[str | tuple[str]] = [*self._dotted()]
        while self._taken("sign", "["):
            kind, text = self._token
            self._next += 1
            if kind != "text" or not self._taken("sign", "]"):
                self._next -= kind != "text"
                self._refuse("where ['id'] is needed")
            steps.append((text[1:-1],))
            if self._taken("dot", "."):
                steps += self._dotted()
        return self._resolved(steps)

    def _resolved(self, steps: list[str | tuple[str]]) -> _Path:
        first, current = str(steps[0]), self._body.entities.get(self._entity)
        own = current is not None and first in current.state.reveal()
        if first in self._body.entities:
            if own:
                raise Unread(f"{first!r} is an entity and a property of {self._entity}")
            entity, steps = first, steps[1:]
        elif current is not None and (own or first == "state"):
            entity = self._entity
        else:
            raise Unread(
                f"{first!r} is no entity" + (f" and no property of {self._entity}" if current else "")
            )
        state = self._body.entities[entity].state.reveal()
        if steps[:1] == ["state"] and not (len(steps) == 1 and "state" in state):
            steps = steps[1:]
        path = _Path(entity, tuple(steps))
        if not steps or steps[0] not in state:
            raise Unread(f"{path} is no property")
        _check_names(path, state)
        self._entity = entity
        return path

    @property
    def _token(self) -> tuple[str, str]:
        return self._tokens[self._next] if self._next < len(self._tokens) else ("end", "")

    def _taken(self, kind: str, text: str) -> bool:
        if self._token == (kind, text):
            self._next += 1
            return True
        return False

    def _word(self, word: str) -> bool:
        return self._words(word)

    def _words(self, *words: str) -> bool:
        ahead = self._tokens[self._next : self._next + len(words)]
        if [text.lower() for kind, text in ahead if kind == "word"] == list(words):
            self._next += len(words)
            return True
        return False

    def _refuse(self, where: str) -> NoReturn:
        kind, text = self._token
        raise Unread(f"the end {where}" if kind == "end" else f"{text!r} {where}")


@dataclass(frozen=True, slots=True)
class _Literal:
    value: Json

    def __str__(self) -> str:
        return repr(self.value) if isinstance(self.value, str) else str(self.value)

    def find(self, _: States) -> Json:
        return self.value


def _check_names(path: _Path, state: Mapping[str, Json]) -> None:
    """Refuse a name that the initial state shows to be wrong; what is below a list or null may come later."""
    value: Json = dict(state)
    for step in path.steps:
        if isinstance(step, str) and isinstance(value, dict) and (value or step in value):
            if step not in value:
                raise Unread(f"{path} leads nowhere: there is no {step!r}")
            value = value[step]
        elif value is None or isinstance(value, dict | list):
            if isinstance(step, str) and isinstance(value, list):
                raise Unread(f"{path} leads nowhere: {step!r} of a list")
            return
        else:
            raise Unread(f"{path} leads nowhere: what comes before {step!r} has no parts")


def _number(text: str) -> float:
    return float(text) if any(char in text for char in ".eE") else int(text)


def _compared(path: _Path, operator: str, other: _Path | _Literal) -> Clause:
    def clause(states: States, _: Trace) -> str:
        try:
            left, right = path.find(states), other.find(states)
        except KeyError as missing:
            return f"{missing.args[0]!r} in {path} {operator} {other} is not there any more"
        if operator in ("==", "!="):
            holds = equal(left, right, Scope({})) is (operator == "==")
        else:
            holds = _is_number(left) and _is_number(right) and _ORDERS[operator](left, right)
        return "" if holds else f"{path} is {left!r}, and not {operator} {other}"

    return clause


def _between(path: _Path, low: float, high: float) -> Clause:
    def clause(states: States, _: Trace) -> str:
        try:
            value = path.find(states)
        except KeyError:
            return f"{path} is not there any more"
        holds = isinstance(value, int | float) and _is_number(value) and low <= value <= high
        return "" if holds else f"{path} is {value!r}, and not between {low} and {high}"

    return clause


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _presence(action: str) -> Clause:
    return lambda _, trace: "" if _asked("called", trace, action) else f"{action} was not called"


def _absence(action: str) -> Clause:
    return lambda _, trace: "" if _asked("never", trace, action) else f"{action} was called"


def _order(first: str, second: str) -> Clause:
    def clause(_: States, trace: Trace) -> str:
        return "" if _asked("before", trace, first, second) else f"{first} was not called before {second}"

    return clause


def _asked(function: str, trace: Trace, *actions: str) -> bool:
    return bool(TRACE_FUNCTIONS[function].run(Scope({"trace": trace}), *actions))
