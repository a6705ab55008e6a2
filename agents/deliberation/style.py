"""Style: how an agent is told to think, which notes it writes, and what of them it is shown again.

react: one thought a round; the thoughts of the last rounds are shown beside what came of them.
cot: chain of thought; nothing is carried over. As `long` its texts are as long as those of ssa, with remarks on layout.
ssa: strategic self-improvement: metacognition, competitors, plan; the notes of the last round are shown again, and what
was expected beside what was earned. Each module can be left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from worldloom.agents.deliberation.reply import EXPECTED, Reply
from worldloom.agents.deliberation.telling import incomes, prompt_text
from worldloom.core.canonical import Json
from worldloom.core.view import View

MODULES = ("metacognition", "competitors", "plan")
"""The modules of ssa, in the order in which they are written; each is a note and a prompt."""


@dataclass(frozen=True, slots=True)
class Style:
    """A way to think.

    Attributes:
        name: react, cot or ssa.
        prompts: its instructions, by name, in their order.
        notes: texts that it writes before it acts.
        long: whether its texts are stretched to the length of those of ssa.
    """

    name: str
    prompts: tuple[str, ...]
    notes: tuple[str, ...]
    long: bool = False

    @property
    def expects(self) -> bool:
        """Whether it says what it expects to earn."""
        return "metacognition" in self.notes

    def limits(self, characters: int) -> dict[str, int]:
        """Characters of each note; all together have the same number in every style."""
        return {name: max(1, characters // len(self.notes)) for name in self.notes}

    def system(self, view: View, characters: int) -> str:
        """The first message: the task, how to think, how to answer. The same in every round."""
        texts = [prompt_text(name) for name in self.prompts]
        if self.long:
            room = len(ssa().system(view, characters)) - len(_joined(view, self, texts, characters))
            texts.append(_filler(room - len(_GAP)))
        return _joined(view, self, texts, characters)

    def reminder(self, memo: Mapping[str, Any], view: View, characters: int, history_rounds: int) -> str:
        """What of its earlier notes is shown again, with a heading; empty if nothing is."""
        if self.long and view.step:
            return f"## Remarks\n{_filler(characters)}"
        if self.name == "react":
            kept = [f"- round {one['round'] + 1}: {one['thought']}" for one in memo.get("thoughts", [])]
            return "\n".join(["## Your thoughts then", *kept]) if kept else ""
        notes = {name: memo.get("notes", {}).get(name) for name in self.notes if self.name == "ssa"}
        lines = [f"- {name}: {text}" for name, text in notes.items() if text]
        earned = incomes(view)
        compared = [
            f"- round {one['round'] + 1}: expected {one['income']:.2f}, earned {earned[one['round']]:.2f}"
            for one in memo.get("expected", [])[-history_rounds:]
            if one["round"] in earned
        ]
        parts = [("## Your notes", lines), ("## What you expected", compared)]
        return _GAP.join("\n".join([heading, *rows]) for heading, rows in parts if rows)

    def remembered(
        self, memo: Mapping[str, Any], view: View, reply: Reply, history_rounds: int
    ) -> dict[str, Json]:
        """The memo after a round; it does not grow beyond `history_rounds` rounds."""
        now: Any = view.context["round"]
        if self.name == "react":
            thought = {"round": now, "thought": reply.notes["thought"]}
            return {"thoughts": [*memo.get("thoughts", []), thought][-history_rounds:]}
        if self.name != "ssa":
            return {}
        expected = list(memo.get("expected", []))
        if reply.expected is not None:
            expected.append({"round": now, "income": reply.expected})
        return {"notes": dict(reply.notes), "expected": expected[-history_rounds:]}


def react() -> Style:
    """Thought, action, observation."""
    return Style("react", ("react",), ("thought",))


def cot(*, long: bool = False) -> Style:
    """Chain of thought."""
    return Style("cot", ("cot",), ("reasoning",), long)


def ssa(without: tuple[str, ...] = ()) -> Style:
    """Strategic self-improvement, without some of its modules."""
    left = tuple(name for name in MODULES if name not in without)
    return Style("ssa", ("ssa", *left), left)


_GAP = "\n\n"


def _joined(view: View, style: Style, texts: list[str], characters: int) -> str:
    lengths = style.limits(characters)
    said = "".join(f"{name}: a text of at most {length} characters.\n" for name, length in lengths.items())
    number = f"{EXPECTED}: a number.\n" if style.expects else ""
    keys = ", ".join([*style.notes, *((EXPECTED,) if style.expects else ()), "action"])
    return _GAP.join([view.task, *texts, prompt_text("answer").format(keys=keys, texts=said + number)])


def _filler(characters: int) -> str:
    """So many characters of text that is of no use to anyone; it begins again where it ends."""
    text = prompt_text("filler") + " "
    return (text * (1 + max(0, characters) // len(text)))[: max(0, characters)]
