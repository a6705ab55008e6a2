"""Messages: what of a simulator's message can be compared, and whether it gives a rule away.

The rules answer in compact JSON, a model in words of its own; nothing says that they must be alike. Comparable are the
fields that `returns` names after `Format:` or `Message confirms:`, if the rules' answer has them all.
"""

import json
import re
from collections.abc import Iterable, Mapping

from worldloom.core.canonical import Json
from worldloom.core.errors import ReplyError
from worldloom.core.frozen import thaw
from worldloom.core.scenario import Scenario
from worldloom.models.reply import parse_text
from worldloom.worlds.aaw.body import body_of
from worldloom.worlds.aaw.returns import read_returns

LEAK_WORDS = 6
"""Consecutive words of a rule that give it away; shorter rules cannot be told from common speech."""
_NAMED = re.compile(r"^[ \t]*(?:Format|Message (?:confirms|contains|returns))\s*:?\s*\{", re.MULTILINE)
_FIELD = re.compile(r"([\w-]+)\s*:")
_WORD = re.compile(r"\w+")


def named_fields(returns: str) -> tuple[str, ...]:
    """The fields of the message that a `returns` names; none if it names none in a form that can be read."""
    found = _NAMED.search(returns)
    depth, inside = 0, ""
    for character in returns[found.end() - 1 :] if found else "":
        depth += character in "{["
        inside += character if depth == 1 else ""
        depth -= character in "}]"
        if not depth:
            return tuple(dict.fromkeys(_FIELD.findall(inside)))
    return ()


def fields_of(message: str) -> dict[str, Json] | None:
    """The fields of a message that is one JSON object; None if it is none."""
    try:
        return parse_text(message)
    except ReplyError:
        return None


class Leaks:
    """What a message may not give away: `execution_rules`, and what `returns` says after "Fails if"."""

    def __init__(self, scenario: Scenario) -> None:
        body = body_of(scenario)
        states = {key: entity.state.reveal() for key, entity in body.entities.items()}
        hidden = list(scenario.execution_rules.reveal())
        shown = [scenario.user_prompt or "", json.dumps(thaw(body.context), ensure_ascii=False)]
        for entity in body.entities.values():
            shown += [entity.name, entity.description or ""]
            for action in entity.actions:
                fails = read_returns(action.returns.reveal(), action.parameters, states).fails
                hidden += [line.text for line in fails]
                shown += [action.description]
        self._hidden = _runs(hidden) - _runs(shown)

    def found(self, message: str, truth: str, before: Mapping[str, object]) -> bool:
        """Whether a message holds words of a rule that stand neither in the rules' own answer nor in the state."""
        leaked = self._hidden & _runs([message])
        return bool(leaked and leaked - _runs([truth, json.dumps(before, ensure_ascii=False)]))


def _runs(texts: Iterable[str]) -> set[tuple[str, ...]]:
    """All runs of `LEAK_WORDS` words in texts, case aside."""
    found = set()
    for text in texts:
        words = _WORD.findall(text.casefold())
        found |= {tuple(words[at : at + LEAK_WORDS]) for at in range(len(words) - LEAK_WORDS + 1)}
    return found
