"""Rules: what an action requires, changes and answers, compiled from the fields beside the prose.

An action runs as a whole or not at all: arguments are checked, then bindings and guards, then effects in order, each on
what the one before has left, then invariants, then the answer. A failure changes nothing. All of it is paid from one
meter, so an action takes bounded time, however many rules it has. A rule that has no value for some state, or none
within the limit, is the scenario's fault: the outcome says so beside the neutral message that the agent is told.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from worldloom.core.action import ActionSpec
from worldloom.core.canonical import Json, canonical
from worldloom.core.errors import DocumentError, UsageError
from worldloom.core.scenario import Scenario
from worldloom.core.yamlio import Fault, Path, check_faults
from worldloom.worlds.aaw.body import RESERVED, AawBody, Entity, EntityAction, body_of
from worldloom.worlds.aaw.effects import CompiledEffect, NoSuchItem, compile_effects
from worldloom.worlds.aaw.parameters import Parameters, Refused
from worldloom.worlds.aaw.reading import Names, Reading, Template
from worldloom.worlds.expressions import EvaluationError, Program, Scope
from worldloom.worlds.expressions.values import Exhausted, weigh

_CEL_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_READ_ONLY_PROSE = "NO STATE CHANGES"
_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
_MAX_SIZE = 200_000
"""Characters of JSON of one property: what an agent may make a list or text grow to."""
_IMPOSSIBLE = "This is not possible in the current state."
_BROKEN = "The action could not be carried out."


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an action did.

    Attributes:
        changes: entity -> property -> new value, of the properties whose value is another one now.
        entities: the states of the entities that were changed.
        fault: what is wrong with the scenario, if that is why the action failed; not for the agent.
    """

    success: bool
    message: str
    changes: Mapping[str, Mapping[str, Json]]
    entities: Mapping[str, Json]
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Binding:
    """A `let`: a name for a value in the state before the effects."""

    name: str
    value: Template


@dataclass(frozen=True, slots=True)
class Guard:
    """A `requires`: what must hold, and what a failure says if it does not."""

    that: Program
    otherwise: Template


@dataclass(frozen=True, slots=True)
class Invariant:
    """What must hold after each action that touches one of `entities`."""

    that: Program
    entities: frozenset[str]


@dataclass(frozen=True, slots=True)
class Rule:
    """All that is known about one action."""

    spec: ActionSpec
    parameters: Parameters
    before: tuple[Binding | Guard, ...]
    effects: tuple[CompiledEffect, ...]
    result: Template | None
    error: Template | None
    invariants: tuple[Invariant, ...]

    def run(
        self, entities: Mapping[str, Json], names: Mapping[str, Json], arguments: Mapping[str, Any]
    ) -> Outcome:
        """Run the action on the states of all entities; `names` are what rules may use beside them."""
        try:
            values: dict[str, Json] = {**entities, **names, "args": self.parameters.checked(arguments)}
        except Refused as refusal:
            return _failure(str(refusal))
        scope = Scope(values)
        try:
            refusal_text = self._prepare(values, scope) or self._change(values, scope)
            if refusal_text:
                return _failure(refusal_text)
            changed = {key: values[key] for key in entities if values[key] is not entities[key]}
            changes = _changes(entities, changed, scope)
            message = '{"done":true}' if self.result is None else _message(self.result, scope)
        except EvaluationError as error:
            return _failure(self._excuse(scope, _BROKEN), fault=str(error))
        return Outcome(True, message, changes, changed)

    def _prepare(self, values: dict[str, Json], scope: Scope) -> str:
        """Add the bindings to `values`; the text of the failure if a guard does not hold."""
        for step in self.before:
            if isinstance(step, Binding):
                try:
                    values[step.name] = step.value.fill(scope)
                except Exhausted:
                    raise
                except EvaluationError:
                    if self.error is None:
                        raise
                    return self._excuse(scope, _IMPOSSIBLE)
            elif not step.that.holds(scope):
                return _message(step.otherwise, scope)
        return ""

    def _change(self, values: dict[str, Json], scope: Scope) -> str:
        """Put new states into `values`; the text of the failure if they may not be."""
        touched = dict(values)
        try:
            for effect in self.effects:
                effect.apply(values, scope)
        except NoSuchItem as error:
            return self._excuse(scope.with_names(touched), str(error))
        changed = {name for name, value in touched.items() if values[name] is not value}
        for invariant in self.invariants if changed else ():
            if not invariant.entities.isdisjoint(changed) and not invariant.that.holds(scope):
                return self._excuse(scope.with_names(touched), _IMPOSSIBLE)
        return ""

    def _excuse(self, scope: Scope, text: str) -> str:
        """What the action's `error` says, or `text`."""
        try:
            return text if self.error is None else _message(self.error, scope)
        except EvaluationError:
            return text


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a scenario.

    Attributes:
        by_action: full name -> rule.
        traced: some rule uses the trace.
    """

    by_action: Mapping[str, Rule]
    traced: bool


def compile_rules(scenario: Scenario) -> Rules:
    """Compile the rules of a scenario of kind `aaw`.

    Raises:
        UsageError: there are actions without rules; names them.
        DocumentError: rules have faults; holds all that were found.
    """
    body = body_of(scenario)
    _refuse_prose(scenario, body)
    reading = Reading(scenario, body)
    faults: list[Fault] = []
    invariants = tuple(_invariants(body, reading))
    rules: dict[str, Rule] = {}
    for entity_id, entity in body.entities.items():
        for index, action in enumerate(entity.actions):
            at: Path = ("world", "entities", entity_id, "actions", index)
            faults += _faults(entity, action, at)
            rules[f"{entity_id}.{action.name}"] = _rule(entity_id, action, at, invariants, reading)
    problems = [*reading.problems, *check_faults(scenario.document, faults)]
    if problems:
        raise DocumentError(sorted(problems, key=lambda problem: (problem.line, problem.column)))
    _check_initial(scenario, body, invariants)
    return Rules(rules, reading.traced)


def _refuse_prose(scenario: Scenario, body: AawBody) -> None:
    lacking = [
        f"{entity_id}.{action.name}"
        for entity_id, entity in body.entities.items()
        for action in entity.actions
        if not action.has_rules
    ]
    if lacking:
        what = "has prose and no rules" if not body.has_rules else "lacks rules for some actions"
        raise UsageError(
            f"{scenario.file}: the scenario {scenario.id!r} {what}. To run, it needs a language model that simulates "
            "its world (--world model, see docs/model-worlds.md), or `effects` and `result` beside the prose, see "
            "docs/scenarios.md\n"
            f"  without rules: {', '.join(lacking)}"
        )


def _faults(entity: Entity, action: EntityAction, at: Path) -> Iterator[Fault]:
    yield from Parameters.of(action).faults((*at, "parameters"))
    if action.effects.reveal() and action.returns.reveal().lstrip().startswith(_READ_ONLY_PROSE):
        found = f"effects in {entity.id}.{action.name}, whose `returns` says {_READ_ONLY_PROSE}"
        yield Fault((*at, "effects"), found, "effects, or prose that says so; not both", key=True)


def _invariants(body: AawBody, reading: Reading) -> Iterator[Invariant]:
    for entity_id, entity in body.entities.items():
        for index, text in enumerate(entity.invariants.reveal()):
            program = reading.condition(text, ("world", "entities", entity_id, "invariants", index), {})
            yield Invariant(program, frozenset(program.names) & frozenset(body.entities))


def _rule(
    entity_id: str, action: EntityAction, at: Path, invariants: tuple[Invariant, ...], reading: Reading
) -> Rule:
    names: dict[str, Any] = {"args": tuple(action.parameters)}
    bindings: list[Binding] = []
    for name, value in action.let.reveal().items():
        path = (*at, "let", name)
        taken = name in names or name in reading.names or name in RESERVED or name == "item"
        if taken or not _CEL_NAME.fullmatch(name):
            reading.problem(
                path, f"the name {name!r} in `let`", "a new name of letters, digits and _", key=True
            )
        bindings.append(Binding(name, reading.template(value, path, names)))
        names[name] = None
    effects = action.effects.reveal()
    result, error = action.result.reveal(), action.error.reveal()
    return Rule(
        spec=ActionSpec(
            f"{entity_id}.{action.name}", action.description, action.arguments_schema(), not effects
        ),
        parameters=Parameters.of(action),
        before=tuple(_ordered(bindings, _guards(action, at, names, reading))),
        effects=compile_effects(effects, (*at, "effects"), names, reading),
        result=None if result is None else reading.template(result, (*at, "result"), names),
        error=None if error is None else reading.template(error, (*at, "error"), names),
        invariants=invariants,
    )


def _guards(action: EntityAction, at: Path, names: Names, reading: Reading) -> list[Guard]:
    guards = []
    for index, requirement in enumerate(action.requires.reveal()):
        path = (*at, "requires", index)
        otherwise = requirement.otherwise or action.error.reveal() or _IMPOSSIBLE
        place = (*path, "else") if requirement.otherwise else (*at, "error")
        that = reading.condition(requirement.that, (*path, "that"), names)
        guards.append(Guard(that, reading.template(otherwise, place, names)))
    return guards


def _ordered(bindings: list[Binding], guards: list[Guard]) -> Iterator[Binding | Guard]:
    """Guards in order, each binding right before the first guard that needs it: a guard may protect a look-up."""
    waiting = {binding.name: binding for binding in bindings}
    for guard in guards:
        needed = {*guard.that.names, *guard.otherwise.names}
        for binding in reversed(bindings):
            if binding.name in needed:
                needed |= binding.value.names
        for name in [name for name in waiting if name in needed]:
            yield waiting.pop(name)
        yield guard
    yield from waiting.values()


def _check_initial(scenario: Scenario, body: AawBody, invariants: tuple[Invariant, ...]) -> None:
    places = [
        (entity_id, index)
        for entity_id, entity in body.entities.items()
        for index in range(len(entity.invariants.reveal()))
    ]
    values: dict[str, Json] = {
        entity_id: entity.state.reveal() for entity_id, entity in body.entities.items()
    }
    values |= {"context": dict(body.context), "trace": []}
    faults, scope = [], Scope(values)
    for (entity_id, index), invariant in zip(places, invariants, strict=True):
        try:
            found = "" if invariant.that.holds(scope) else "the initial state breaks this invariant"
        except EvaluationError as error:
            found = str(error)
        if found:
            path = ("world", "entities", entity_id, "invariants", index)
            faults.append(Fault(path, found, "what holds in every state, the initial one included"))
    if faults:
        raise DocumentError(check_faults(scenario.document, faults))


def _failure(message: str, fault: str = "") -> Outcome:
    return Outcome(False, message, {}, {}, fault)


def _changes(
    before: Mapping[str, Json], changed: Mapping[str, Json], scope: Scope
) -> dict[str, dict[str, Json]]:
    changes: dict[str, dict[str, Json]] = {}
    for name, state in changed.items():
        old = before[name]
        assert isinstance(state, dict) and isinstance(old, dict), "states are mappings"
        new = {
            key: value
            for key, value in state.items()
            if value is not old[key] and not _same(_weighed(value, scope, f"{name}.{key}"), old[key])
        }
        if any(
            isinstance(value, str | list | dict) and len(_compact(value)) > _MAX_SIZE
            for value in new.values()
        ):
            raise EvaluationError(f"a property of {name} would have more than {_MAX_SIZE} characters")
        if new:
            changes[name] = new
    return changes


def _weighed(value: Json, scope: Scope, what: str) -> Json:
    """A value that is paid for: effects and templates share parts, so a small one may stand for a giant."""
    try:
        weigh(value, scope)
    except EvaluationError as error:
        raise type(error)(f"{what}: {error}") from None
    return value


def _same(value: Json, old: Json) -> bool:
    if value is old or type(value) is not type(old) or value != old:
        return value is old
    return not isinstance(value, list | dict) or canonical(value) == canonical(old)  # 1, 1.0 and true differ


def _message(template: Template, scope: Scope) -> str:
    """Text stays as it is; all else becomes compact JSON with sorted keys."""
    value = _weighed(template.fill(scope), scope, "a message")
    return value if isinstance(value, str) else _compact(value)
