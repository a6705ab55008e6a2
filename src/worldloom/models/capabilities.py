"""What a back end does with what it is asked for, found by asking.

Servers that do not know a field mostly answer as if it were not there. So each field is tried with a request whose
answer shows whether it was obeyed; six calls of a few tokens in all, one after another. A request has no `n`: two
answers that are recorded are two requests.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from worldloom.core.canonical import Json
from worldloom.core.errors import ModelError
from worldloom.models.classify import printable
from worldloom.models.model import Completion, Message, Model, Request, ToolSpec

State = Literal["obeyed", "refused", "ignored", "unclear"]

SAMPLED_TOKENS = 12
"""Tokens of an answer that is only looked at: so many sampled alike twice are no accident."""

_OPEN = Request(
    (Message.of("user", "Write a sentence about anything you like."),),
    max_tokens=SAMPLED_TOKENS,
    temperature=1.0,
)
_ONLY: dict[str, Json] = {"answer": "seven oaks"}
_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["seven oaks"]}},
    "required": ["answer"],
    "additionalProperties": False,
}
_STOPS = ("e", "a", "o", "i")
_TOOL = ToolSpec("write_sentence", "Writes the sentence for you.", {"type": "object", "properties": {}})

ASKED: Mapping[str, Request] = {
    "logprobs": replace(_OPEN, top_logprobs=2),
    "seed": replace(_OPEN, seed=7),
    "seed again": replace(_OPEN, seed=7),
    "json_schema": replace(_OPEN, schema=_SCHEMA, max_tokens=32, temperature=0.0),
    "stop": replace(_OPEN, stop=_STOPS),
    "tools": replace(_OPEN, tools=(_TOOL,)),
}
"""The calls, in their order."""


@dataclass(frozen=True, slots=True)
class Capability:
    """What became of one field.

    Attributes:
        name: the field: json_schema, logprobs, seed, stop, tools.
        state: `ignored` is answered as if it were not there; `unclear` is what the answers do not tell.
        said: what was seen.
    """

    name: str
    state: State
    said: str


async def capabilities(model: Model) -> tuple[Capability, ...]:
    """Try each field on a model. What fails for other reasons than the field is unclear, with its reason."""
    heard: dict[str, Completion | ModelError] = {}
    for name, request in ASKED.items():
        try:
            heard[name] = await model.complete(request)
        except ModelError as error:
            heard[name] = error
            if error.kind not in ("bad_request", "bad_reply", "refusal"):
                break  # the server itself is in trouble, and each call would be tried several times
    plain = heard["logprobs"]
    looks: Mapping[str, Callable[[Completion], tuple[State, str]]] = {
        "json_schema": _schema,
        "logprobs": _logprobs,
        "seed": lambda answer: _seed(answer, heard.get("seed again"), plain),
        "stop": _stop,
        "tools": lambda answer: _tools(answer, plain),
    }
    found: list[Capability] = []
    for name, look in looks.items():
        answer = heard.get(name)
        if isinstance(answer, Completion):
            state, said = look(answer)
        elif answer is None:
            state, said = "unclear", "not asked, since an earlier call failed"
        else:
            state = "refused" if answer.kind == "bad_request" else "unclear"
            said = printable(str(answer), 200)
        found.append(Capability(name, state, said))
    return tuple(found)


def _schema(answer: Completion) -> tuple[State, str]:
    try:
        if json.loads(answer.text) == _ONLY:
            return "obeyed", "the answer is the only one that the schema allows"
    except (ValueError, RecursionError):
        pass
    if answer.finish_reason == "length" and not answer.text.strip():
        return "unclear", "the answer was cut off while the model was thinking"
    return "ignored", f"the answer is {printable(answer.text, 40)!r}"


def _logprobs(answer: Completion) -> tuple[State, str]:
    content = answer.logprobs.get("content") if isinstance(answer.logprobs, dict) else None
    first = content[0] if isinstance(content, list) and content else None
    if not isinstance(first, dict) or not isinstance(first.get("logprob"), int | float):
        return "ignored", "none came"
    others = first.get("top_logprobs")
    count = len(others) if isinstance(others, list) else 0
    return ("obeyed" if count == 2 else "ignored"), f"2 alternatives asked for, {count} came"


def _seed(
    answer: Completion, again: Completion | ModelError | None, plain: Completion | ModelError
) -> tuple[State, str]:
    if not isinstance(again, Completion):
        return "unclear", "the second answer failed"
    if _words(answer) != _words(again):
        return "ignored", "the same seed gave two answers, one after the other"
    if not isinstance(plain, Completion) or _words(plain) == _words(answer):
        return "unclear", "the same answer, perhaps also without a seed"
    return "obeyed", "the same seed gave the same answer twice, by itself; under load it may not"


def _stop(answer: Completion) -> tuple[State, str]:
    found = [stop for stop in _STOPS if stop in _words(answer)]
    if found:
        return "ignored", f"the answer goes on after {found[0]!r}"
    return "obeyed", "the answer ends where it was told to"


def _tools(answer: Completion, plain: Completion | ModelError) -> tuple[State, str]:
    if answer.tool_calls:
        return "obeyed", "the tool was called"
    without = plain.usage.prompt_tokens if isinstance(plain, Completion) else None
    with_tool = answer.usage.prompt_tokens
    if without is None or with_tool is None:
        return "unclear", "answered in words; whether the model saw the tool is not told"
    if with_tool == without:
        return "ignored", "answered in words; the prompt is no longer than without the tool"
    return "unclear", "the model saw the tool and answered in words"


def _words(answer: Completion) -> str:
    return answer.reasoning + answer.text
