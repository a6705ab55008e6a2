"""Secrets become placeholders before anything is hashed or written, and replay and resume still agree."""

import json

import pytest

from worldloom.core.canonical import canonical, parse
from worldloom.core.errors import ModelError
from worldloom.models.model import Completion, ToolCall, Usage
from worldloom.runs.redact import redactor

SECRET = "sesame-4711-open"
ENVIRONMENT = {"SHOP_API_KEY": SECRET, "HOME": "/home/someone", "SHORT_TOKEN": "abc"}


def leaky(ask, turns=3):
    """Sends the secret, gets it back in every part of an answer, records it, and passes it on."""

    async def play(ctx):
        for turn in range(turns):
            answer = await ctx.model("agent", ask(f"{turn}: my key is {SECRET}"))
            ctx.emit("said.1", {"text": answer.text, "call": answer.tool_calls[0].arguments, "key": SECRET})
            ctx.emit("long.1", {"text": (answer.text + SECRET) * 500})
            answer = await ctx.model("agent", ask(answer.text))

    return play


def parrot(request):
    text = request.messages[-1].content[0].text
    return Completion(
        f"you said: {text}",
        reasoning=f"hm, {SECRET}",
        tool_calls=(ToolCall("1", "pay", json.dumps({"key": SECRET})),),
        usage=Usage(3, 4),
        telemetry={"server": f"host with {SECRET} in its name"},
    )


@pytest.fixture
def mend():
    return redactor(ENVIRONMENT)


def test_a_secret_in_prompt_answer_fact_or_telemetry_is_never_on_disk(desk, echo, ask, mend):
    (row,) = desk.play(leaky(ask), models={"agent": echo(parrot)}, mend=mend)
    assert row.reason == "finished"
    disk = desk.everything_on_disk()
    assert SECRET.encode() not in disk
    assert b"<secret:SHOP_API_KEY>" in disk


def test_without_a_redactor_the_same_search_finds_it(desk, echo, ask):
    desk.play(leaky(ask), models={"agent": echo(parrot)})
    assert SECRET.encode() in desk.everything_on_disk()


def test_the_program_hears_the_placeholder_too_so_live_and_replay_agree(desk, echo, ask, mend):
    desk.play(leaky(ask), models={"agent": echo(parrot)}, mend=mend)
    assert desk.events()[1][1]["text"] == "you said: 0: my key is <secret:SHOP_API_KEY>"
    desk.replay(leaky(ask), models={"agent": echo(parrot)}, mend=mend)


def test_a_resumed_run_equals_the_uninterrupted_one(desk, new_desk, echo, ask, mend):
    class Dying(echo):
        async def complete(self, request):
            if self.asked == 3:
                desk.executor.stop("cancelled")
            return await super().complete(request)

    (row,) = desk.play(leaky(ask), models={"agent": Dying(parrot)}, mend=mend)
    assert row.status == "cancelled"
    (row,) = desk.play(leaky(ask), models={"agent": echo(parrot)}, mend=mend)
    (whole,) = new_desk("whole").play(leaky(ask), models={"agent": echo(parrot)}, mend=mend)
    assert row.fingerprint == whole.fingerprint
    assert SECRET.encode() not in desk.everything_on_disk()


@pytest.mark.parametrize(
    "fault", [ModelError("auth", f"401: {SECRET} is not valid"), KeyError(SECRET), ValueError(f"at {SECRET}")]
)
def test_a_secret_in_the_text_of_an_error_is_never_on_disk(desk, echo, ask, mend, fault):
    async def play(ctx):
        if isinstance(fault, ValueError):
            raise fault
        await ctx.model("agent", ask("hello"))

    (row,) = desk.play(play, models={"agent": echo(lambda request: fault)}, mend=mend)
    assert "<secret:SHOP_API_KEY>" in row.detail
    assert SECRET.encode() not in desk.everything_on_disk()


def test_a_secret_in_what_a_tool_is_told_and_answers_is_never_on_disk(desk, mend):
    class Tool:
        name, parameters, effect_class = "vault", {}, "once"

        async def call(self, arguments, idempotency_key):
            return {"echo": dict(arguments), SECRET: 1}

    async def play(ctx):
        ctx.emit("told.1", {"answer": await ctx.tool(Tool(), {"key": SECRET})})

    desk.play(play, mend=mend)
    assert SECRET.encode() not in desk.everything_on_disk()
    desk.replay(play, mend=mend)


@pytest.mark.parametrize(
    "secret", ['with "quotes" in', "back\\slash\\ed", "two\nlines\nof it", "ümläute-ß", "a\u2028 separator"]
)
def test_a_secret_that_json_writes_differently_is_found(secret):
    mended = parse(redactor({"A_TOKEN": secret})(canonical({"text": f"<{secret}>", secret: [secret]})))
    assert mended == {"text": "<<secret:A_TOKEN>>", "<secret:A_TOKEN>": ["<secret:A_TOKEN>"]}


def test_of_two_secrets_the_longer_one_wins_where_one_begins_like_the_other():
    mend = redactor({"A_TOKEN": "12345678", "B_TOKEN": "12345678-and-more"})
    assert mend(b"12345678-and-more 12345678") == b"<secret:B_TOKEN> <secret:A_TOKEN>"


def spelt(text, how):
    """A text within JSON within JSON, its characters escaped in some lawful way."""
    inner = {
        "all": "".join(f"\\u{ord(char):04x}" if ord(char) < 0x10000 else json.dumps(char)[1:-1] for char in text),
        "upper": "".join(f"\\u{ord(char):04X}" if char.isalpha() and ord(char) < 0x10000 else json.dumps(char)[1:-1]
                         for char in text),
        "usual": json.dumps(text)[1:-1],
        "raw": json.dumps(text, ensure_ascii=False)[1:-1],
        "slashes": json.dumps(text)[1:-1].replace("/", "\\/"),
    }[how]  # fmt: skip
    answer = f'{{"thought_process": "one\\\\ntwo: {inner}!", "path": "C:\\\\\\\\x"}}'
    assert json.loads(answer)["thought_process"] == f"one\\ntwo: {text}!"
    return answer


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("how", ["all", "upper", "usual", "raw", "slashes"])
@pytest.mark.parametrize(
    "secret",
    [
        "sk-PLAIN/secret/0987",
        'with "quotes" in',
        "back\\slash\\ed",
        "two\nlines\nof it",
        "ümläute-ß\U0001f511",
    ],
)
def test_a_secret_in_json_within_json_is_found_however_it_is_escaped(secret, how, depth):
    text = spelt(secret, how)
    for _ in range(depth - 1):
        text = json.dumps({"again": text})
    mended = parse(redactor({"A_TOKEN": secret})(canonical({"text": text, "other": [secret, "a"]})))
    assert mended["other"] == ["<secret:A_TOKEN>", "a"]
    inner = mended["text"]
    for _ in range(depth - 1):
        inner = json.loads(inner)["again"]
    assert json.loads(inner) == {"thought_process": "one\\ntwo: <secret:A_TOKEN>!", "path": "C:\\\\x"}


def test_a_secret_with_quotes_in_it_does_not_match_the_quotes_of_the_json_around():
    data = canonical({"list": ["abcdefgh", "ijklmnop"], "text": "\\\\"})
    assert redactor({"A_TOKEN": 'abcdefgh","ijklmnop'})(data) == data
