"""Four thousand garbled replies: none crashes an agent, and none is executed that a strict reader would not read."""

import json
import random

from worldloom.agents.llm.agent import read_decision
from worldloom.core.action import Action
from worldloom.core.errors import ReplyError
from worldloom.models.model import Completion, ToolCall

ODD = [
    None,
    True,
    1,
    -0.5,
    "",
    "ring",
    "TASK_COMPLETE",
    [],
    {},
    {"x": 1},
    ["ring"],
    "\u200b",
    "\ud83d",
    1e308,
]
PIECES = [
    '"',
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\\",
    "null",
    "NaN",
    "\n",
    "\u200b",
    "\ud800",
    "```",
    "<think>",
    "\0",
    "é",
]


def garbled(rng):
    """A decision with a few things wrong with it, or nothing."""
    action = {"entity_id": "bell", "action_name": "ring", "arguments": {"times": 2}}
    for _ in range(rng.choice([0, 0, 1, 2])):
        action[rng.choice([*action, "sudo"])] = rng.choice(ODD)
    reply = {"thought_process": rng.choice(["why"] * 20 + ODD), "action": rng.choice([action] * 20 + ODD)}
    if rng.random() < 0.1:
        reply.pop(rng.choice(list(reply)))
    text = json.dumps(reply, ensure_ascii=rng.random() < 0.5)
    for _ in range(rng.choice([0, 0, 0, 1, 1, 3])):
        at, piece = rng.randrange(len(text) + 1), rng.choice(PIECES)
        text = rng.choice(
            [text[:at] + piece + text[at:], text[:at] + text[at + 1 :], text[:at], text + piece]
        )
    return rng.choice(["{}", "{}", "{}", "```json\n{}\n```", "Sure: {}", "{} {}"]).replace("{}", text)


def strictly(text):
    """What a strict reader takes the text for: (action, thought), or None."""

    def once(pairs):
        keys = [key for key, _ in pairs]
        assert len(set(keys)) == len(keys)
        return dict(pairs)

    def no(constant):
        raise ValueError(constant)

    body = text.strip()
    if body.startswith("```json\n") and body.endswith("\n```"):
        body = body[8:-4]
    try:
        body.encode()
        found = json.loads(body, object_pairs_hook=once, parse_constant=no)
        json.dumps(found, ensure_ascii=False).encode()
    except (AssertionError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or set(found) - {"thought_process", "action"} or "action" not in found:
        return None
    thought, action = found.get("thought_process", ""), found["action"]
    if not isinstance(thought, str):
        return None
    if action == "TASK_COMPLETE":
        return None, thought
    if not isinstance(action, dict) or set(action) != {"entity_id", "action_name", "arguments"}:
        return None
    entity, name, arguments = action["entity_id"], action["action_name"], action["arguments"]
    if not (isinstance(entity, str) and isinstance(name, str) and isinstance(arguments, dict)):
        return None
    return Action(f"{entity}.{name}", arguments), thought


def test_a_garbled_reply_never_crashes_and_is_never_taken_for_more_than_it_says():
    rng, read, refused = random.Random(7), 0, 0
    for number in range(4_000):
        text = garbled(rng)
        called = number % 10 == 0
        said = (
            Completion("", tool_calls=(ToolCall("1", "decide", text),), finish_reason="tool_calls")
            if called
            else Completion(text)
        )
        try:
            found = read_decision(said)
        except ReplyError as wrong:
            assert str(wrong).strip()
            refused += 1
            continue
        assert found == strictly(text), text
        read += 1
    assert read > 300
    assert refused > 1_500
