"""Events: small bodies stand in place, large ones are blobs whose digest is checked."""

import pytest

from worldloom.core.canonical import canonical, parse
from worldloom.core.errors import RecordError
from worldloom.core.event import INLINE_BYTES, Event, pack
from worldloom.core.key import event_key
from worldloom.runs.ledger import unchanged


def body_of(size):
    """A body whose canonical form has `size` bytes."""
    return {"text": "x" * (size - len(canonical({"text": ""})))}


@pytest.mark.parametrize("size", [20, INLINE_BYTES - 1, INLINE_BYTES])
def test_a_body_up_to_the_limit_stands_in_place(size):
    data, blob = pack(body_of(size), unchanged)
    assert blob is None
    assert len(data) == size
    assert Event(b"k", "said.1", data).body == body_of(size)


@pytest.mark.parametrize("size", [INLINE_BYTES + 1, 100_000])
def test_a_larger_body_becomes_a_reference_to_a_blob_with_digest_type_and_size(size):
    data, blob = pack(body_of(size), unchanged)
    assert blob is not None
    assert parse(data) == {"$blob": {"sha256": blob.sha256, "media_type": "application/json", "size": size}}
    assert len(data) < 200
    assert Event(b"k", "said.1", data, {blob.sha256: blob.data}.__getitem__).body == body_of(size)


def test_a_damaged_or_missing_blob_is_never_read_as_the_body():
    data, blob = pack(body_of(INLINE_BYTES + 1), unchanged)
    with pytest.raises(RecordError, match="damaged"):
        _ = Event(b"k", "said.1", data, lambda _: blob.data.replace(b"x", b"y", 1)).body
    with pytest.raises(RecordError, match="cannot be had"):
        _ = Event(b"k", "said.1", data).body


def test_secrets_are_replaced_before_the_size_and_the_digest_are_taken():
    def mend(data):
        return data.replace(b"hunter2!", b"<secret:X>")

    small, _ = pack({"text": "hunter2!"}, mend)
    assert parse(small) == {"text": "<secret:X>"}
    _, blob = pack({"text": "hunter2!" * 1000}, mend)
    assert b"hunter2!" not in blob.data


def test_a_body_that_is_no_json_is_refused_with_its_path():
    with pytest.raises(RecordError, match=r"\$\.a\[1\]"):
        pack({"a": [1, (2,)]}, unchanged)


def test_a_body_may_not_pass_itself_off_as_a_reference():
    with pytest.raises(RecordError, match="blob"):
        pack({"$blob": {"sha256": "0" * 64}}, unchanged)


@pytest.mark.parametrize("data", [b"1", b"\xff", b"{", b"[]", b'{"$blob":1}', b'{"$blob":{"sha256":1}}'])
def test_a_damaged_body_is_told_with_its_key(data):
    event = Event(event_key(b"", 7), "said.1", data, lambda sha256: b"")
    with pytest.raises(RecordError, match="event at 7"):
        _ = event.body
