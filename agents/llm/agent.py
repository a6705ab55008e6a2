"""The llm agent: a language model decides on one action a turn.

The chat grows by one exchange a turn, so servers reuse the prefix. A reply that is no decision is answered with what
was wrong, at most `retries` times; then the turn is spent. What was cut off is never executed. Of a reply that is
longer than any decision the chat keeps the beginning.
"""

from dataclasses import dataclass, replace
from typing import Any

from worldloom.agents.agent import AgentConfig, Decision
from worldloom.agents.llm.prompt import DONE, prompt_text, reply_schema, task_text
from worldloom.agents.replies import usable_reply
from worldloom.core.action import Action, Feedback
from worldloom.core.canonical import Json
from worldloom.core.errors import ReplyError, UsageError
from worldloom.core.view import View
from worldloom.models.model import Completion, Message, Request
from worldloom.models.reply import LONGEST, parse_object
from worldloom.runs.context import Context


@dataclass(frozen=True, slots=True)
class LLMAgent:
    """Asks the model that the run knows as `model`.

    Attributes:
        retries: how often an unusable reply is sent back within one turn.
        max_tokens: limit on one answer; None leaves it to the model's settings.
        thought_characters: longest rationale that the schema allows; None for no limit.
    """

    model: str = "agent"
    retries: int = 2
    max_tokens: int | None = None
    thought_characters: int | None = None

    async def act(self, memo: Json, view: View, ctx: Context) -> Decision:
        """The memo is the list of texts of the chat after the task: said, heard, said, heard, …"""
        chat: list[Json] = list(memo) if isinstance(memo, list) else []
        if chat:
            chat.append(_heard(view.feedback))
        reply = await usable_reply(
            ctx,
            self.model,
            self._request(view, chat, reply_schema(view, self.thought_characters)),
            read_decision,
            lambda error: prompt_text("again").format(error=error),
            retries=self.retries,
            shown=_said,
        )
        memo = [*chat, _said(reply.completion)]
        if reply.value is None:
            return Decision(None, memo, fault=reply.fault)
        action, rationale = reply.value
        return Decision(action, memo, rationale)

    def _request(self, view: View, chat: list[Json], schema: dict[str, Json]) -> Request:
        messages = [Message.of("system", prompt_text("system")), Message.of("user", task_text(view))]
        for place, text in enumerate(chat):
            messages.append(Message.of("user" if place % 2 else "assistant", str(text)))
        return Request(tuple(messages), schema=schema, max_tokens=self.max_tokens)


def read_decision(completion: Completion) -> tuple[Action | None, str]:
    """The action (None for TASK_COMPLETE) and the rationale of a reply.

    Raises:
        ReplyError: the reply is no decision; the text says to the model what is wrong.
    """
    reply = parse_object(completion)
    unknown = sorted(set(reply) - {"thought_process", "action"})
    if unknown:
        raise ReplyError(f"Unknown key {unknown[0][:40]!r}; allowed are thought_process and action.")
    rationale = reply.get("thought_process", "")
    if not isinstance(rationale, str):
        raise ReplyError("thought_process must be a text.")
    if "action" not in reply:
        raise ReplyError("The key action is missing.")
    action: Any = reply["action"]
    if action == DONE:
        return None, rationale
    if not isinstance(action, dict):
        raise ReplyError(f'action must be "{DONE}" or an object with entity_id, action_name and arguments.')
    if set(action) - {"entity_id", "action_name", "arguments"}:
        raise ReplyError("action may hold entity_id, action_name and arguments only.")
    entity_id, action_name = action.get("entity_id"), action.get("action_name")
    if not isinstance(entity_id, str) or not isinstance(action_name, str):
        raise ReplyError("entity_id and action_name must be texts.")
    arguments = action.get("arguments")
    if not isinstance(arguments, dict):
        raise ReplyError("arguments must be an object; write {} where there are none.")
    return Action(f"{entity_id}.{action_name}", arguments), rationale


def _said(completion: Completion) -> str:
    """A reply as the chat shows it afterwards, also if it was made by tool calls."""
    return _kept(completion.text or "\n".join(call.arguments for call in completion.tool_calls))


def _kept(text: str) -> str:
    """A text as it is, or the beginning of one that is longer than any decision: it is sent again at every turn."""
    return text if len(text) <= LONGEST else f"{text[:_BEGINNING]}… ({len(text):,} characters)"


_BEGINNING = 2_000


def _heard(feedback: Feedback | None) -> str:
    if feedback is None:
        return "Done."
    return feedback.message or ("Done." if feedback.success else "That failed.")


_OPTIONS = ("max_tokens", "thought_characters")


def build(config: AgentConfig) -> LLMAgent:
    """The agent of a run; the scenario is not read.

    Raises:
        UsageError: an option is unknown or no whole number above 0.
    """
    for name, value in config.options.items():
        if name not in _OPTIONS or not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise UsageError(
                f"agent llm: option {name}={value!r}; allowed: {', '.join(_OPTIONS)}, whole numbers above 0"
            )
    return replace(LLMAgent(config.model), **config.options)  # type: ignore[arg-type]  # checked above
