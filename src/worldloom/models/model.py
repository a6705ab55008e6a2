"""Model: where words come from.

`await complete(request) -> Completion`, or a `ModelError` whose kind says why not. A model is pure plumbing:
it never hears of runs or records. Retries happen inside (`worldloom.models.retry`): one request, many attempts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from worldloom.core.canonical import Json
from worldloom.core.content import Part, Text

Role = Literal["system", "user", "assistant", "tool"]
FinishReason = Literal["stop", "length", "tool_calls", "refusal"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model asks for. `arguments` is the raw text it wrote: parse it strictly."""

    id: str
    name: str
    arguments: str

    def to_json(self) -> dict[str, Json]:
        return {"id": self.id, "name": self.name, "arguments": self.arguments}


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat."""

    role: Role
    content: tuple[Part, ...]
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None

    @staticmethod
    def of(role: Role, text: str) -> "Message":
        return Message(role, (Text(text),))

    def to_json(self) -> dict[str, Json]:
        shown: dict[str, Json] = {"role": self.role, "content": [part.to_json() for part in self.content]}
        if self.tool_calls:
            shown["tool_calls"] = [call.to_json() for call in self.tool_calls]
        if self.tool_call_id is not None:
            shown["tool_call_id"] = self.tool_call_id
        return shown


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool offered to the model; `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: Mapping[str, Json]

    def to_json(self) -> dict[str, Json]:
        return {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a model.

    Attributes:
        messages: the chat so far, oldest first.
        schema: JSON Schema that the text of the answer must satisfy; None for free text.
        tools: tools the model may call.
        max_tokens: limit on the answer; None leaves it to the server.
        temperature, top_p, seed, stop: sampling, as in the OpenAI API; None leaves it to the server.
        top_logprobs: number of alternatives per token whose log-probability is asked for; None for none.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, Json] | None = None
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    top_logprobs: int | None = None

    def parameters(self) -> dict[str, Json]:
        """All but the messages, as JSON; what is None or empty is left out."""
        named: dict[str, Json] = {
            "schema": None if self.schema is None else dict(self.schema),
            "tools": [tool.to_json() for tool in self.tools] or None,
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": self.seed,
            "stop": list(self.stop) or None,
            "top_logprobs": self.top_logprobs,
        }
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the server reported them; None where it did not."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer.

    Attributes:
        text: the visible answer, reasoning removed; lone surrogates have become U+FFFD.
        reasoning: what stood in reasoning tags or the server's reasoning field; empty if there was none.
        tool_calls: calls the model asks for.
        finish_reason: why it stopped; "length" means that the text is cut off and must not be executed.
        usage: token counts.
        logprobs: log-probabilities as received, as JSON; None if not asked for.
        mended: the text held lone surrogates that were replaced.
        telemetry: latency_s, attempts, server ids, cached tokens: never part of a fingerprint.
    """

    text: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: FinishReason = "stop"
    usage: Usage = Usage()
    logprobs: Json = None
    mended: bool = False
    telemetry: Mapping[str, Json] = field(default_factory=dict)


class Model(Protocol):
    """A source of completions. Close it in the event loop that used it, e.g. by `contextlib.aclosing`."""

    @property
    def id(self) -> str:
        """Stable identity, e.g. `openai:Qwen/Qwen3-8B`: provider and model, never host or key."""

    async def complete(self, request: Request) -> Completion:
        """Answer the request.

        Raises:
            ModelError: no answer could be had; `kind` says why. Retries are over when it is raised.
        """

    async def context_length(self) -> int | None:
        """Tokens that prompt and answer may fill together, as the server reports it; None if unknown."""

    async def aclose(self) -> None:
        """Free what the model holds. It may be called twice."""
