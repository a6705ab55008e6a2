"""Keys: their bytes sort as the episode went, and people can read and type them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldloom.core.errors import UsageError
from worldloom.core.key import child_scope, event_key, read_key, show_key

COUNTERS = st.integers(0, 2**32 - 1)
NAMES = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=8)
PLACES = st.lists(st.tuples(COUNTERS, NAMES | COUNTERS), max_size=4)


def key_of(places, n):
    scope = b""
    for counter, label in places:
        scope = child_scope(scope, counter, label)
    return event_key(scope, n)


@settings(deadline=None)
@given(PLACES, COUNTERS)
def test_every_key_can_be_shown_and_read_back(places, n):
    key = key_of(places, n)
    assert read_key(show_key(key)) == key


@settings(deadline=None)
@given(COUNTERS, COUNTERS, NAMES, NAMES)
def test_counters_order_before_labels(first, second, one, other):
    a, b = event_key(child_scope(b"", first, one), 0), event_key(child_scope(b"", second, other), 0)
    if first != second:
        assert (a < b) == (first < second)
    else:
        assert (a < b) == (one.encode() < other.encode())


@settings(deadline=None)
@given(st.lists(st.tuples(PLACES, COUNTERS), min_size=2, max_size=6, unique_by=repr))
def test_different_places_have_different_keys(places):
    assert len({key_of(*place) for place in places}) == len(places)


def test_what_happens_inside_a_scope_lies_between_its_neighbours():
    inside = event_key(child_scope(b"", 3, "agent"), 2**32 - 1)
    assert event_key(b"", 2) < inside < event_key(b"", 4)
    assert event_key(child_scope(b"", 3, 9), 0) < event_key(child_scope(b"", 3, 10), 0)
    assert event_key(child_scope(b"", 3, 2**31), 0) < event_key(child_scope(b"", 3, "a"), 0)


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_a_name_that_would_blur_two_keys_is_refused(name):
    with pytest.raises(ValueError, match="without NUL"):
        child_scope(b"", 0, name)


@pytest.mark.parametrize("text", ["", "x", "0:aaw", "0/1/2", "0:/1", "1#x/2", "0:aaw/", "-1", "0:a/1:b"])
def test_what_is_no_key_is_refused_with_an_example(text):
    with pytest.raises(UsageError, match="0:aaw/3:agent/1"):
        read_key(text)


@pytest.mark.parametrize("text", ["99999999999", "4294967296", "0#4294967296/1", "0:a%00b/1", "", "0:a", "١"])
def test_what_is_no_key_is_refused_whatever_is_wrong(text):
    with pytest.raises(UsageError, match="is no key"):
        read_key(text)
