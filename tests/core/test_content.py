"""Content: text in place, everything else by its digest."""

from worldloom.core.content import Blob, Image, Text


def test_parts_other_than_text_are_named_by_digest():
    blob = Blob(b"\x89PNG", "image/png")
    assert Text("a").to_json() == {"text": "a"}
    assert Image(blob).to_json() == {"image": {"sha256": blob.sha256, "media_type": "image/png", "size": 4}}


def test_two_blobs_of_the_same_bytes_have_one_digest():
    assert (
        Blob(b"a", "text/plain").sha256 == Blob(b"a", "image/png").sha256 != Blob(b"b", "text/plain").sha256
    )
