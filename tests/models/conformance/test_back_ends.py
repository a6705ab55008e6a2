"""Every back end keeps every promise; the promises are in model_cases.py, the back ends in conftest.py."""

import asyncio
from typing import Any

import pytest
from model_cases import CASES, Able, answered, asked

from worldloom.models.model import Model


def in_a_loop(model: Model, able: Able, case: Any) -> None:
    async def main() -> None:
        try:
            await case(model, able)
        finally:
            await model.aclose()

    asyncio.run(main())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_every_back_end_keeps_the_promise(back_end: Any, case: Any) -> None:
    in_a_loop(back_end.open(), back_end.able, case)


def test_one_model_works_in_two_event_loops_and_closes_twice(back_end: Any) -> None:
    async def said(model: Model, able: Able) -> None:
        await answered(model, asked("Say hello.", max_tokens=5))

    model = back_end.open()
    for _ in range(2):
        in_a_loop(model, back_end.able, said)
    asyncio.run(model.aclose())


def test_identity_is_stable_and_names_no_place(back_end: Any) -> None:
    identity = back_end.open().id
    assert identity == back_end.open().id
    assert "127.0.0.1" not in identity
    assert "/home" not in identity


def test_the_context_length_is_known_where_somebody_tells(back_end: Any) -> None:
    async def known(model: Model, able: Able) -> None:
        assert await model.context_length() == able.context_tokens

    in_a_loop(back_end.open(), back_end.able, known)
