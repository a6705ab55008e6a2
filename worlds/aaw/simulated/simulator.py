"""Simulator: the request for one step, the raw reply, and the check of it, each on its own.

    call = simulator.call(action)                          # Refused: what an agent is told, and nobody is asked
    reply = await simulator.propose(state.entities, call, ctx)
    outcome = simulator.check(state.entities, call, reply)  # ReplyError: why it may not be done

So fidelity can be measured on first replies, before any was sent back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from worldloom.core.action import Action, ActionSpec
from worldloom.core.canonical import Json
from worldloom.core.errors import DocumentError, ReplyError
from worldloom.core.scenario import Scenario
from worldloom.core.yamlio import Path
from worldloom.models.model import Completion, Message, Request
from worldloom.runs.context import Context
from worldloom.worlds.aaw.body import EntityAction, body_of
from worldloom.worlds.aaw.parameters import Parameters
from worldloom.worlds.aaw.reading import Reading
from worldloom.worlds.aaw.returns import Returns, read_returns
from worldloom.worlds.aaw.simulated.agreement import States
from worldloom.worlds.aaw.simulated.delta import Bounds, Delta, read_proposal
from worldloom.worlds.aaw.simulated.prompt import again_text, turn_text, world_text
from worldloom.worlds.aaw.state import AawState
from worldloom.worlds.expressions import EvaluationError, Program

MODEL = "world"
"""Name under which the context knows the model."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reply that was sent back.

    Attributes:
        said: the reply, or its beginning.
        why: what was wrong with it.
    """

    said: str
    why: str


@dataclass(frozen=True, slots=True)
class Simulated:
    """What is known of one action."""

    spec: ActionSpec
    parameters: Parameters
    returns: Returns


@dataclass(frozen=True, slots=True)
class Call:
    """A call that fits the parameters; defaults are filled in."""

    action: Simulated
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Answer:
    """A lawful answer to a call."""

    success: bool
    message: str
    delta: Delta


class Simulator:
    """A scenario of kind `aaw`, ready to be simulated. It sees the prose of the file, and neither rules nor rubric."""

    def __init__(self, scenario: Scenario) -> None:
        """Read the prose, and compile the invariants if there are any.

        Raises:
            DocumentError: an invariant has faults, or does not hold at first.
        """
        first = AawState.initial(scenario)
        self._initial, self._context = first.entities, dict(body_of(scenario).context)
        self._system = world_text(scenario)
        states = {key: entity.state.reveal() for key, entity in body_of(scenario).entities.items()}
        specs = {spec.name: spec for spec in first.surroundings.actions}
        self.actions: Mapping[str, Simulated] = {
            f"{key}.{action.name}": Simulated(
                specs[f"{key}.{action.name}"],
                _parameters(action),
                read_returns(action.returns.reveal(), action.parameters, states),
            )
            for key, entity in body_of(scenario).entities.items()
            for action in entity.actions
        }
        self._invariants, self.traced = _invariants(scenario)
        self._check_initial(scenario)

    def call(self, action: Action) -> Call:
        """The call that an agent has made of an action which the world has.

        Raises:
            Refused: the arguments do not fit; the text goes to the agent.
        """
        simulated = self.actions[action.name]
        return Call(simulated, simulated.parameters.checked(action.arguments))

    def request(self, states: States, call: Call, refused: Sequence[Refusal] = ()) -> Request:
        """What the model is asked: the scenario, which is the same in every request, then state and action."""
        action = call.action
        schema = self._bounds(states, call).schema(action.spec.read_only)
        messages = [
            Message.of("system", self._system),
            Message.of("user", turn_text(states, action.spec.name, call.arguments)),
        ]
        for one in refused:
            messages += [Message.of("assistant", one.said), Message.of("user", again_text(one.why))]
        return Request(tuple(messages), schema=schema)

    async def propose(
        self, states: States, call: Call, ctx: Context, refused: Sequence[Refusal] = ()
    ) -> Completion:
        """The model's reply, unread.

        Args:
            states: entity -> property -> value, before the step.
            refused: replies to the same call that were sent back, in order.

        Raises:
            ModelError: as `Context.model`.
        """
        return await ctx.model(MODEL, self.request(states, call, refused), budgeted=False)

    def check(self, states: States, call: Call, completion: Completion, trace: Sequence[Json] = ()) -> Answer:
        """The answer that a reply holds.

        Raises:
            ReplyError: it holds none that may be given; the text says to the model what is wrong.
        """
        bounds, action = self._bounds(states, call), call.action
        proposal = read_proposal(completion, bounds.longest_message)
        if any(proposal.changes.values()) and (action.spec.read_only or not proposal.success):
            why = (
                f"{action.spec.name} only reads"
                if proposal.success
                else "an action that fails changes nothing"
            )
            raise ReplyError(f"state_changes must be empty: {why}.")
        if action.spec.read_only or not proposal.success:
            bounds.by_entity(proposal.changes)  # no change, and yet it must be one that could be read
            return Answer(proposal.success, proposal.message, Delta({}, {}))
        delta = bounds.checked(proposal.changes)
        broken = self._broken({**states, **delta.entities}, trace)
        if broken:
            raise ReplyError(f"After these state_changes this would not hold any more: {broken}")
        return Answer(True, proposal.message, delta)

    def _bounds(self, states: States, call: Call) -> Bounds:
        return Bounds(call.action.returns, call.arguments, states, self._initial)

    def _broken(self, states: States, trace: Sequence[Json]) -> str:
        """An invariant that does not hold; empty if all do."""
        names = {**states, "context": self._context, "trace": list(trace)}
        for program, _ in self._invariants:
            try:
                if not program.holds(names):
                    return program.source
            except EvaluationError as error:
                return str(error)
        return ""

    def _check_initial(self, scenario: Scenario) -> None:
        broken = self._broken(self._initial, ())
        for program, path in self._invariants if broken else ():
            if program.source in broken:
                allowed = "what holds in every state, the initial one included"
                found = "the initial state breaks this invariant"
                raise DocumentError([scenario.document.problem(path, found, allowed)])


def _invariants(scenario: Scenario) -> tuple[list[tuple[Program, Path]], bool]:
    """The invariants with their places, and whether one asks for the trace."""
    reading = Reading(scenario, body_of(scenario))
    programs: list[tuple[Program, Path]] = []
    for key, entity in body_of(scenario).entities.items():
        for index, text in enumerate(entity.invariants.reveal()):
            path: Path = ("world", "entities", key, "invariants", index)
            programs.append((reading.condition(text, path, {}), path))
    if reading.problems:
        raise DocumentError(reading.problems)
    return programs, reading.traced


def _parameters(action: EntityAction) -> Parameters:
    """The parameters, without words that cannot be enforced: files without rules may use any."""
    declared = Parameters.of(action)
    schemas = {name: _enforceable(schema) for name, schema in declared.schemas.items()}
    defaults = {name: schema["default"] for name, schema in schemas.items() if "default" in schema}
    return Parameters(schemas, declared.required, defaults)


def _enforceable(schema: Mapping[str, Json]) -> dict[str, Json]:
    kept = {
        word: value
        for word, value in schema.items()
        if not any(Parameters({"": {"type": schema["type"], word: value}}, frozenset(), {}).faults(()))
    }
    return {word: value for word, value in kept.items() if word != "default" or not _unfit(kept)}


def _unfit(schema: Mapping[str, Json]) -> bool:
    return any(Parameters({"": schema}, frozenset(), {}).faults(()))
