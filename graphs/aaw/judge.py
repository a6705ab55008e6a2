"""Judge: a language model that says whether a criterion is met, where nothing can be computed.

Everything that agent, user and world have said is evidence: quoted as JSON between marks that no quoted text can
write. A verdict is one JSON object with one of three labels, read strictly; a reply that is none is asked for once
more, and after that the criterion is unscored. Each criterion is judged twice, with the evidence and the labels in
opposite orders; a verdict that changes with the order is none.
"""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from worldloom.core.canonical import Json, digest
from worldloom.core.errors import ModelError, ReplyError
from worldloom.models.model import Completion, Message, Request
from worldloom.models.reply import parse_object
from worldloom.runs.agreement import Outcome, judged_score
from worldloom.runs.context import Context
from worldloom.runs.rows import Score

LABELS: tuple[Outcome, ...] = ("met", "not_met", "cannot_tell")
ATTEMPTS = 2
LONGEST_TEXT = 2_000
"""Characters of one text in the evidence: who talks at length must not push a criterion out of the judge's window."""
REASONING = 500
"""Characters of a judge's reasoning."""

Evidence = Sequence[tuple[str, Json]]
"""Title and content of each piece, in the order of what happened."""


@dataclass(frozen=True, slots=True)
class Question:
    """A criterion as its author wrote it; `pass_condition` is prose, empty if there is none."""

    criterion: str
    pass_condition: str = ""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What came of asking once; `why` is the reasoning, or what was wrong."""

    outcome: Outcome
    why: str


@dataclass(frozen=True, slots=True)
class Judge:
    """Asks the model that the run knows as `model`."""

    model: str

    async def scores(self, questions: Sequence[Question], evidence: Evidence, ctx: Context) -> list[Score]:
        """One score per question, in their order.

        Raises:
            Ended: the pass was stopped.
        """
        asked = [(question, swapped) for question in questions for swapped in (False, True)]

        async def one(child: Context, item: tuple[Question, bool]) -> Opinion:
            return await self._ask(*item, evidence, child)

        opinions = await ctx.map(one, asked, calls_each=ATTEMPTS)
        return [
            _agreed(question, opinions[2 * place], opinions[2 * place + 1])
            for place, question in enumerate(questions)
        ]

    async def _ask(self, question: Question, swapped: bool, evidence: Evidence, ctx: Context) -> Opinion:
        labels = LABELS[::-1] if swapped else LABELS
        messages = opening(question, evidence[::-1] if swapped else evidence, labels)
        schema, error = reply_schema(labels), ""
        for _ in range(ATTEMPTS):
            try:
                completion = await ctx.model(self.model, Request(messages, schema=schema))
            except ModelError as failure:
                return Opinion("failed", failure.kind)
            if completion.finish_reason == "refusal":  # asking again would be pressing
                return Opinion("unparseable", "it declined")
            try:
                return read_verdict(completion)
            except ReplyError as wrong:
                error = str(wrong)
            said = completion.text[:LONGEST_TEXT] or "(nothing)"
            again = prompt_text("again").format(error=error, labels=_named(labels))
            messages = (*messages, Message.of("assistant", said), Message.of("user", again))
        return Opinion("unparseable", error)


def opening(question: Question, evidence: Evidence, labels: Sequence[Outcome]) -> tuple[Message, ...]:
    """The messages with which a criterion is put to the judge; what differs between criteria comes last."""
    pieces = [
        prompt_text("evidence").format(title=title, content=quoted(content)) for title, content in evidence
    ]
    named = _named(labels)
    case = prompt_text("case").format(
        evidence="\n\n".join(pieces),
        criterion=quoted(question.criterion),
        pass_condition=quoted(question.pass_condition or question.criterion),
        labels=named,
    )
    system = prompt_text("system").format(labels=named, characters=REASONING)
    return Message.of("system", system), Message.of("user", case)


def quoted(content: Json) -> str:
    """JSON in which no mark of the prompt and nothing invisible can stand; a list has one item a line."""
    if isinstance(content, list):
        return "\n".join(quoted(item) for item in content) or "[]"
    return "".join(map(_visible, json.dumps(_shortened(content), ensure_ascii=False)))


def _visible(character: str) -> str:
    if character in "<>&`" or unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"):
        return json.dumps(character)[1:-1] if ord(character) > 127 else f"\\u{ord(character):04x}"
    return character


def _shortened(content: Json) -> Json:
    if isinstance(content, str) and len(content) > LONGEST_TEXT:
        return f"{content[:LONGEST_TEXT]}… ({len(content):,} characters in all)"
    if isinstance(content, Mapping):
        return {str(_shortened(key)): _shortened(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_shortened(item) for item in content]
    return content


def reply_schema(labels: Sequence[Outcome]) -> dict[str, Json]:
    """JSON Schema of a verdict; the reasoning comes first, so that the verdict can follow from it."""
    return {
        "type": "object",
        "properties": {
            "reasoning": {"type": "string", "maxLength": REASONING},
            "verdict": {"type": "string", "enum": [*labels]},
        },
        "required": ["reasoning", "verdict"],
        "additionalProperties": False,
    }


def read_verdict(completion: Completion) -> Opinion:
    """The verdict of a reply.

    Raises:
        ReplyError: the reply is none; the text says to the model what is wrong.
    """
    if completion.tool_calls:
        raise ReplyError("There are no tools; answer with one JSON object.")
    reply: dict[str, Any] = parse_object(completion)
    unknown = sorted(set(reply) - {"reasoning", "verdict"})
    if unknown:
        raise ReplyError(f"Unknown key {unknown[0][:40]!r}; allowed are reasoning and verdict.")
    reasoning, verdict = reply.get("reasoning"), reply.get("verdict")
    if not isinstance(reasoning, str):
        raise ReplyError("reasoning must be a text.")
    for label in LABELS:
        if verdict == label:
            return Opinion(label, reasoning)
    found = "missing" if "verdict" not in reply else repr(verdict)[:40]
    raise ReplyError(f"verdict must be exactly one of {_named(LABELS)}; yours is {found}.")


@cache
def prompt_text(name: str) -> str:
    """The text of `prompts/<name>.md`."""
    return files("worldloom.graphs.aaw").joinpath("prompts", f"{name}.md").read_text("utf-8").strip()


def form() -> str:
    """Digest of everything with which this judge asks: its prompts, its schema, and its rules of quoting."""
    texts: dict[str, Json] = {name: prompt_text(name) for name in ("system", "evidence", "case", "again")}
    return digest({**texts, "schema": reply_schema(LABELS), "quoting": LONGEST_TEXT, "attempts": ATTEMPTS})


def _named(labels: Sequence[Outcome]) -> str:
    return ", ".join(labels)


def _agreed(question: Question, first: Opinion, second: Opinion) -> Score:
    """The score that the opinions in both orders give together."""
    for opinion in (first, second):
        if opinion.outcome not in LABELS:
            return judged_score(question.criterion, opinion.outcome, opinion.why)
    if first.outcome != second.outcome:
        return judged_score(question.criterion, "order", f"{first.outcome}, then {second.outcome}")
    return judged_score(question.criterion, first.outcome, first.why)
