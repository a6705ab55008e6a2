"""The chat-completions format: requests written, answers read strictly.

Shared by the direct client and the gateway. Whatever is no completion (HTML, a stream, missing or mistyped
fields, an error object under status 200) is a `ModelError("bad_reply")`. The text of an answer is kept as it
came, save that reasoning is set apart and lone surrogates are mended.
"""

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import replace

from worldloom.core.canonical import Json
from worldloom.core.content import Image, Part, Text
from worldloom.core.errors import ModelError
from worldloom.core.surrogates import mend_json
from worldloom.models.classify import kind_of, printable
from worldloom.models.history import sanitise
from worldloom.models.model import Completion, FinishReason, Message, Request, ToolCall, Usage
from worldloom.models.reasoning import split_reasoning

MOST_CALLS = 128
"""Tool calls of one answer that are read; a longer list is no answer."""

MOST_CHARACTERS = 2_000_000
"""Characters of one answer, reasoning and arguments included, that are kept: several times what models can write."""

_FINISH: Mapping[str, FinishReason] = {
    **dict.fromkeys(
        ("stop", "eos", "eos_token", "stop_sequence", "end_turn", "complete", "completed"), "stop"
    ),
    **dict.fromkeys(("length", "max_tokens", "max_length", "max_output_tokens", "repetition"), "length"),
    **dict.fromkeys(("tool_calls", "tool_call", "tool_use", "function_call"), "tool_calls"),
    **dict.fromkeys(("content_filter", "refusal", "safety", "guardrail_intervened", "recitation"), "refusal"),
}


_FORMATS = frozenset("date-time time date duration email hostname ipv4 ipv6 uuid uri".split())


def encode(request: Request) -> dict[str, Json]:
    """The body of a chat-completions request, without the model's name and without the schema."""
    body: dict[str, Json] = {"messages": [_message(message) for message in sanitise(request.messages)]}
    if request.tools:
        body["tools"] = [{"type": "function", "function": tool.to_json()} for tool in request.tools]
    sampling: dict[str, Json] = {
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "seed": request.seed,
        "stop": list(request.stop) or None,
    }
    body.update((name, value) for name, value in sampling.items() if value is not None)
    if request.top_logprobs is not None:
        body.update(logprobs=True, top_logprobs=request.top_logprobs)
    return body


def response_format(schema: Mapping[str, Json]) -> dict[str, Json]:
    """The field that asks for an answer by JSON Schema; `strict` where OpenAI's rules for strict schemas hold."""
    sent = _known_formats(dict(schema))
    asked: dict[str, Json] = {"name": "answer", "schema": sent, "strict": _strict(sent)}
    return {"response_format": {"type": "json_schema", "json_schema": asked}}


def decode(raw: bytes) -> Completion:
    """The completion that the body of a reply holds.

    Raises:
        ModelError: it holds none; the kind is `bad_reply` unless it holds an error that says otherwise.
    """
    try:
        text, sound = raw.decode("utf-8-sig"), True
    except UnicodeDecodeError:
        text, sound = raw.decode("utf-8", "replace"), False
    try:
        reply: Json = _DECODER.decode(text)
    except (ValueError, RecursionError):
        raise _bad(f"no JSON: {printable(text, 120)!r}") from None
    completion = completion_of(reply, surrogates="\\ud" in text or "\\uD" in text)
    return completion if sound else _marked(completion)


def completion_of(reply: Json, *, surrogates: bool = True) -> Completion:
    """The completion that a parsed reply holds.

    Args:
        reply: the body.
        surrogates: whether it may hold lone surrogates; False saves the search.

    Raises:
        ModelError: as `decode`.
    """
    if surrogates and (mended := mend_json(reply)) != reply:
        return _marked(completion_of(mended, surrogates=False))
    if not isinstance(reply, dict):
        raise _bad(f"{_kind(reply)} where an object is due")
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise _error_within(reply) or _bad(f"no choices; keys: {printable(', '.join(reply), 120)}")
    choice = choices[0]
    message = choice.get("message")
    if not isinstance(message, dict):
        raise _error_within(choice) or _bad(f"the message is {_kind(message)}")
    content, thoughts = _content(message)
    text, tagged = split_reasoning(content or "")
    reasoning = "\n".join(thought for thought in (thoughts, tagged) if thought)
    calls = _calls(message.get("tool_calls"))
    refused = message.get("refusal")
    said = (text, reasoning, *(call.arguments for call in calls), refused if isinstance(refused, str) else "")
    if sum(map(len, said)) > MOST_CHARACTERS:
        raise _bad(f"it has more than {MOST_CHARACTERS:,} characters")
    finish = (
        "refusal"
        if isinstance(refused, str) and refused
        else _finish(choice.get("finish_reason"), bool(calls))
    )
    if content is None and not calls and not reasoning and finish == "stop":
        raise _error_within(choice) or _bad("content is null")
    return Completion(
        text=text if text or not isinstance(refused, str) else refused,
        reasoning=reasoning,
        tool_calls=calls,
        finish_reason=finish,
        usage=_usage(reply.get("usage")),
        logprobs=choice.get("logprobs"),
        telemetry=_telemetry(reply),
    )


def _message(message: Message) -> Json:
    shown: dict[str, Json] = {"role": message.role, "content": _parts(message.content)}
    if message.tool_calls:
        shown["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
        if not message.content:
            shown["content"] = None
    if message.tool_call_id is not None:
        shown["tool_call_id"] = message.tool_call_id
    return shown


def _parts(content: tuple[Part, ...]) -> Json:
    """Plain text where there is only text: many templates take nothing else."""
    if all(isinstance(part, Text) for part in content):
        return "\n".join(part.text for part in content if isinstance(part, Text))
    shown: list[Json] = []
    for part in content:
        if isinstance(part, Image):
            data = base64.b64encode(part.blob.data).decode("ascii")
            shown.append(
                {"type": "image_url", "image_url": {"url": f"data:{part.blob.media_type};base64,{data}"}}
            )
        else:
            shown.append({"type": "text", "text": part.text})
    return shown


def _known_formats(schema: Json) -> Json:
    """The schema without formats of an author's own: they are remarks, for which vLLM 0.32 refuses the request."""
    if isinstance(schema, list):
        return [_known_formats(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: value if name in ("const", "enum", "default", "examples") else _known_formats(value)
        for name, value in schema.items()
        if name != "format" or not isinstance(value, str) or value in _FORMATS
    }


def _strict(schema: Json) -> bool:
    if isinstance(schema, list):
        return all(_strict(item) for item in schema)
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if schema.get("type") == "object" or properties is not None:
        names = list(properties) if isinstance(properties, dict) else []
        required = schema.get("required")
        if schema.get("additionalProperties") is not False or not isinstance(required, list):
            return False
        if set(names) != {name for name in required if isinstance(name, str)}:
            return False
    return all(_strict(value) for value in schema.values())


def _number(text: str) -> float | None:
    """A JSON number; -0.0 becomes 0.0, and one beyond the floats is no number (null)."""
    value = float(text) + 0.0
    return value if math.isfinite(value) else None


_DECODER = json.JSONDecoder(parse_float=_number, parse_constant=lambda _name: None)


def _bad(found: str) -> ModelError:
    return ModelError("bad_reply", f"the server's answer is no completion: {found}")


def _marked(completion: Completion) -> Completion:
    return replace(completion, mended=True)


def _kind(value: Json) -> str:
    names = {type(None): "null", dict: "an object", list: "a list", str: "text", bool: "a boolean"}
    return names.get(type(value), "a number")


def _error_within(holder: Mapping[str, Json]) -> ModelError | None:
    """The error that some gateways put under status 200."""
    error = holder.get("error")
    if not error:
        return None
    code = error.get("code") if isinstance(error, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    status = code if isinstance(code, int) and 400 <= code <= 599 else None
    said = f"{code if isinstance(code, str) else ''} {message}"
    return ModelError(
        kind_of(status, said), f"the server answered with an error: {printable(str(message), 300)}"
    )


def _content(message: Mapping[str, Json]) -> tuple[str | None, str]:
    """The text, and the reasoning that the server itself set apart."""
    given = message.get("reasoning_content") or message.get("reasoning")
    thoughts = [given] if isinstance(given, str) else []
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content, "\n".join(thoughts)
    if not isinstance(content, list):
        raise _bad(f"content is {_kind(content)}")
    texts: list[str] = []
    for part in content:
        if not isinstance(part, dict):
            raise _bad(f"a part of the content is {_kind(part)}")
        text, thinking = part.get("text"), part.get("thinking")
        if isinstance(text, str):
            texts.append(text)
        elif thinking:  # Mistral: a list of parts within the part
            thoughts.append(_content({"content": thinking})[0] or "")
        else:
            raise _bad(f"a part of the content is of type {printable(str(part.get('type')), 60)!r}")
    return "".join(texts), "\n".join(thoughts)


def _calls(value: Json) -> tuple[ToolCall, ...]:
    if not value:
        return ()
    if not isinstance(value, list):
        raise _bad(f"tool_calls is {_kind(value)}")
    if len(value) > MOST_CALLS:
        raise _bad(f"{len(value)} tool calls in one answer; at most {MOST_CALLS} are read")
    calls: list[ToolCall] = []
    for index, item in enumerate(value):
        function = item.get("function") if isinstance(item, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(item, dict) or not isinstance(function, dict) or not isinstance(name, str):
            raise _bad(f"tool call {index} has no function name")
        given = item.get("id")
        used = {call.id for call in calls}
        identity = given if isinstance(given, str) and given and given not in used else f"call_{index}"
        calls.append(ToolCall(identity, name, _arguments(function.get("arguments"))))
    return tuple(calls)


def _arguments(value: Json) -> str:
    """Arguments as text: some servers send the object itself; null stays empty, for the reader to refuse."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _finish(value: Json, has_calls: bool) -> FinishReason:
    """Why the model stopped; an unknown reason is an error, since the answer may be cut off."""
    if value is None:
        return "tool_calls" if has_calls else "stop"
    known = _FINISH.get(value.lower()) if isinstance(value, str) else None
    if known is None:
        raise _bad(f"unknown finish reason {printable(str(value), 60)!r}")
    if known in ("stop", "tool_calls"):
        return "tool_calls" if has_calls else "stop"
    return known


def _usage(value: Json) -> Usage:
    if not isinstance(value, dict):
        return Usage()
    return Usage(_count(value.get("prompt_tokens")), _count(value.get("completion_tokens")))


def _count(value: Json) -> int | None:
    """A token count; what is none is unknown."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def _telemetry(reply: Mapping[str, Json]) -> dict[str, Json]:
    noted: dict[str, Json] = {"server_id": reply.get("id"), "served_model": reply.get("model")}
    noted["system_fingerprint"] = reply.get("system_fingerprint")
    usage = reply.get("usage")
    details = usage.get("prompt_tokens_details") if isinstance(usage, dict) else None
    noted["cached_tokens"] = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    return {name: value for name, value in noted.items() if isinstance(value, str | int)}
