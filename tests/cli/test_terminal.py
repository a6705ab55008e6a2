"""What is printed in many places is told in one way: counts, numbers with an interval, commands, tables that fit."""

from pathlib import Path

import pytest
from rich.console import Console

from worldloom.cli.terminal import command, counted, fitting, table, with_interval


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("scenario", 0), "0 scenarios"),
        (("scenario", 1), "1 scenario"),
        (("scenario", 1200), "1,200 scenarios"),
        (("criterion", 1, "criteria"), "1 criterion"),
        (("criterion", 2, "criteria"), "2 criteria"),
    ],
)
def test_one_is_singular_and_all_else_plural(words, told):
    assert counted(*words) == told


@pytest.mark.parametrize(
    ("numbers", "options", "told"),
    [
        ((None, None, None), {}, "–"),
        ((0.5, None, None), {}, "0.50"),
        ((0.5, 0.25, 1.0), {}, "0.50 [0.25, 1.00]"),
        ((0.5, -0.25, 1.0), {"sign": "+", "between": "\n"}, "+0.50\n[-0.25, +1.00]"),
    ],
)
def test_a_number_has_its_interval_if_there_is_one(numbers, options, told):
    assert with_interval(*numbers, **options).plain == told


def test_a_command_can_be_typed_whatever_is_in_it():
    assert command("runs", "show", Path("a b")) == "worldloom runs show 'a b'"


@pytest.mark.parametrize(
    ("width", "parts"),
    [(20, [["aaaaaaaa"], ["bbbbbbbb"], ["c"]]), (24, [["aaaaaaaa"], ["bbbbbbbb", "c"]]), (80, None)],
)
def test_columns_are_spread_over_as_many_tables_as_it_takes(width, parts):
    columns = ["aaaaaaaa", "bbbbbbbb", "c"]
    made = fitting(Console(width=width), columns, lambda some: table("variant    ", *some))
    found = [[str(one.header) for one in each.columns[1:]] for each in made]
    assert found == (parts or [columns])


def test_without_columns_there_is_one_table():
    assert len([*fitting(Console(width=80), [], lambda some: table("variant", *some))]) == 1
