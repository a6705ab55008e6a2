"""Histories as strict servers accept them.

`sanitise` mends what a run can honestly contain and a server refuses: results without a call, calls without
a result, arguments that are no JSON, empty messages, two messages of one role in a row, a system message in
the middle, an assistant who speaks first. Nothing a model or tool said is lost: what has no lawful place is
shown as a user message. A history that is already lawful is passed on as it is.
"""

import json
import re
from collections.abc import Sequence

from worldloom.core.content import Part, Text
from worldloom.core.surrogates import mend, mend_json
from worldloom.models.model import Message, ToolCall

NOTHING = "(nothing)"
"""Stands where a server demands a text and there is none."""

_NAME = re.compile(r"[^A-Za-z0-9_-]")


def sanitise(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The same chat in a form that every chat template and strict server accepts."""
    lawful: list[Message] = []
    waiting: list[str] = []  # ids of calls of the last assistant message that have no result yet
    for given in messages:
        message = _clean(given)
        if message.role == "tool":
            if message.tool_call_id in waiting:
                waiting.remove(message.tool_call_id)
                lawful.append(message)
                continue
            message = Message("user", message.content)
        _settle(lawful, waiting)
        if message.role == "system" and any(earlier.role != "system" for earlier in lawful):
            message = Message("user", message.content)
        _append(lawful, message)
        waiting = [call.id for call in message.tool_calls]
    _settle(lawful, waiting)
    return tuple(lawful)


def _settle(lawful: list[Message], waiting: list[str]) -> None:
    """Answer the calls that nobody answered."""
    lawful += [Message("tool", (Text("(no result)"),), tool_call_id=call_id) for call_id in waiting]
    waiting.clear()


def _append(lawful: list[Message], message: Message) -> None:
    if not message.content and not message.tool_calls and message.role in ("system", "assistant"):
        return
    last = lawful[-1] if lawful else None
    if last is not None and last.role == message.role and not last.tool_calls:
        lawful[-1] = Message(message.role, last.content + message.content, message.tool_calls)
        return
    if message.role == "assistant" and (last is None or last.role == "system"):
        lawful.append(Message.of("user", NOTHING))
    lawful.append(message)


def _clean(message: Message) -> Message:
    """The message by itself: no surrogates, no blank texts, lawful calls."""
    content: tuple[Part, ...] = tuple(
        Text(mend(part.text)) if isinstance(part, Text) else part
        for part in message.content
        if not isinstance(part, Text) or part.text.strip()
    )
    if not content and message.role in ("user", "tool"):
        content = (Text(NOTHING),)
    calls = tuple(
        ToolCall(call.id, _name(call.name), _arguments(call.arguments)) for call in message.tool_calls
    )
    return Message(message.role, content, calls, message.tool_call_id)


def _name(name: str) -> str:
    """A function name as the OpenAI API allows it; models invent others."""
    return _NAME.sub("_", name)[:64] or "unknown"


def _arguments(text: str) -> str:
    """Past arguments as the JSON object that templates parse again; other text is kept as a value in one."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        return json.dumps({"invalid_arguments": mend(text)}, ensure_ascii=False)
    if "\\ud" in text.lower():
        return json.dumps(mend_json(parsed), ensure_ascii=False)
    return mend(text)
