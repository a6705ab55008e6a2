"""Reasoning tags, whole and halved, leave the visible answer."""

import pytest

from worldloom.models.reasoning import split_reasoning

CASES = [
    ("plain", ("plain", "")),
    ("  a < b \n", ("  a < b \n", "")),
    ("<think>why</think>\n\nanswer", ("answer", "why")),
    ("\n<think>\nwhy\n</think>answer ", ("answer ", "why")),
    ("why\n</think>\n\nanswer", ("answer", "why")),
    ("<think>cut off", ("", "cut off")),
    ("<think></think>answer", ("answer", "")),
    ("<think>a</think><think>b</think>answer", ("answer", "a\nb")),
    ("<think>a<think>b</think>c</think>answer", ("answer", "a<think>b\nc")),
    ("<Thinking>a</Thinking>answer", ("answer", "a")),
    ('<think>a</think>{"b": "</think>"}', ('{"b": "</think>"}', "a")),
    ('{"b": "<think>x</think>"}', ('{"b": "<think>x</think>"}', "")),
    ("the tag <think> opens it", ("the tag <think> opens it", "")),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_tags_are_split_off_and_nothing_else_is_touched(text: str, expected: tuple[str, str]) -> None:
    assert split_reasoning(text) == expected


@pytest.mark.parametrize("text", ["</think>" * 200_000, "<think></think>" * 200_000], ids=["closing", "both"])
def test_an_answer_of_nothing_but_tags_takes_time_in_proportion_to_its_length(text: str) -> None:
    # Cut at every tag, these texts took minutes, which no run of the tests would bear.
    assert split_reasoning(text) == ("", "")
