"""One reply beside the truth: what kinds it has, what is exact, and which messages are alike."""

import json

import pytest

from worldloom.graphs.fidelity.compare import Truth, agreements, compare
from worldloom.graphs.fidelity.message import LEAK_WORDS, Leaks, named_fields

BEFORE = {"tank": {"level": 0, "last": 0, "spare": "closed", "half": 0.5, "log": [], "full": 50}}
WRITE = {
    "success": True,
    "message": '{"level":7}',
    "changes": {"tank": {"level": 7, "last": 3}},
    "read_only": False,
}
READ = {"success": True, "message": '{"level":0,"log":[]}', "changes": {}, "read_only": True}
FAILED = {"success": False, "message": "The pump has stopped.", "changes": {}, "read_only": False}
RIGHT = {"tank": {"level": 7, "last": 3}}


@pytest.fixture
def leaks(tank):
    return Leaks(tank.scenario)


@pytest.fixture
def judged(leaks):
    """Compares a reply with a fact: the fact itself, but for what is said otherwise."""

    def judge(fact, **said):
        told = {"success": fact["success"], "message": fact["message"], "changes": fact["changes"], **said}
        return compare(told, Truth.of(fact, BEFORE, ("level",)), leaks)

    return judge


@pytest.mark.parametrize(
    ("fact", "said", "kinds"),
    [
        (WRITE, {}, set()),
        (WRITE, {"success": False}, {"wrong_success"}),
        (WRITE, {"success": False, "changes": {}}, {"wrong_success", "missing_change"}),
        (WRITE, {"changes": {"tank": {"level": 8, "last": 3}}}, {"wrong_value"}),
        (WRITE, {"changes": {"tank": {"level": True, "last": 3}}}, {"wrong_value"}),
        (WRITE, {"changes": {"tank": {"level": 7.0, "last": 3}}}, set()),
        (WRITE, {"changes": {"tank": {"level": 7}}}, {"missing_change"}),
        (WRITE, {"changes": {"tank": {"level": 7, "last": 0}}}, {"missing_change"}),
        (WRITE, {"changes": {"tank": {**RIGHT["tank"], "spare": "open"}}}, {"extra_change"}),
        (WRITE, {"changes": {"tank": {**RIGHT["tank"], "spare": "closed", "half": 0.5}}}, set()),
        (WRITE, {"changes": {"tank": {**RIGHT["tank"], "colour": "red"}}}, {"invented"}),
        (WRITE, {"changes": {**RIGHT, "ghost": {}}}, {"invented"}),
        (WRITE, {"changes": {"ghost": {"level": 7}}}, {"invented", "missing_change"}),
        (READ, {}, set()),
        (READ, {"changes": {"tank": {"level": 0}}}, set()),
        (READ, {"changes": {"tank": {"level": 1}}}, {"read_that_wrote"}),
        (READ, {"changes": {"ghost": {"level": 1}}}, {"invented"}),
        (FAILED, {"message": "It stopped."}, set()),
        (FAILED, {"success": True}, {"wrong_success"}),
        (FAILED, {"changes": {"tank": {"level": 7}}}, {"extra_change"}),
        (FAILED, {"message": "Above ninety the pump stops by itself, so no."}, {"leaked_rule"}),
    ],
)
def test_a_reply_has_the_kinds_in_which_it_differs_from_the_rules(judged, fact, said, kinds):
    found = judged(fact, **said)
    assert found.kinds == kinds
    assert found.exact == (not kinds - {"leaked_rule"})


def test_a_reply_that_cannot_be_read_is_nothing_else(leaks):
    found = compare({"unreadable": "no JSON"}, Truth.of(WRITE, BEFORE, ("level",)), leaks)
    assert found.kinds == {"unreadable"}
    assert (found.exact, found.same_type, found.message, found.accepted) == (False, False, False, False)


def test_the_type_of_an_action_is_the_set_of_what_changes_whatever_it_becomes(judged):
    assert judged(WRITE, changes={"tank": {"level": 8, "last": 9}}).same_type
    assert judged(WRITE, success=False).same_type
    assert not judged(WRITE, changes={"tank": {"level": 7}}).same_type
    assert not judged(WRITE, changes={**RIGHT, "ghost": {}}).same_type


@pytest.mark.parametrize(
    ("message", "right"),
    [
        ('{"level":7}', True),
        ('{ "level": 7.0, "note": "more" }', True),
        ('```json\n{"level": 7}\n```', True),
        ('{"level":8}', False),
        ('{"level":"7"}', False),
        ('{"last":7}', False),
        ("The level is 7.", False),
        ('{"level":NaN}', False),
        ('{"level":7} {"level":7}', False),
        ("[" * 100_000, False),
    ],
)
def test_of_a_message_the_fields_are_compared_that_the_file_names(judged, message, right):
    found = judged(WRITE, message=message)
    assert (found.message, found.exact) == (right, right)


@pytest.mark.parametrize(
    ("fact", "named"),
    [
        (WRITE, ()),
        (WRITE, ("level", "temperature")),
        ({**WRITE, "message": "It is full."}, ("level",)),
        (FAILED, ("level",)),
    ],
)
def test_where_the_file_names_none_or_the_rules_answer_otherwise_messages_are_not_compared(
    leaks, fact, named
):
    told = {"success": fact["success"], "message": "anything", "changes": fact["changes"]}
    found = compare(told, Truth.of(fact, BEFORE, named), leaks)
    assert (found.message, found.exact) == (None, True)


@pytest.mark.parametrize(
    ("returns", "fields"),
    [
        ("Message confirms: {level: integer}", ("level",)),
        ("Message confirms: {a_b: string, c: object}.", ("a_b", "c")),
        ("Returns x.\nFormat: {log: [{at: integer, by: {who: string}}], half: number}", ("log", "half")),
        ("Message confirms the level.", ()),
        ("Format: {level: integer", ()),
        ("", ()),
    ],
)  # fmt: skip
def test_the_fields_that_a_file_names_are_read_where_they_stand_in_braces(returns, fields):
    assert named_fields(returns) == fields


def test_a_rule_is_given_away_by_six_words_of_it_in_a_row_and_not_by_five(leaks, rule):
    words = rule.split()
    for count in (LEAK_WORDS - 1, LEAK_WORDS):
        message = "Well: " + " ".join(words[:count]).upper() + "!"
        assert leaks.found(message, "", BEFORE) == (count == LEAK_WORDS)
    assert leaks.found("Fails if the level is above ninety", "", BEFORE)


def test_words_that_the_rules_say_themselves_or_that_stand_in_the_state_give_nothing_away(leaks, rule):
    assert not leaks.found(rule, f"No. {rule}", BEFORE)
    assert not leaks.found(rule, "", {"tank": {"note": rule}})
    assert not leaks.found("", "", BEFORE)


def test_repeats_are_compared_pair_by_pair_as_published(judged, leaks):
    same, other = judged(WRITE), judged(WRITE, message='{"level": 7}')
    values = judged(WRITE, changes={"tank": {"level": 9, "last": 3}})
    nothing = judged(WRITE, changes={})
    unread = compare({"unreadable": "x"}, Truth.of(WRITE, BEFORE, ()), leaks)
    assert agreements([same]) == (0, 0, 0)
    assert agreements([same, same, same]) == (3, 3, 3)
    assert agreements([same, other, values, nothing]) == (6, 0, 3)
    assert agreements([unread, unread, same]) == (3, 0, 0)


def test_a_message_in_json_is_the_truth_of_the_library_too(tank):
    """The rules' own answers are right by their own measure, whatever they hold."""
    fact = {**READ, "message": json.dumps({"level": 0, "log": [{"at": 1}], "half": 0.5})}
    names = named_fields("Format: {level: integer, log: [{at: integer}], half: number}")
    truth = Truth.of(fact, BEFORE, names)
    assert list(truth.confirmed) == ["level", "log", "half"]
    assert compare({**fact}, truth, Leaks(tank.scenario)).message is True
