"""Looking at a model before it is needed: is it there, what does it serve, how much does it take?

A model that its server lists is asked nothing. A name that is not listed may be an alias, and a server may list
nothing that can be read, so there it is tried with one word: a server that refuses it would refuse every call of a run.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from worldloom.core.errors import ModelError, UsageError
from worldloom.models.model import Message, Model, Request


@dataclass(frozen=True, slots=True)
class Served:
    """A model that a server lists; `context_tokens` is None where the server does not say."""

    name: str
    context_tokens: int | None


@runtime_checkable
class Lists(Protocol):
    """A model whose server can say what it serves; `name` is what the server is asked for."""

    name: str

    async def served(self) -> tuple[Served, ...]: ...


@dataclass(frozen=True, slots=True)
class Probe:
    """What was found.

    Attributes:
        reachable: whether the server answered; None where there is no server to ask.
        served: names of the models that the server lists.
        context_tokens: tokens that prompt and answer may fill together; None if unknown.
        problem: what stands in the way, for a person; None if nothing does.
    """

    reachable: bool | None
    served: tuple[str, ...] = ()
    context_tokens: int | None = None
    problem: str | None = None


async def probe(model: Model) -> Probe:
    """Ask the server behind a model what it serves, and for the model if it is not listed.

    An embedded model is started for it.
    """
    if not isinstance(model, Lists):
        return Probe(None, context_tokens=await model.context_length())
    try:
        served = await model.served()
    except ModelError as error:
        if error.kind not in ("not_found", "bad_reply"):  # else it has no list; whether it answers will show
            return Probe(error.kind not in ("unreachable", "timeout"), problem=str(error))
        served = ()
    except UsageError as error:
        return Probe(False, problem=str(error))
    names = tuple(item.name for item in served)
    if model.name not in names:
        try:
            await model.complete(Request((Message.of("user", "Hi"),), max_tokens=1))
        except ModelError as error:
            # Any other refusal says nothing of the name; without a list, it may be no server of models at all.
            if error.kind == "not_found" or (error.kind == "bad_reply" and not names):
                return Probe(True, names, problem=str(error))
    return Probe(True, names, await model.context_length())
