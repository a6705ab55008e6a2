"""Agents that deliberate: each round a model is shown the market and answers with notes and one action.

Every round is a chat of its own, so prompts stay short; what is carried over stands in the memo, which is bounded. A
reply that is no decision is sent back with what was wrong, at most `retries` times; then the round passes without a
move of the agent.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from worldloom.agents.agent import AgentConfig, Decision
from worldloom.agents.deliberation import style as styles
from worldloom.agents.deliberation.reply import Allowed, read_reply
from worldloom.agents.deliberation.style import MODULES, Style
from worldloom.agents.deliberation.telling import offered, prompt_text, round_text
from worldloom.agents.replies import usable_reply
from worldloom.core.canonical import Json
from worldloom.core.errors import UsageError, offer
from worldloom.core.view import View
from worldloom.models.model import Completion, Message, Request
from worldloom.runs.context import Context

_BEGINNING = 2_000
"""Characters of an unusable reply that are sent back."""


@dataclass(frozen=True, slots=True)
class DeliberatingAgent:
    """Asks the model that the run knows as `model`.

    Attributes:
        style: how it thinks.
        max_tokens: limit on one answer.
        thought_characters: length of all its notes of one round together.
        jobs: jobs that it is shown at most.
        bids: jobs that it may bid for at once, at most, whatever the market allows: small models name jobs twice.
        history_rounds: rounds that it is shown, and remembers, at most.
        retries: how often an unusable reply is sent back within one round.
    """

    style: Style
    model: str = "agent"
    max_tokens: int = 300
    thought_characters: int = 360
    jobs: int = 20
    bids: int = 5
    history_rounds: int = 5
    retries: int = 2

    async def act(self, memo: Json, view: View, ctx: Context) -> Decision:
        if not view.actions:
            return Decision(None, memo)
        kept: dict[str, Any] = memo if isinstance(memo, dict) else {}
        jobs = offered(view, self.jobs)
        notes = self.style.limits(self.thought_characters)
        allowed = Allowed.of(view, jobs, self.bids, notes, self.style.expects)
        found = await usable_reply(
            ctx,
            self.model,
            Request(
                tuple(self._opening(kept, view, allowed)), schema=allowed.schema(), max_tokens=self.max_tokens
            ),
            lambda completion: read_reply(completion, allowed),
            lambda error: prompt_text("again").format(error=error, keys=", ".join(allowed.keys)),
            retries=self.retries,
            shown=_said,
        )
        reply = found.value
        if reply is None:
            return Decision(None, memo, fault=found.fault)
        memo = self.style.remembered(kept, view, reply, self.history_rounds)
        return Decision(reply.action, memo, "\n".join(text for text in reply.notes.values() if text))

    def _opening(self, memo: dict[str, Any], view: View, allowed: Allowed) -> list[Message]:
        notes = self.style.reminder(memo, view, self.thought_characters, self.history_rounds)
        told = round_text(view, allowed.jobs, self.history_rounds, allowed.max_bids, notes)
        system = self.style.system(view, self.thought_characters)
        return [Message.of("system", system), Message.of("user", told)]


def _said(completion: Completion) -> str:
    """The beginning of a reply, also if it was made by tool calls."""
    said = completion.text or "\n".join(call.arguments for call in completion.tool_calls)
    return said if len(said) <= _BEGINNING else f"{said[:_BEGINNING]}… ({len(said):,} characters)"


_SETTINGS = ("max_tokens", "thought_characters", "jobs", "bids", "history_rounds")


def react(config: AgentConfig) -> DeliberatingAgent:
    """The agent of the room `react`.

    Raises:
        UsageError: its argument or its options cannot be used.
    """
    _, numbers = _words("react", config, ())
    return _agent("react", styles.react(), config, numbers)


def cot(config: AgentConfig) -> DeliberatingAgent:
    """The agent of the room `cot`; `cot:long` is the control for the length of prompts.

    Raises:
        UsageError: as `react`.
    """
    words, numbers = _words("cot", config, ("long",))
    return _agent("cot", styles.cot(long="long" in words), config, numbers)


def ssa(config: AgentConfig) -> DeliberatingAgent:
    """The agent of the room `ssa`; `ssa:no-metacognition`, `no-competitors`, `no-planning` are its ablations.

    Raises:
        UsageError: as `react`, or nothing is left of it.
    """
    ablations = dict(zip(("no-metacognition", "no-competitors", "no-planning"), MODULES, strict=True))
    words, numbers = _words("ssa", config, ablations)
    if len(set(words)) == len(MODULES):
        raise UsageError(
            f"agent ssa: {config.argument!r} leaves nothing of it\n  allowed: at most two of these"
        )
    return _agent("ssa", styles.ssa(tuple(ablations[word] for word in words)), config, numbers)


def _words(name: str, config: AgentConfig, known: Iterable[str]) -> tuple[list[str], dict[str, Json]]:
    """The words of an argument such as `no-planning,max_tokens=200`, and its settings."""
    words: list[str] = []
    settings: dict[str, Json] = {}
    for word in config.argument.split(",") if config.argument else ():
        setting, equals, value = word.strip().partition("=")
        if not equals and setting in known:
            words.append(setting)
        elif equals and setting in _SETTINGS and value.isascii() and value.isdigit() and len(value) < 10:
            settings[setting] = int(value)
        else:
            allowed = [*known, *(f"{one}=NUMBER" for one in _SETTINGS)]
            raise UsageError(f"agent {name}: the argument {word.strip()!r}{offer(word.strip(), allowed)}")
    return words, settings


def _agent(name: str, style: Style, config: AgentConfig, settings: dict[str, Json]) -> DeliberatingAgent:
    settings = {**config.options, **settings}
    for setting, value in settings.items():
        if setting not in _SETTINGS or not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise UsageError(
                f"agent {name}: option {setting}={value!r}\n"
                f"  allowed: {', '.join(_SETTINGS)}, whole numbers above 0"
            )
    return replace(DeliberatingAgent(style, config.model), **settings)  # type: ignore[arg-type]  # checked above
