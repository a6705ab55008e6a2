"""The idiom of `returns`: what is in it is read, what is not stays unread."""

from typing import Any

import pytest

from worldloom.worlds.aaw.returns import (
    Argument,
    Index,
    Literal,
    LookedUp,
    Unread,
    is_read_only,
    read_returns,
)

STATES: dict[str, dict[str, Any]] = {
    "lamp": {"on": False, "level": 0.5, "mode": "night", "devices": [], "seats": {}},
    "hub": {"output": "speaker", "state": 1},
}
PARAMETERS = ("enabled", "value", "device_id", "hour")


def read(*lines: str) -> Any:
    return read_returns("\n".join(lines), PARAMETERS, STATES)


def changes(*lines: str) -> list[tuple[Any, ...]]:
    return [(one.entity, one.path, one.value, one.remark) for one in read(*lines).changes]


@pytest.mark.parametrize(
    ("text", "value", "remark"),
    [
        ("true", Literal(True), ""),
        ("0.5", Literal(0.5), ""),
        ("null", Literal(None), ""),
        ("[]", Literal([]), ""),
        ("'2026-01-24 17:05'", Literal("2026-01-24 17:05"), ""),
        ('"a (b)"', Literal("a (b)"), ""),
        ("{the enabled parameter value}", Argument("enabled"), ""),
        ("{the value parameter}", Argument("value"), ""),
        ("{the value}", Argument("value"), ""),
        ("{the device_id}", Argument("device_id"), ""),
        ("{the device's name}", LookedUp("device", "name"), ""),
        (
            "false (pauses playback when a device is paired)",
            Literal(False),
            "pauses playback when a device is paired",
        ),
        ("{the hour parameter} (if it was given)", Argument("hour"), "if it was given"),
        ("{the colour parameter}", Unread("{the colour parameter}"), ""),
        ("closed", Unread("closed"), ""),
        ("falls by six", Unread("falls by six"), ""),
        ("gains {the value parameter}", Unread("gains {the value parameter}"), ""),
        ("NaN", Unread("NaN"), ""),
        ("1e999", Unread("1e999"), ""),
        ('{"a": 1, "a": 2}', Unread('{"a": 1, "a": 2}'), ""),
        ("[" * 100_000, Unread("[" * 100_000), ""),
    ],
)
def test_a_value_is_read_or_kept_as_prose(text: str, value: Any, remark: str) -> None:
    assert changes("STATE CHANGES to lamp:", f"mode: {text}") == [("lamp", ("mode",), value, remark)]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("devices[device_id].paired", ("devices", Index(Argument("device_id")), "paired")),
        ("devices['ha-7'].paired", ("devices", Index(Literal("ha-7")), "paired")),
        ("devices[the other one].paired", ("devices", Index(Unread("the other one")), "paired")),
        ("seats[device_id]", ("seats", Index(Argument("device_id")))),
        ("lamp.on", ("on",)),
        ("state.on", ("on",)),
        ("lamp.state.on", ("on",)),
        ("fresh", ("fresh",)),
    ],
)
def test_a_path_is_read_with_entity_and_state_left_out(text: str, path: Any) -> None:
    assert changes("STATE CHANGES to lamp:", f"{text}: true") == [("lamp", path, Literal(True), "")]


def test_all_parts_of_a_text_are_told_apart() -> None:
    found = read(
        "STATE CHANGES to lamp:",
        "  - on: true",
        "STATE CHANGES to hub:",
        "state: 2",
        "",
        "Fails if no device has this id.",
        "Message confirms: {on: boolean, state: integer}",
    )
    assert found.entities == ("lamp", "hub")
    assert [(one.entity, one.key, one.line.number) for one in found.changes] == [
        ("lamp", "on", 2),
        ("hub", "state", 4),
    ]
    assert [line.text for line in found.fails] == ["Fails if no device has this id."]
    assert found.confirms == {"on": "boolean", "state": "integer"}
    assert found.complete and not found.read_only


@pytest.mark.parametrize(
    "lines",
    [
        ("STATE CHANGES to the nearest lamp:", "on: true"),
        ("STATE CHANGES to lamp:", "on: true", "Everything else is switched off."),
        ("STATE CHANGES to lamp:", "on: true", "Note: the timer starts again"),
        ("STATE CHANGES to lamp: on: true",),
        ("STATE CHANGES to lamp:", "on: true", "Fails if it is broken.", "level: 1"),
        ("The lamp is switched on.",),
        ("",),
    ],
)
def test_where_a_line_may_say_more_nothing_is_taken_for_complete(lines: tuple[str, ...]) -> None:
    assert not read(*lines).complete


@pytest.mark.parametrize(
    ("text", "only"),
    [
        ("NO STATE CHANGES. Read-only operation.\nReturns lamp.state in the message.", True),
        ("  NO STATE CHANGES", True),
        ("NO STATE CHANGES if it is on.\nSTATE CHANGES to lamp:\non: true", False),
        ("STATE CHANGES to lamp:\non: true", False),
        ("", False),
    ],
)
def test_what_only_reads_says_so_and_changes_nothing(text: str, only: bool) -> None:
    assert is_read_only(text) is only
    assert read(*text.splitlines()).read_only is only
