"""What a model sends back is hostile: it is parsed strictly, answered with one sentence, and never repaired."""

import asyncio
import json
from collections.abc import Callable

import pytest

from worldloom.agents.llm.agent import LLMAgent, read_decision
from worldloom.core.action import Action, ActionSpec, Feedback
from worldloom.core.errors import Ended, ReplyError
from worldloom.core.view import View
from worldloom.models.model import Completion, Request, ToolCall
from worldloom.models.scripted import ScriptedModel
from worldloom.runs.context import Context

NO_ARGUMENTS = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
VIEW = View("Ring.", {}, {"bell": "Bell (device)"}, (ActionSpec("bell.ring", "Ring it.", NO_ARGUMENTS),))
RING = '{"thought_process": "why", "action": {"entity_id": "bell", "action_name": "ring", "arguments": {}}}'

BAD = {
    "empty": "",
    "null": "null",
    "prose": "I will ring the bell.",
    "prose before": f"Sure! {RING}",
    "text after": f"{RING} Done!",
    "two objects": RING + RING,
    "a list": f"[{RING}]",
    "cut JSON": RING[:-10],
    "single quotes": RING.replace('"', "'"),
    "no action": '{"thought_process": "why"}',
    "null action": '{"thought_process": "why", "action": null}',
    "another word": '{"thought_process": "why", "action": "TASK_COMPLETED"}',
    "no arguments": '{"thought_process": "", "action": {"entity_id": "bell", "action_name": "ring"}}',
    "null arguments": RING.replace("{}", "null"),
    "arguments as text": RING.replace("{}", '"{}"'),
    "a number for a name": RING.replace('"ring"', "3"),
    "an extra key": RING.replace('"arguments"', '"sudo": true, "arguments"'),
    "an extra key outside": RING.replace('"thought_process"', '"admin": 1, "thought_process"'),
    "a key twice": RING.replace('"thought_process": "why"', '"thought_process": "a", "thought_process": "b"'),
    "a thought that is no text": RING.replace('"why"', '["why"]'),
    "not a number": RING.replace("{}", '{"x": NaN}'),
    "infinity": RING.replace("{}", '{"x": 1e999}'),
    "half a character": RING.replace('"why"', '"\\ud83d"'),
    "too deep": RING.replace("{}", '{"x":' + "[" * 5000 + "]" * 5000 + "}"),
}


def play(answer: Callable[[Request], Completion | str], **settings: int):
    """One turn; returns the decision and every request."""
    asked: list[Request] = []

    def answering(request: Request) -> Completion | str:
        asked.append(request)
        return answer(request)

    ctx = Context.null({"agent": ScriptedModel(answering)})
    return asyncio.run(LLMAgent(**settings).act(None, VIEW, ctx)), asked


@pytest.mark.parametrize("text", BAD.values(), ids=BAD.keys())
def test_a_reply_that_is_no_decision_is_sent_back_with_one_sentence_and_then_spends_the_turn(
    text: str,
) -> None:
    decision, asked = play(lambda request: text)
    assert decision.action is None
    assert decision.fault
    assert len(asked) == 3, "asked once, and twice again"
    complaint = asked[1].messages[-1]
    assert complaint.role == "user"
    assert decision.fault in complaint.content[0].text  # type: ignore[union-attr]


def test_an_answer_that_was_cut_off_is_never_executed_even_if_it_parses() -> None:
    decision, _ = play(lambda request: Completion(RING, finish_reason="length"))
    assert decision.action is None
    assert "cut off" in decision.fault


def test_of_an_answer_longer_than_any_decision_the_chat_keeps_the_beginning() -> None:
    long = RING.replace("why", "x" * 1_000_000)
    decision, asked = play(lambda request: long)
    assert decision.action is None
    assert "at most 100,000" in decision.fault
    for request in asked:
        assert sum(len(message.content[0].text) for message in request.messages) < 20_000  # type: ignore[union-attr]
    assert len(decision.memo[-1]) < 2_100  # type: ignore[index, arg-type]


def test_a_refusal_ends_the_episode_and_is_not_asked_again() -> None:
    asked: list[Request] = []

    def refuse(request: Request) -> Completion:
        asked.append(request)
        return Completion("I will not do that.", finish_reason="refusal")

    ctx = Context.null({"agent": ScriptedModel(refuse)})
    with pytest.raises(Ended) as caught:
        asyncio.run(LLMAgent().act(None, VIEW, ctx))
    assert caught.value.reason == "refused"
    assert len(asked) == 1


def test_a_good_reply_after_a_bad_one_counts_and_only_it_stays_in_the_chat() -> None:
    decision, asked = play(lambda request: RING if len(request.messages) > 2 else "Let me think.")
    assert decision.action == Action("bell.ring", {})
    assert decision.memo == [RING]
    assert len(asked) == 2


@pytest.mark.parametrize("text", [RING, f"```json\n{RING}\n```", f"  {RING}\n"])
def test_a_decision_may_stand_bare_or_in_one_fence(text: str) -> None:
    action, rationale = read_decision(Completion(text))
    assert (action, rationale) == (Action("bell.ring", {}), "why")


def test_a_decision_may_come_as_one_tool_call_and_not_as_two() -> None:
    call = ToolCall("1", "decide", RING)
    assert read_decision(Completion("", tool_calls=(call,), finish_reason="tool_calls"))[0] is not None
    with pytest.raises(ReplyError, match="exactly one"):
        read_decision(Completion("", tool_calls=(call, call), finish_reason="tool_calls"))


def test_the_schema_allows_the_actions_in_view_and_the_word_that_ends_the_task() -> None:
    _, (request,) = play(lambda request: RING, thought_characters=60, max_tokens=64)
    assert request.max_tokens == 64
    shown = json.dumps(request.schema)
    assert '"maxLength": 60' in shown
    assert '"bell"' in shown
    assert '"TASK_COMPLETE"' in shown


def test_the_chat_grows_by_one_exchange_a_turn_and_begins_the_same() -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return RING

    async def turns() -> None:
        ctx, agent, memo, view = Context.null({"agent": ScriptedModel(answer)}), LLMAgent(), None, VIEW
        for turn in range(3):
            decision = await agent.act(memo, view, ctx)
            memo = decision.memo  # type: ignore[assignment]
            feedback = Feedback(True, f"rung {turn}")
            view = View(VIEW.task, VIEW.context, VIEW.places, VIEW.actions, feedback, turn + 1)

    asyncio.run(turns())
    lengths = [len(request.messages) for request in asked]
    assert lengths == [2, 4, 6]
    assert asked[2].messages[:4] == asked[1].messages
    assert [m.role for m in asked[2].messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert asked[2].messages[-1].content[0].text == "rung 1"  # type: ignore[union-attr]
