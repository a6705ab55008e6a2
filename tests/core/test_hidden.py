"""What is hidden does not slip out."""

import copy
import json
import pickle

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticSerializationError

from worldloom.core.hidden import Hidden

SECRET = "the tank is empty"


class Note(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    open: str
    closed: Hidden[tuple[str, ...]] = Field(default_factory=lambda: Hidden(()))


@pytest.mark.parametrize(
    "leak",
    [
        str,
        "{}".format,
        lambda hidden: f"{hidden}",
        lambda hidden: f"{hidden:>20}",
        lambda hidden: "%s" % hidden,  # noqa: UP031
        lambda hidden: "" + hidden,
        lambda hidden: ", ".join(hidden),
        bool,
        len,
        list,
        lambda hidden: "tank" in hidden,
        lambda hidden: hidden[0],
        json.dumps,
        lambda hidden: json.dumps(hidden, default=str),
        vars,
    ],
)
def test_every_way_into_a_prompt_is_refused(leak):
    with pytest.raises(TypeError) as caught:
        leak(Hidden(SECRET))
    assert SECRET not in str(caught.value)


def test_the_refusal_says_what_to_do():
    with pytest.raises(TypeError, match="reveal"):
        str(Hidden(SECRET))


def test_repr_shows_nothing():
    assert repr(Hidden(SECRET)) == "<hidden>"
    assert repr([Hidden(SECRET)]) == "[<hidden>]"
    assert f"{Hidden(SECRET)!r}" == "<hidden>"


def test_what_is_hidden_can_be_revealed_compared_and_carried():
    assert Hidden(SECRET).reveal() == SECRET
    assert Hidden(SECRET) == Hidden(SECRET) != Hidden("")
    assert Hidden(SECRET) != SECRET
    assert hash(Hidden(SECRET)) == hash(Hidden(SECRET))
    for carried in (copy.deepcopy(Hidden([1])), pickle.loads(pickle.dumps(Hidden([1])))):
        assert carried == Hidden([1])


def test_a_field_validates_what_it_hides():
    note = Note.model_validate_json('{"open": "x", "closed": ["a", "b"]}', strict=True)
    assert note.closed.reveal() == ("a", "b")
    assert Note(open="x").closed.reveal() == ()
    assert Note(open="x", closed=Hidden(("a",))).closed == Hidden(("a",))
    with pytest.raises(ValidationError):
        Note.model_validate_json('{"open": "x", "closed": ["a", 3]}', strict=True)


def test_models_with_hidden_fields_show_and_dump_nothing():
    note = Note.model_validate_json(json.dumps({"open": "x", "closed": [SECRET]}))
    assert SECRET not in repr(note) and SECRET not in str(note)
    for dump in (note.model_dump, note.model_dump_json):
        with pytest.raises(PydanticSerializationError, match="reveal"):
            dump()


def test_the_schema_of_a_hidden_field_is_that_of_what_it_hides():
    assert Note.model_json_schema()["properties"]["closed"] == {
        "items": {"type": "string"},
        "title": "Closed",
        "type": "array",
    }
