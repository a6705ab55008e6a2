"""A divergence says in words where to look for its cause."""

import pytest

from worldloom.core.errors import Divergence


@pytest.mark.parametrize(
    ("recorded", "found", "meaning"),
    [
        (None, "stepped.1 {}", "the program goes on where the record ends"),
        ("stepped.1 {}", None, "the record holds more"),
        ("stepped.1 {}", "decided.1 {}", "something else happens here"),
        ("model.1 with request ab…", "model.1 with request cd…", "what is asked has changed"),
        ('stepped.1 {"n":1}', 'stepped.1 {"n":2}', "what follows from earlier events has changed"),
    ],
)
def test_both_sides_stand_together_and_then_what_that_means(recorded, found, meaning):
    told = str(Divergence("0:aaw/1:agent/0", recorded, found))
    assert "at key 0:aaw/1:agent/0" in told
    assert f"recorded: {recorded or '(nothing)'}" in told
    assert f"found:    {found or '(nothing)'}" in told
    assert f"so:       {meaning}" in told
