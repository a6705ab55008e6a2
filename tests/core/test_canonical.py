"""One value, one byte string; what would not survive the way to disk and back is refused with its path."""

import enum
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldloom.core.canonical import canonical, digest, parse
from worldloom.core.errors import RecordError


class Colour(enum.IntEnum):
    RED = 1


class Name(str): ...


FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda x: x != 0.0 or math.copysign(1, x) > 0
)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | FLOATS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(VALUES)
def test_every_json_value_survives_the_round_trip_with_its_types(value):
    data = canonical(value)
    back = parse(data)
    assert back == value
    assert canonical(back) == data, "1, 1.0 and true stay apart"


@settings(deadline=None)
@given(st.dictionaries(TEXTS, st.integers(), min_size=2))
def test_the_order_of_keys_does_not_matter(value):
    assert canonical(dict(reversed(value.items()))) == canonical(value)


def test_the_form_is_sorted_without_spaces_in_utf_8_with_shortest_floats():
    value = {"b": [1, 2.0, 0.1, 1e16, 1e-7, True, None], "a": "ä\u2028€😀", "ä": {}, "": []}
    assert canonical(value) == (
        '{"":[],"a":"ä\u2028€😀","b":[1,2.0,0.1,1e+16,1e-07,true,null],"ä":{}}'.encode()
    )


def test_an_integer_and_a_float_of_the_same_value_are_told_apart():
    assert digest(1) != digest(1.0)
    assert canonical(2**63 + 1) == b"9223372036854775809"


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (np.float64(0.5), "$"),
        ({"a": np.int64(1)}, "$.a"),
        ({"a": [True, np.bool_(True)]}, "$.a[1]"),
        ([{"x": np.str_("a")}], "$[0].x"),
        ({"a": {"b": (1, 2)}}, "$.a.b"),
        ({"a": {1, 2}}, "$.a"),
        (b"bytes", "$"),
        ([0, -0.0], "$[1]"),
        ({"a": math.nan}, "$.a"),
        ({"a": [math.inf]}, "$.a[0]"),
        ({"a": -math.inf}, "$.a"),
        ({"a": {1: "x"}}, "$.a"),
        ({"a": {None: "x"}}, "$.a"),
        ({Name("a"): 1}, "$"),
        ([Colour.RED], "$[0]"),
        ([Name("text")], "$[0]"),
        ({"a": [1j]}, "$.a[0]"),
        ("\ud800", "$"),
        (["fine", {"x": "half \udfff"}], "$[1].x"),
        ({"deep": [{"\ud83d": 1}]}, "$.deep[0]."),
    ],
)
def test_what_json_would_bend_is_refused_with_its_path(value, path):
    with pytest.raises(RecordError) as refused:
        canonical(value)
    message = str(refused.value).encode("utf-8", "backslashreplace").decode()
    assert f"cannot record {path}" in message
    after = message.split(f"cannot record {path}", 1)[1]
    assert path.endswith(".") or after[0] == ":", "the path is named in full"


def test_what_is_refused_is_what_json_itself_would_have_let_through():
    for value in (-0.0, (1,), np.float64(1), {1: 2}, Colour.RED):
        json.dumps(value)
        with pytest.raises(RecordError):
            canonical(value)


def test_the_digest_is_sha_256_of_the_canonical_bytes():
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
