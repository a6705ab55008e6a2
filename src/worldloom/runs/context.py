"""Context: the only door to the outside.

Each Context is one scope, a sequential thread of control with a counter. A graph node, a child of `map` and a named
subgraph open child scopes; nothing else may start concurrent work. Every door but `rng` and `emit` is a recorded
effect: absent in the record, the outside is asked; present, the recorded answer is used and nothing is asked.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from worldloom.core.canonical import Json, canonical
from worldloom.core.content import Blob
from worldloom.core.errors import Ended, ModelError, ToolError, UsageError, offer
from worldloom.core.key import child_scope, event_key
from worldloom.core.surrogates import mend
from worldloom.models.model import Completion, Model, Request
from worldloom.runs.block import pack_columns
from worldloom.runs.chance import generator
from worldloom.runs.effect import ASK, ASKED, Call, Fate, Tool
from worldloom.runs.ending import RUN_LIMIT
from worldloom.runs.episode import Episode, Person
from worldloom.runs.ledger import NullLedger
from worldloom.runs.limits import Budget, Limits
from worldloom.runs.outside import effect
from worldloom.runs.recorder import answer_of, completion_of
from worldloom.runs.usage import Usage

T = TypeVar("T")
R = TypeVar("R")
_UNBOUNDED = {"recursion_limit": 2**31 - 1}
"""LangGraph's own limit is 10,007 supersteps: an episode has limits of its own."""


class _Invocable(Protocol):
    """A compiled LangGraph graph, as far as this module needs to know it."""

    async def ainvoke(
        self,
        input: Any,
        config: Any,
        *,
        context: Any,
        output_keys: Sequence[str] | None,
        version: Literal["v2"],
    ) -> Any: ...


@dataclass(frozen=True, slots=True)
class Settled:
    """Result of one child of `settle`: a value, or the exception that ended it."""

    value: Any = None
    error: Exception | None = None


@dataclass(slots=True, eq=False)
class Context:
    """One scope of one episode; the root scope, if neither scope nor budget is given."""

    _episode: Episode
    _scope: bytes = b""
    _budget: Budget = None  # type: ignore[assignment]  # set below, so that child scopes can share one
    _n: int = 0
    _rngs: dict[str, np.random.Generator] | None = None
    _superstep: tuple[int, tuple[int, int]] = (-1, (0, 0))

    def __post_init__(self) -> None:
        if self._budget is None:
            limits = self._episode.limits
            self._budget = Budget(limits.model_calls, limits.tokens)

    @staticmethod
    def null(
        models: Mapping[str, Model] | None = None,
        seed: int = 0,
        limits: Limits | None = None,
        person: Person | None = None,
    ) -> "Context":
        """A context that records nothing: with it, a built graph is an ordinary graph.

        Args:
            person: is asked what `ask` asks; without one, the graph ends there as `waiting`.
        """
        limits = limits or Limits()
        return Context(Episode(NullLedger(), seed=seed, models=models or {}, limits=limits, person=person))

    # What an episode may know of itself

    @property
    def seed(self) -> int:
        return self._episode.seed

    @property
    def limits(self) -> Limits:
        return self._episode.limits

    @property
    def usage(self) -> Usage:
        return self._episode.usage

    @property
    def here(self) -> bytes:
        """Key of the next event in this scope."""
        return event_key(self._scope, self._n)

    # Facts and chance

    def emit(self, type: str, body: Mapping[str, Any]) -> None:
        """Record a fact: something that follows from earlier events alone."""
        self._episode.ledger.record(self._next(), type, body)

    def emit_block(self, type: str, columns: Mapping[str, NDArray[Any]]) -> None:
        """Record many like facts as one block; every column has shape (rows,). See `runs.block.expand`."""
        body, blob = pack_columns(columns)
        self._episode.ledger.store(blob)
        self.emit(type, body)

    def rng(self, component: str) -> np.random.Generator:
        """The random stream of one component in this scope; asked again, it goes on where it was."""
        if self._rngs is None:
            self._rngs = {}
        if component not in self._rngs:
            self._rngs[component] = generator(self._episode.seed, component, self._scope)
        return self._rngs[component]

    # Effects

    async def model(self, name: str, request: Request, *, budgeted: bool = True) -> Completion:
        """Ask the model that the run knows as `name`.

        Args:
            budgeted: whether it counts against the episode's limits on calls and tokens, which are the agents'; a model
                that simulates the world does not.

        Raises:
            ModelError: it could not answer, now or when this was recorded.
            Ended: a limit was reached, or the run was stopped.
        """
        episode = self._episode
        model = episode.models.get(name)
        if model is None:
            raise UsageError(f"no model is bound to {name!r}{offer(name, sorted(episode.models))}")
        if budgeted:
            self._budget.take()
        episode.usage.call(name)
        digest, shown = episode.prompts.digest(model.id, request)
        key, wording = self.here, ""

        async def ask() -> Json:
            nonlocal wording
            if not episode.meter.begin():
                raise episode.stopped(key, "model.1", RUN_LIMIT)
            try:
                completion = await model.complete(request)
            except ModelError as error:
                wording = mend(str(error))
                episode.ledger.note(key, "model_error.1", {"kind": error.kind, "text": wording})
                return {"error": error.kind}
            episode.meter.answer(name, completion.usage)
            episode.ledger.note(key, "model.1", dict(completion.telemetry))
            return answer_of(completion)

        if episode.ledger.recorded(key) is None:
            episode.ledger.note(key, "request.1", shown)
        call = Call(self._next(), "model.1", f"model {name}", digest, ask, "repeatable")
        answer = await effect(episode, call)
        assert isinstance(answer, dict)
        try:
            completion = completion_of(answer)
        except ModelError as error:
            if wording:  # for people, and out of a program's way: a replay does not have it
                error.add_note(wording)
            raise
        before = episode.usage.tokens
        episode.usage.answer(name, completion.usage)
        if budgeted:
            self._budget.tokens += episode.usage.tokens - before
            episode.pay(name, completion.usage)
        return completion

    async def tool(self, tool: Tool, arguments: Mapping[str, Json]) -> Json:
        """Call a tool.

        Raises:
            ToolError: the tool refused, now or when this was recorded.
            Ended: the tool broke, the call was sent before a crash and its outcome is unknown (`in_doubt`), or the
                run was stopped.
        """
        request: dict[str, Json] = {"tool": tool.name, "arguments": dict(arguments)}
        idempotency_key = hashlib.sha256(self._episode.id.encode() + b"\0" + self.here).hexdigest()

        async def call() -> Json:
            try:
                return {"value": await tool.call(arguments, idempotency_key)}
            except ToolError as error:
                return {"error": str(error)}

        async def lookup() -> Json | Fate:
            found = await tool.lookup(idempotency_key)
            return found if isinstance(found, Fate) else {"value": found}

        what, digest = f"tool {tool.name}", self._digest(request)
        answer = await effect(
            self._episode, Call(self._next(), "tool.1", what, digest, call, tool.effect_class, lookup)
        )
        assert isinstance(answer, dict)
        if "error" in answer:
            raise ToolError(str(answer["error"]))
        return answer["value"]

    async def wall(self) -> float:
        """Wall-clock time, in seconds since the epoch."""

        async def read() -> Json:
            return self._episode.wall()

        call = Call(self._next(), "wall.1", "", self._digest({}), read, "repeatable")
        seconds = await effect(self._episode, call)
        assert isinstance(seconds, float)
        return seconds

    async def ask(self, question: str, *, choices: Sequence[str] = ()) -> str:
        """Ask a person; the answer is text, one of `choices` if there are any.

        As long as nobody has answered, the episode is `waiting`: siblings of this scope run to their end, nothing that
        would follow begins, and the process may end. With an answer, a resume goes on here.

        Raises:
            Ended: nobody has answered yet, or the run was stopped.
        """
        asked: dict[str, Json] = {"question": question, "choices": list(choices)}
        self.emit(ASKED, asked)
        key, request = self.here, self._digest(asked)

        async def answer() -> Json:
            return await self._episode.answered(key, request, question, choices)

        said = await effect(self._episode, Call(self._next(), ASK, "", request, answer, "repeatable"))
        assert isinstance(said, str)
        return said

    def blob(self, data: bytes, media_type: str) -> Blob:
        """Keep bytes beside the record; facts name them by `Blob.ref`."""
        blob = Blob(data, media_type)
        self._episode.ledger.store(blob)
        return blob

    # Concurrency

    async def settle(
        self, fn: "Callable[[Context, T], Awaitable[R]]", items: Sequence[T], *, calls_each: int = 1
    ) -> list[Settled]:
        """Run `fn(child, item)` for all items at once; every child runs to its end.

        Args:
            calls_each: model calls to reserve for each child. Under a limit on calls the first children by index
                that fit are run; the rest settle with `Ended("call_limit")`.
        """
        episode, n = self._episode, self._take_place()
        place = event_key(self._scope, n)
        episode.check_stopped(place, "map", place)
        self._budget.check_tokens()
        budgets = self._budget.reserve(len(items), calls_each)

        async def child(index: int) -> Settled:
            budget = budgets[index]
            if budget is None:
                return Settled(error=Ended("call_limit"))
            try:
                return Settled(
                    await fn(Context(episode, child_scope(self._scope, n, index), budget), items[index])
                )
            except Exception as error:  # noqa: BLE001  # a fault must not cancel the siblings; `map` raises it later
                return Settled(error=error)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(child(index)) for index in range(len(items))]
        for budget in budgets:
            self._budget.add(budget)
        return [task.result() for task in tasks]

    async def map(
        self, fn: "Callable[[Context, T], Awaitable[R]]", items: Sequence[T], *, calls_each: int = 1
    ) -> list[R]:
        """Like `settle`, but raises the failure with the smallest index once all have come to their end."""
        settled = await self.settle(fn, items, calls_each=calls_each)
        for one in settled:
            if one.error is not None:
                raise one.error
        return [one.value for one in settled]

    async def subgraph(
        self, name: str, graph: _Invocable, state: Any, *, outputs: Sequence[str] | None = None
    ) -> Any:
        """Run a compiled graph in a child scope of its own; returns its final state.

        Args:
            outputs: the keys of the final state that are wanted; None for all. LangGraph copies them out after every
                superstep that writes one of them.
        """
        scope = child_scope(self._scope, self._take_place(), name)
        context = Context(self._episode, scope, self._budget)
        # Version 1 would also emit every update of every node: 4 % of an episode.
        result = await graph.ainvoke(state, _UNBOUNDED, context=context, output_keys=outputs, version="v2")
        final = result.value
        return {} if final is None else final  # LangGraph's word for a state that nobody has written to

    def node(self, step: int, label: str | int) -> "Context":
        """The scope of a graph node: `step` is the superstep, `label` the node's name or its push index."""
        if self._superstep[0] != step:
            self._superstep = (step, (self._budget.calls, self._budget.tokens))
        return Context(
            self._episode, child_scope(self._scope, step, label), self._budget.child(self._superstep[1])
        )

    def join(self, node: "Context") -> None:
        """Count what a node has used, now that it has come to its end."""
        self._budget.add(node._budget)

    def check(self) -> None:
        """Raise `Ended` if the run was stopped, or if the tokens were used up before this superstep began."""
        self._episode.check_stopped(self.here, "node", self._scope)
        self._budget.check_tokens()

    # Inside

    def _take_place(self) -> int:
        self._n += 1
        return self._n - 1

    def _next(self) -> bytes:
        return event_key(self._scope, self._take_place())

    def _digest(self, request: Mapping[str, Json]) -> str:
        return hashlib.sha256(self._episode.ledger.mend(canonical(dict(request)))).hexdigest()
