"""A small model that does all that it is asked: it counts in words, satisfies any schema, and calls the first tool."""

import itertools
import json
import random
from collections.abc import Mapping
from typing import Any

CONTEXT_TOKENS = 2048
NAME = "m"

_WORDS = "one two three four five six seven eight nine ten eleven twelve".split()
_ids = itertools.count()


def answer(body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """Status and body of what a server says to the body of a chat-completions request."""
    if body["model"] != NAME:
        return 404, _error(f"The model `{body['model']}` does not exist.", "model_not_found")
    prompt = sum(len(str(message.get("content")).split()) for message in body["messages"])
    if prompt > CONTEXT_TOKENS:
        return 400, _error(f"This model's maximum context length is {CONTEXT_TOKENS} tokens.", "bad")
    message, finish, tokens = _said(body)
    choice: dict[str, Any] = {"index": 0, "finish_reason": finish, "message": message, "logprobs": None}
    if body.get("logprobs"):
        others = [{"token": "x", "logprob": -1.5, "bytes": None}] * body["top_logprobs"]
        choice["logprobs"] = {
            "content": [{"token": token, "logprob": -0.5, "top_logprobs": others} for token in tokens]
        }
    usage = {"prompt_tokens": prompt, "completion_tokens": len(tokens), "total_tokens": prompt + len(tokens)}
    return 200, {"id": f"mini-{next(_ids)}", "model": NAME, "choices": [choice], "usage": usage}


def _error(message: str, code: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "code": code}}


def _said(body: Mapping[str, Any]) -> tuple[dict[str, Any], str, list[str]]:
    """Message, finish reason, tokens."""
    if body.get("tools"):
        called = {"name": body["tools"][0]["function"]["name"], "arguments": "{}"}
        calls = [{"id": "c1", "type": "function", "function": called}]
        return {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls", ["call"]
    if "response_format" in body:
        text = json.dumps(instance(body["response_format"]["json_schema"]["schema"]))
        return {"role": "assistant", "content": text}, "stop", text.split()
    words = list(_WORDS)
    if body.get("temperature"):
        random.Random(body.get("seed")).shuffle(words)
    text, finish = " ".join(words[: body.get("max_tokens")]), "stop"
    if (body.get("max_tokens") or len(words)) < len(words):
        finish = "length"
    ends = [text.find(stop) for stop in body.get("stop", ()) if stop in text]
    if ends:
        text, finish = text[: min(ends)], "stop"
    return {"role": "assistant", "content": text}, finish, text.split()


def instance(schema: Mapping[str, Any]) -> Any:
    """The plainest value that satisfies a schema."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return instance(schema["anyOf"][-1])
    if schema["type"] == "object":
        return {name: instance(schema["properties"][name]) for name in schema.get("required", ())}
    if schema["type"] == "array":
        return [instance(schema["items"])] * schema.get("minItems", 0)
    if schema["type"] == "string":
        return "x" * schema.get("minLength", 0) if schema.get("format") != "date" else "2026-01-31"
    return {"integer": schema.get("minimum", 0), "number": schema.get("maximum", 0), "boolean": True}[
        schema["type"]
    ]
