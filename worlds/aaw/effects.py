"""Effects: how an action changes state. What is changed is copied, so every earlier state stays what it was.

A target is a path that begins with an entity: `lamp.on`, `bluetooth.devices[device_id == args.device_id].paired`,
`house.locks[args.door]`. In a list `[condition]` selects every item for which it holds: the item's fields have their
bare names there (other names win), the item itself is `item`, also in the value that is set. In a mapping `[text]`
selects a key; at the end of a path it may be a new one. A path that selects nothing makes the action fail.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from worldloom.core.canonical import Json
from worldloom.core.errors import UsageError, nearest
from worldloom.core.yamlio import Path
from worldloom.worlds.aaw.body import Effect
from worldloom.worlds.aaw.reading import UNKNOWN, Names, Reading, Template
from worldloom.worlds.expressions import EvaluationError, Program, Scope, SyntaxFault
from worldloom.worlds.expressions.tokens import tokens
from worldloom.worlds.expressions.tree import Literal, never_truth

_NAME = re.compile(r"[^.\[\]]+")

Change: TypeAlias = Callable[[Any, Scope], Json]
"""From the old value and the values of names to the new value."""


class NoSuchItem(UsageError):
    """A target selects nothing in the current state."""

    code = "no_such_item"


@dataclass(frozen=True, slots=True)
class Selector:
    """`[…]` in a target."""

    program: Program

    def change(self, container: Any, scope: Scope, change: Change, may_add: bool) -> Json:
        """A copy of the container in which what is selected is changed; `may_add`: a new key, too."""
        if type(container) is dict:
            key = self.program.evaluate(scope)
            if type(key) is not str:
                raise EvaluationError(f"[{self.program.source}] gives no text, and selects in a mapping")
            if key not in container and not may_add:
                raise NoSuchItem("There is no such item.")
            scope.spend(_copying(container))
            item = container.get(key)
            return {**container, key: change(item, scope.with_names({**scope.names, "item": item}))}
        if type(container) is not list:
            raise EvaluationError(f"[{self.program.source}] selects in what is neither a list nor a mapping")
        scope.spend(len(container))
        return [
            change(item, scope.with_names({**scope.names, "item": item})) if chosen else item
            for item, chosen in zip(container, self._chosen(container, scope), strict=True)
        ]

    def _chosen(self, items: list[Any], scope: Scope) -> list[bool]:
        if isinstance(self.program.tree, Literal) and type(self.program.tree.value) is int:
            chosen = [index == self.program.tree.value for index in range(len(items))]
        else:
            chosen = [self.program.holds(_with_item(item, scope)) for item in items]
        if not any(chosen):
            raise NoSuchItem("There is no such item.")
        return chosen


def _with_item(item: Json, scope: Scope) -> Scope:
    """The names of a condition on an item: its fields, below all other names, and `item`."""
    fields = item if isinstance(item, dict) else {}
    return scope.with_names({**fields, **scope.names, "item": item})


def _copying(container: Sequence[Json] | Mapping[str, Json]) -> int:
    """The steps that a flat copy costs."""
    return 1 + (len(container) >> 3)


@dataclass(frozen=True, slots=True)
class Target:
    """What an effect changes: an entity, and the way down from its state; `text` is how the file says it."""

    text: str
    entity: str
    steps: tuple[str | Selector, ...]

    def change(self, scope: Scope, change: Change) -> Json:
        """A copy of the entity's state with the target changed."""
        try:
            return _changed(scope.names[self.entity], self.steps, scope, change)
        except EvaluationError as error:
            raise type(error)(f"the effect on {self.text}: {error}") from None


@dataclass(frozen=True, slots=True)
class CompiledEffect:
    """One effect, ready to run: when it applies, and what it changes."""

    when: Program | None
    changes: tuple[tuple[Target, Change], ...]

    def apply(self, values: dict[str, Json], scope: Scope) -> None:
        """Give the changed entities their new states in `values`, which are the names of the scope."""
        if self.when is None or self.when.holds(scope):
            for target, change in self.changes:
                values[target.entity] = target.change(scope, change)


def compile_effects(
    effects: Sequence[Effect], at: Path, names: Names, reading: Reading
) -> tuple[CompiledEffect, ...]:
    """Compile the effects that stand at `at`."""
    return tuple(_effect(effect, (*at, index), names, reading) for index, effect in enumerate(effects))


def _changed(value: Any, steps: tuple[str | Selector, ...], scope: Scope, change: Change) -> Json:
    if not steps:
        return change(value, scope)
    step, rest = steps[0], steps[1:]
    if isinstance(step, Selector):
        return step.change(value, scope, lambda old, inner: _changed(old, rest, inner, change), not rest)
    if type(value) is not dict or (rest and step not in value):
        raise EvaluationError(f"there is no {step!r} to change")
    scope.spend(_copying(value))
    return {**value, step: _changed(value.get(step), rest, scope, change)}


def _effect(effect: Effect, at: Path, names: Names, reading: Reading) -> CompiledEffect:
    when = None if effect.when is None else reading.condition(effect.when, (*at, "when"), names)
    changes: list[tuple[Target, Change]] = []
    for kind, path in effect.targets():
        place, value = (*at, kind, path), getattr(effect, kind)[path]
        target, sample = _target(path, place, names, reading)
        inner = {**names, "item": None} if any(isinstance(step, Selector) for step in target.steps) else names
        if kind != "set" and sample is not UNKNOWN and not isinstance(sample, list | None):
            reading.problem(place, f"{path} is no list", "the path of a list", key=True)
        if kind == "remove":
            changes.append(
                (target, _remove(reading.condition(value, place, **_item_names(sample, inner, reading))))
            )
        else:
            changes.append((target, _CHANGES[kind](reading.template(value, place, inner))))
    return CompiledEffect(when, tuple(changes))


def _set(template: Template) -> Change:
    return lambda _, scope: template.fill(scope)


def _append(template: Template) -> Change:
    def change(old: Any, scope: Scope) -> Json:
        if type(old) is not list:
            raise EvaluationError("an effect appends to what is no list")
        scope.spend(_copying(old))
        return [*old, template.fill(scope)]

    return change


def _remove(condition: Program) -> Change:
    def change(old: Any, scope: Scope) -> Json:
        if type(old) is not list:
            raise EvaluationError("an effect removes from what is no list")
        return [item for item in old if not condition.holds(_with_item(item, scope))]

    return change


_CHANGES: Mapping[str, Callable[[Template], Change]] = {"set": _set, "append": _append}


def _target(text: str, at: Path, names: Names, reading: Reading) -> tuple[Target, Any]:
    """The target that `text` names, and what stands there in the initial state, if that can be known."""
    root = _NAME.match(text)
    assert root is not None, "the body has been checked for targets without an entity"
    sample: Any = reading.body.entities[root.group()].state.reveal()
    steps: list[str | Selector] = []
    rest, shown = text[root.end() :], root.group()
    while rest:
        if rest.startswith("["):
            inside, length = _bracketed(rest)
            if not length:
                reading.problem(
                    at, f"{text!r} has an unclosed '['", "entity.property[condition].field", key=True
                )
                break
            steps.append(_selector(inside, shown, sample, at, names, reading))
            sample = reading.inside(sample)
        elif found := _NAME.match(rest, 1) if rest.startswith(".") else None:
            length = found.end()
            steps.append(found.group())
            sample = _below(sample, found.group(), shown, at, reading, top=len(steps) == 1)
        else:
            reading.problem(at, f"{text!r} is no path", "entity.property[condition].field", key=True)
            break
        shown, rest = shown + rest[:length], rest[length:]
    if not steps or isinstance(steps[0], Selector):
        reading.problem(at, f"{text!r} names no property", f"{root.group()}.property", key=True)
    return Target(text, root.group(), tuple(steps)), sample


def _selector(inside: str, shown: str, sample: Any, at: Path, names: Names, reading: Reading) -> Selector:
    """`[inside]` behind the path `shown`, at which `sample` stands in the initial state."""
    program = reading.program(inside, at, key=True, **_item_names(sample, names, reading))
    # Right behind an entity it is told as a target without a property.
    if "." in shown and (wrong := _wrong_selector(program, shown, sample, reading)):
        reading.problem(at, *wrong, key=True)
    return Selector(program)


def _wrong_selector(program: Program, shown: str, sample: Any, reading: Reading) -> tuple[str, str] | None:
    """What is wrong with a selector that can select nothing in any state, and what is allowed; None if it may."""
    tree, found = program.tree, f"[{program.source}]"
    literal = tree.value if isinstance(tree, Literal) else UNKNOWN
    if isinstance(sample, dict) and literal is not UNKNOWN and type(literal) is not str:
        return f"{found} in the mapping {shown}", "a key, such as ['name']"
    if isinstance(sample, list) and type(literal) is int:
        # Lists deeper down may grow with what is around them.
        fixed = shown.count(".") == 1 and "[" not in shown and shown not in reading.grown
        if literal < 0 or (fixed and literal >= len(sample)):
            allowed = f"0 to {len(sample) - 1}" if sample else "no index, while the list is empty"
            return f"{found} in {shown}, a list of {len(sample)}", allowed
    elif isinstance(sample, list) and never_truth(tree):
        return f"{found} is neither true nor false", f"a condition on the items of {shown}, or an index"
    return None


def _bracketed(text: str) -> tuple[str, int]:
    """The expression between the first '[' and its ']', and the length of all that; 0 if there is no ']'."""
    depth = 0
    try:
        for token in tokens(text):
            if token.kind == "sign":
                depth += (token.text in "([{") - (token.text in ")]}")
                if depth == 0:
                    return text[1 : token.at], token.at + 1
    except SyntaxFault:
        pass
    return "", 0


def _below(sample: Any, name: str, shown: str, at: Path, reading: Reading, *, top: bool) -> Any:
    """What stands under a name; a name that cannot be right is a problem."""
    if isinstance(sample, dict) and name in sample:
        return sample[name]
    if isinstance(sample, dict) and (sample or top):
        from_choices = f"one of {', '.join(sample)}" if sample else "nothing: it has no state"
        reading.problem(at, f"{shown} has no {name!r}", from_choices, nearest(name, sample), key=True)
    elif isinstance(sample, list):
        reading.problem(at, f"{shown} is a list", f"{shown}[condition].{name}", key=True)
    elif sample is not UNKNOWN and sample is not None and not isinstance(sample, dict):
        reading.problem(at, f"{shown} has no parts", shown, key=True)
    return UNKNOWN


def _item_names(sample: Any, names: Names, reading: Reading) -> dict[str, Any]:
    """What a condition on the items of `sample` may name, as arguments of `Reading.program`."""
    if isinstance(sample, dict):
        return {"names": names}
    item = reading.inside(sample)
    taken = {**reading.names, **names}
    fields = {field: None for field in item if field not in taken} if isinstance(item, dict) else {}
    known = tuple(item) if isinstance(item, dict) else None
    return {"names": {**fields, **names, "item": known}, "open": known is None}
