"""Replies of judges: a verdict is one exact label in one exact object, and nothing else ever is."""

import json
import random
import re

import pytest

from worldloom.core.errors import ReplyError
from worldloom.graphs.aaw.judge import LABELS, read_verdict
from worldloom.models.model import Completion, ToolCall


def reply(verdict="met", reasoning="The door is locked."):
    return json.dumps({"reasoning": reasoning, "verdict": verdict}, ensure_ascii=False)


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("form", ["{}", " \n{}\n", "```json\n{}\n```", "```\n{}\n```\n"])
def test_each_label_is_read_alone_or_fenced(label, form):
    opinion = read_verdict(Completion(form.replace("{}", reply(label))))
    assert (opinion.outcome, opinion.why) == (label, "The door is locked.")


def test_a_reasoning_that_quotes_another_reply_changes_nothing():
    for quoted in (
        reply("met"),
        '"verdict": "met"',
        '"}\n{"verdict": "met"}',
        "```json\n" + reply("met") + "\n```",
    ):
        assert read_verdict(Completion(reply("not_met", quoted))).outcome == "not_met"


HOSTILE = {
    "nothing": "",
    "blanks": " \n\t ",
    "a bare label": "met",
    "a quoted label": '"met"',
    "prose": "The criterion is met.",
    "prose with a label": "verdict: met",
    "prose before": f"Sure! {reply()}",
    "prose after": f"{reply()} So it is met.",
    "two objects": f"{reply()}\n{reply('not_met')}",
    "the same object twice": f"{reply()}{reply()}",
    "two fences": f"```json\n{reply()}\n```\n```json\n{reply('not_met')}\n```",
    "an open fence": f"```json\n{reply()}",
    "a list": f"[{reply()}]",
    "null": "null",
    "true": "true",
    "a number": "1",
    "an empty object": "{}",
    "no verdict": '{"reasoning": "It is met."}',
    "no reasoning": '{"verdict": "met"}',
    "a third key": '{"reasoning": "", "verdict": "met", "passed": true}',
    "a key of another case": '{"reasoning": "", "Verdict": "met"}',
    "a key with a blank": '{"reasoning": "", "verdict ": "met"}',
    "a look-alike key": '{"reasoning": "", "vеrdict": "met"}',
    "the published form": '{"criterion": "x", "passed": true, "reasoning": ""}',
    "a verdict twice": '{"reasoning": "", "verdict": "not_met", "verdict": "met"}',
    "the same verdict twice": '{"reasoning": "", "verdict": "met", "verdict": "met"}',
    "reasoning twice": '{"reasoning": "", "verdict": "met", "reasoning": ""}',
    "an escaped key twice": '{"reasoning": "", "verdict": "met", "verd\\u0069ct": "not_met"}',
    "upper case": reply("MET"),
    "title case": reply("Met"),
    "blank before": reply(" met"),
    "blank after": reply("met "),
    "line break after": reply("met\n"),
    "a full stop": reply("met."),
    "a label within a word": reply("unmet"),
    "a label within another": reply("not met"),
    "a hyphen": reply("not-met"),
    "full-width letters": reply("ｍｅｔ"),
    "cyrillic letters": reply("mеt"),
    "mathematical letters": reply("𝗆𝖾𝗍"),
    "a zero-width blank": reply("m\u200bet"),
    "a combining mark": reply("met\u0301"),
    "a bidi mark": reply("\u202emet"),
    "two labels": reply("met, not_met"),
    "a true verdict": reply(True),
    "a numeric verdict": reply(1),
    "a list of labels": reply(["met"]),
    "an object as verdict": reply({"met": True}),
    "no verdict but null": reply(None),
    "reasoning is no text": reply("met", ["met"]),
    "half a character": '{"reasoning": "\\ud800", "verdict": "met"}',
    "single quotes": "{'reasoning': '', 'verdict': 'met'}",
    "a comment": '{"reasoning": "", /* */ "verdict": "met"}',
    "a comma too many": '{"reasoning": "", "verdict": "met",}',
    "cut off": reply()[:-1],
    "cut off in the label": '{"reasoning": "", "verdict": "met',
    "deep": '{"reasoning": "", "verdict": ' + "[" * 5_000,
    "long": reply("met", "x" * 200_000),
    "NaN": '{"reasoning": NaN, "verdict": "met"}',
    "a byte order mark": "\ufeff" + reply(),
    "xml": "<verdict>met</verdict>",
    "yaml": "reasoning: fine\nverdict: met",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_verdict_is_refused_with_a_reason(text):
    with pytest.raises(ReplyError, match=r"[.!]$"):
        read_verdict(Completion(text))


def test_an_answer_that_was_cut_off_is_refused_even_if_it_reads_well():
    with pytest.raises(ReplyError, match="cut off"):
        read_verdict(Completion(reply(), finish_reason="length"))


def test_a_tool_call_is_no_verdict():
    call = ToolCall("1", "verdict", reply())
    with pytest.raises(ReplyError, match="no tools"):
        read_verdict(Completion(reply(), tool_calls=(call,), finish_reason="tool_calls"))


def is_verdict(text):
    """The label of a reply that is one, by another reading than the one under test."""
    body = re.sub(r"\A```[A-Za-z0-9]*[ \t]*\r?\n|\r?\n?[ \t]*```\Z", "", text.strip())
    try:
        pairs = json.loads(body, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return None
    if not isinstance(pairs, list) or not all(isinstance(pair, tuple) for pair in pairs):
        return None
    if sorted(key for key, _ in pairs) != ["reasoning", "verdict"]:
        return None
    found = dict(pairs)
    good = isinstance(found["reasoning"], str) and found["verdict"] in list(LABELS)
    return found["verdict"] if good and len(body) <= 100_000 else None


def garbled(rng):
    """A reply with a few things wrong with it, or nothing."""
    verdict = rng.choice([*LABELS, "unmet", "Met", "ｍｅｔ", "mеt", True, None, ["met"]])
    text = reply(verdict, rng.choice(["", "fine", reply(), '"verdict": "met"', "}{", "```"]))
    for _ in range(rng.choice([0, 0, 1, 1, 2, 5])):
        at = rng.randrange(len(text) + 1)
        piece = rng.choice(
            ['"', "{", "}", "[", ",", ":", "\\", "met", "\n", " ", "\u200b", "\ud800", "```", "е", "\0"]
        )
        text = rng.choice(
            [text[:at] + piece + text[at:], text[:at] + text[at + 1 :], text[:at], text + piece, piece + text]
        )
    return rng.choice(["{}", "{}", "```json\n{}\n```", "Here: {}", "{} {}"]).replace("{}", text)


def test_four_thousand_garbled_replies_never_crash_and_never_make_a_verdict():
    rng = random.Random(20)
    read, refused = 0, 0
    for _ in range(4_000):
        text = garbled(rng)
        expected = is_verdict(text)
        try:
            found = read_verdict(Completion(text)).outcome
        except ReplyError:
            refused += 1
            continue
        assert found == expected, text
        read += 1
    assert read > 100
    assert refused > 500
