"""Pictures: plain data with a JSON form, in which every number is finite."""

import json
import math

import pytest

from worldloom.core.errors import UsageError
from worldloom.core.picture import (
    Bar,
    Bars,
    Edge,
    Frame,
    Lines,
    Network,
    Node,
    Page,
    Scatter,
    Series,
    Table,
    chosen,
)

NAN, INF = math.nan, math.inf
LINES = Lines(
    "wealth",
    "Wealth",
    "What they have.",
    "round",
    "coins",
    (Series("a", (0, 1), (1.5, NAN), (1, 2), (INF, 3)),),
)
SCATTER = Scatter("spread", "Spread", "Points.", "x", "y", (Series("a", (0, -INF), (1, 2)),))
BARS = Bars("earners", "Earners", "Who has what.", "coins", ("g",), (Bar("a", "g", NAN), Bar("b", "g", 2.0)))
NETWORK = Network(
    "market", "Market", "Bids.", "agents", "jobs", "bids", "won", ("g",),
    (Node("a", "g"),), (Node("j", "s"), Node("k", "s")),
    (Frame("all", (Edge(0, 0, 2, 1), Edge(0, 1, 1, 0))), Frame("round-0", (Edge(0, 0, 1, 1),))),
)  # fmt: skip
TABLE = Table(
    "diary", "Diary", "Rows.", ("round", "earned"), (Page("a", ((0, NAN), (1, 2.5))), Page("b", ()))
)
ALL = [LINES, SCATTER, BARS, NETWORK, TABLE]


@pytest.mark.parametrize("picture", ALL, ids=lambda one: one.name)
def test_a_picture_is_json_whatever_its_numbers_are(picture):
    shown = json.loads(json.dumps(picture.to_json(), allow_nan=False))
    assert shown["kind"] == type(picture).__name__.lower()
    assert (shown["name"], shown["title"], shown["about"]) == (picture.name, picture.title, picture.about)


def test_what_is_not_finite_is_a_gap():
    assert LINES.series[0].y == (1.5, None)
    assert LINES.series[0].high == (None, 3.0)
    assert SCATTER.series[0].x == (0.0, None)
    assert [bar.value for bar in BARS.bars] == [None, 2.0]
    assert TABLE.pages[0].rows == ((0, None), (1, 2.5))


@pytest.mark.parametrize(
    "values", [((0,), (0, 1)), ((0, 1), (0, 1), (0,), (0,)), ((0, 1), (0, 1), (0, 1)), ((), (), (1,), (1,))]
)
def test_a_series_has_as_many_of_one_as_of_another(values):
    with pytest.raises(UsageError, match="allowed: as many of each"):
        Series("a", *values)


@pytest.mark.parametrize("name", ["", "Wealth", "../wealth", "a.b", "a:b", "a/b", "-a", "é"])
def test_a_name_is_one_that_can_be_typed_and_that_a_file_can_have(name):
    with pytest.raises(UsageError, match="allowed: lower case letters"):
        Lines(name, "t", "a", "x", "y", ())


@pytest.mark.parametrize(
    ("wanted", "parts"),
    [
        ("wealth", ()),
        ("market", ("all", "round-0")),
        ("market:round-0", ("round-0",)),
        ("diary:b", ("b",)),
    ],
)
def test_a_picture_is_chosen_by_name_and_part(wanted, parts):
    found = chosen(ALL, wanted)
    assert (found.name, found.parts) == (wanted.partition(":")[0], parts)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (
            "welth",
            "no picture 'welth', did you mean 'wealth'?\n  allowed: wealth, spread, earners, market, diary",
        ),
        ("", "no picture ''\n  allowed: wealth"),
        ("market:round-1", "no part 'round-1', did you mean 'round-0'?\n  allowed: all, round-0"),
        ("diary:", "no part ''\n  allowed: a, b"),
        ("wealth:a", "no part 'a': it is one whole"),
    ],
)
def test_a_name_that_means_none_is_refused_with_those_there_are(wanted, said):
    with pytest.raises(UsageError) as refused:
        chosen(ALL, wanted)
    assert said in str(refused.value)
