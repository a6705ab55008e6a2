"""Published files load as they are, in whatever dialect of YAML they come."""

from pathlib import Path

import pytest
import yaml

from worldloom.core.registry import Registry
from worldloom.core.scenario import load_scenario, parse_scenario

FILES = sorted((Path(__file__).parent / "published").glob("*.yaml"))


@pytest.fixture(scope="module")
def registry():
    return Registry.discover()


def test_there_are_files_to_try():
    assert len(FILES) >= 4


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_published_file_loads_unchanged(file, registry):
    scenario = load_scenario(file, registry)
    assert scenario.kind == "aaw"
    assert scenario.user_prompt
    assert not scenario.body.has_rules
    assert all(entity.id == name for name, entity in scenario.body.entities.items())
    assert scenario.source_text.reveal() == file.read_text("utf-8")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_dialect_does_not_enter_the_digest(file, registry):
    scenario = load_scenario(file, registry)
    value = scenario.document.value
    entities = list(value["world"]["entities"].values())
    as_list = {**value, "world": {**value["world"], "entities": entities}}
    for form in (value, as_list):
        for flow in (False, True, None):
            text = yaml.safe_dump(form, default_flow_style=flow, allow_unicode=True, sort_keys=False)
            assert parse_scenario(text, "f.yaml", registry).digest == scenario.digest


def test_values_arrive_as_they_were_meant(registry):
    files = {file.name: load_scenario(file, registry) for file in FILES}
    museum = files["museum_audio.yaml"].body
    assert museum.context["date"] == "2026-05-09"
    assert museum.context["local_time"] == "10:40"
    assert museum.context["os_version"] == "3.10.2"
    state = museum.entities["audio_guide"].state.reveal()
    assert (state["captions"], state["chapter"], state["speed"]) == ("off", None, 1.0)
    pair = museum.action("audio_guide.pair_device")
    assert pair.returns.reveal().count("STATE CHANGES") == 2
    assert pair.arguments_schema() == {
        "type": "object",
        "properties": {
            "device_id": {"type": "string", "description": "Identifier as listed by get_status"},
            "exclusive": {"type": "boolean", "default": True},
        },
        "required": ["device_id"],
        "additionalProperties": False,
    }
    album = files["shared_album.yaml"]
    assert album.id == "0142"
    assert list(album.body.entities) == ["photo_album", "contacts"]
    freezer = files["freezer.json.yaml"].body.entities["freezer-unit"].state.reveal()
    assert freezer["drawers"]["vaccine box"] == ["A/7"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_what_an_agent_must_not_see_is_not_in_the_text_of_the_body(file, registry):
    scenario = load_scenario(file, registry)
    shown = repr(scenario.body) + repr(scenario)
    for hidden in (
        "STATE CHANGES",
        "pass_condition",
        "criterion",
        "battery",
        "people",
        "vaccine",
        "seats: 6",
    ):
        assert hidden not in shown
