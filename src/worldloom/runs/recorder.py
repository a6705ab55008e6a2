"""Recorder: a model's request and answer as JSON, and back.

Models never hear of the record; this is where their words enter it. The request enters a fingerprint by its digest.
Its text is kept as telemetry, each message and each set of parameters once: a request names the longest earlier
request that it continues, so the log of a chat grows with its length and not with the square of it.
"""

import hashlib
from collections.abc import Callable
from typing import Any

from worldloom.core.canonical import Json, canonical
from worldloom.core.errors import ModelError
from worldloom.core.surrogates import mend_json
from worldloom.models.model import Completion, Message, Request, ToolCall, Usage


class Prompts:
    """Digests of requests, and which request continues which, in one episode."""

    def __init__(self, mend: Callable[[bytes], bytes]) -> None:
        self._mend = mend
        self._seen: set[str] = set()
        self._bytes: dict[Message, bytes] = {}  # a chat asks with the same messages again and again

    def digest(self, model_id: str, request: Request) -> tuple[str, dict[str, Json]]:
        """The digest of a request, and what of it is new, as the body of a telemetry row."""
        chain, base, known = hashlib.sha256(), None, 0
        for place, message in enumerate(request.messages, start=1):
            data = self._bytes.get(message)
            if data is None:
                data = self._bytes[message] = self._mend(canonical(message.to_json()))
            chain.update(len(data).to_bytes(4, "big"))
            chain.update(data)
            so_far = chain.hexdigest()
            if so_far in self._seen:
                base, known = so_far, place
        messages, new = chain.hexdigest(), [message.to_json() for message in request.messages[known:]]
        settings = request.parameters()
        parameters = hashlib.sha256(self._mend(canonical(settings))).hexdigest()
        head: dict[str, Json] = {"model": model_id, "parameters": parameters, "messages": messages}
        shown: dict[str, Json] = {**head, "continues": base, "new": [*new]}
        if parameters not in self._seen:
            shown["settings"] = settings
        self._seen |= {messages, parameters}
        return hashlib.sha256(canonical(head)).hexdigest(), shown


def answer_of(completion: Completion) -> dict[str, Json]:
    """The recorded form of an answer: what a fingerprint covers."""
    answer: dict[str, Json] = {
        "text": completion.text,
        "finish_reason": completion.finish_reason,
        "prompt_tokens": completion.usage.prompt_tokens,
        "completion_tokens": completion.usage.completion_tokens,
    }
    if completion.reasoning:
        answer["reasoning"] = completion.reasoning
    if completion.tool_calls:
        answer["tool_calls"] = [call.to_json() for call in completion.tool_calls]
    if completion.logprobs is not None:
        answer["logprobs"] = completion.logprobs
    lawful = mend_json(answer)  # for a model that does not see to it itself
    assert isinstance(lawful, dict)
    if completion.mended or lawful != answer:
        lawful["mended"] = True
    return lawful


def completion_of(answer: dict[str, Any]) -> Completion:
    """The answer that `answer_of` recorded.

    Raises:
        ModelError: what is recorded is that the model could not answer.
    """
    if "error" in answer:
        raise ModelError(answer["error"], f"the model could not answer ({answer['error']})")
    return Completion(
        text=answer["text"],
        reasoning=answer.get("reasoning", ""),
        tool_calls=tuple(ToolCall(**call) for call in answer.get("tool_calls", ())),
        finish_reason=answer["finish_reason"],
        usage=Usage(answer["prompt_tokens"], answer["completion_tokens"]),
        logprobs=answer.get("logprobs"),
        mended=answer.get("mended", False),
    )
