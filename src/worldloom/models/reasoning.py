"""Reasoning out of the visible answer.

Servers without a reasoning parser leave `<think>…</think>` in the text; templates that open the tag in the prompt
leave only the closing one; a token limit leaves only the opening one. All three are told apart here. A tag
inside a JSON answer is content and stays.
"""

import json
import re

_OPENING = re.compile(r"\s*<(think|thinking|thought|reasoning)>", re.IGNORECASE)
_CLOSING = re.compile(r"</(?:think|thinking|thought|reasoning)>\s*", re.IGNORECASE)


def split_reasoning(text: str) -> tuple[str, str]:
    """The visible answer and the reasoning before it.

    Nothing but tags, what stands before or between them, and the blanks after them is taken from the text.
    """
    if "<" not in text:
        return text, ""
    thoughts: list[str] = []
    at = 0  # the text is never cut on the way: an answer of nothing but tags would cost the square of its length
    while True:
        opening = _OPENING.match(text, at)
        start = opening.end() if opening else at
        closing = _CLOSING.search(text, start)
        if closing is None:
            if opening is not None:  # cut off while thinking
                thoughts.append(text[start:])
                at = len(text)
            break
        if opening is None and text[at : at + 1] != "<" and _is_json(text[at:]):
            break
        thoughts.append(text[start : closing.start()])
        at = closing.end()
    return text[at:], "\n".join(thought.strip() for thought in thoughts if thought.strip())


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
