"""Four thousand garbled answers before a round: none crashes, and none is taken for more than a strict reader takes."""

import json
import random

from worldloom.agents.deliberation.reply import Allowed, Reply, read_reply
from worldloom.agents.deliberation.telling import Job
from worldloom.core.action import Action
from worldloom.core.errors import ReplyError
from worldloom.models.model import Completion, ToolCall

BUDGETS = {"coding-1": 8.0, "coding-2": 7.5, "design-1": 6.0}
SKILLS = ("coding", "design")
NOTES = {"metacognition": 12, "plan": 12}
ALLOWED = Allowed(
    NOTES, True, [Job(name, name[:-2], budget) for name, budget in BUDGETS.items()], SKILLS, 2, 0.5
)
ODD = [
    None,
    True,
    1,
    -0.5,
    0,
    "",
    "coding",
    "coding-1",
    [],
    {},
    {"x": 1},
    ["coding-1"],
    "\u200b",
    "\ud83d",
    1e308,
    9.0,
    "5",
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
    "1e999",
    "-",
    "\n",
    "\ud800",
    "```",
    "<think>",
    "\0",
    "é",
]


def garbled(rng):
    """An answer with a few things wrong with it, or nothing."""
    bids = [
        {"job": rng.choice([*BUDGETS] * 20 + ODD), "price": rng.choice([0.5, 5, 6.0, 5.75] * 12 + ODD)}
        for _ in range(rng.choice([1, 1, 2, 2, 3]))
    ]
    if rng.random() < 0.1:
        rng.choice(bids)[rng.choice(["job", "price", "sudo"])] = rng.choice(ODD)
    action = rng.choice([{"bid": bids}] * 60 + [{"train": rng.choice([*SKILLS] * 15 + ODD)}] * 40 + ODD)
    if isinstance(action, dict) and rng.random() < 0.1:
        action = {**action, rng.choice(["bid", "train", "name"]): rng.choice(ODD)}
    reply = {
        "metacognition": rng.choice(["good"] * 80 + ODD),
        "plan": rng.choice(["a plan that is far too long"] * 80 + ODD),
        "expected_income": rng.choice([4, 2.5] * 40 + ODD),
        "action": action,
    }
    if rng.random() < 0.2:
        reply.pop(rng.choice([*reply]))
    if rng.random() < 0.05:
        reply["skills"] = {}
    text = json.dumps(reply, ensure_ascii=rng.random() < 0.5)
    for _ in range(rng.choice([0, 0, 0, 0, 1, 3])):
        at, piece = rng.randrange(len(text) + 1), rng.choice(PIECES)
        text = rng.choice(
            [text[:at] + piece + text[at:], text[:at] + text[at + 1 :], text[:at], text + piece]
        )
    return rng.choice(["{}"] * 5 + ["```json\n{}\n```", "Sure: {}", "{} {}"]).replace("{}", text)


def strictly(text):
    """What a strict reader takes the text for, or None."""

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
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except (AssertionError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or set(found) - {*NOTES, "expected_income", "action"}:
        return None
    notes = {name: found.get(name, "") for name in NOTES}
    expected = found.get("expected_income")
    if not all(type(note) is str for note in notes.values()) or type(expected) not in (
        type(None),
        int,
        float,
    ):
        return None
    action = found.get("action")
    if type(action) is not dict or [*action] not in (["bid"], ["train"]):
        return None
    kept = {name: note[:12] for name, note in notes.items()}
    expected = None if expected is None else float(expected)
    if "train" in action:
        known = type(action["train"]) is str and action["train"] in SKILLS
        return Reply(Action("train", {"skill": action["train"]}), kept, expected) if known else None
    bids = action["bid"]
    if type(bids) is not list or not 1 <= len(bids) <= 2:
        return None
    for bid in bids:
        if type(bid) is not dict or {*bid} != {"job", "price"}:
            return None
        job, price = bid["job"], bid["price"]
        if type(job) is not str or job not in BUDGETS or type(price) not in (int, float):
            return None
        if not 0.5 <= price <= BUDGETS[job]:
            return None
    if len({bid["job"] for bid in bids}) < len(bids):
        return None
    wanted = [{"job": bid["job"], "price": float(bid["price"])} for bid in bids]
    return Reply(Action("bid", {"bids": wanted}), kept, expected)


def test_a_garbled_answer_never_crashes_and_is_never_taken_for_more_than_it_says():
    rng, read, refused = random.Random(11), {"bid": 0, "train": 0}, 0
    for number in range(4_000):
        text = garbled(rng)
        called = number % 10 == 0
        said = (
            Completion("", tool_calls=(ToolCall("1", "decide", text),), finish_reason="tool_calls")
            if called
            else Completion(text)
        )
        try:
            found = read_reply(said, ALLOWED)
        except ReplyError as wrong:
            assert str(wrong).strip()
            assert len(str(wrong)) < 400
            assert called or strictly(text) is None, text
            refused += 1
            continue
        assert found == strictly(text), text
        read[found.action.name] += 1
    assert min(read.values()) > 150
    assert refused > 1_500
