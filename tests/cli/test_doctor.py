"""`doctor`: each check says how things stand; what stands in the way makes it exit with 1."""

import json

import pytest

from worldloom.core.errors import ModelError
from worldloom.models.model import Completion
from worldloom.models.openai_client import OpenAIModel


@pytest.fixture
def checks(command):
    """name -> check, and the exit code."""

    def look(*words):
        done = command("doctor", "--json", *words)
        return {check["name"]: check for check in json.loads(done.stdout)}, done.exit_code

    return look


def write_project(here, model, url):
    (here / "worldloom.yaml").write_text(
        f"models: {{agent: {{model: {model}, base_url: '{url}'}}}}\n", "utf-8"
    )


def test_on_a_fresh_machine_nothing_is_in_the_way(checks, here):
    found, exit_code = checks()
    assert exit_code == 0
    assert {"python", "worldloom", "packages", "embedded model", "project", "rooms", "suites", "runs"} <= set(
        found
    )
    assert found["embedded model"]["next"] == "worldloom models pull smollm2"
    assert found["project"]["next"] == "worldloom init writes one"
    assert not list(here.parent.glob("cache/**/*.gguf")), "nothing is pulled"


def test_a_served_model_is_found_with_the_length_of_its_context(checks, here, serve):
    write_project(here, "hosted_vllm/m", serve([]).url)
    found, exit_code = checks()
    assert (found["model agent"]["state"], exit_code) == ("ok", 0)
    assert "4,096 tokens" in found["model agent"]["said"]


@pytest.mark.parametrize(
    ("answer", "state", "said"),
    [
        (ModelError("not_found", "no such model; served there: one, two"), "bad", "served there: one, two"),
        (Completion("hi"), "note", "not refused, but listed is one, two"),
    ],
)
def test_a_model_that_the_server_does_not_list_is_in_the_way_if_it_is_refused(
    checks, here, serve, monkeypatch, answer, state, said
):
    async def complete(self, request):
        if isinstance(answer, ModelError):
            raise answer
        return answer

    monkeypatch.setattr(OpenAIModel, "complete", complete)
    write_project(here, "hosted_vllm/mm", serve([], names=("one", "two")).url)
    found, exit_code = checks()
    assert (found["model agent"]["state"], exit_code) == (state, int(state == "bad"))
    assert said in found["model agent"]["said"]


def test_a_server_that_is_not_there_is_in_the_way(checks, here):
    write_project(here, "hosted_vllm/m", "http://127.0.0.1:9/v1")
    found, exit_code = checks()
    assert (found["model agent"]["state"], exit_code) == ("bad", 1)
    assert found["model agent"]["next"] == "start the server, or mend the base URL"


def test_flags_name_the_model_to_look_at(checks, here, serve):
    found, exit_code = checks("--model", "m", "--base-url", serve(["hi"]).url)
    assert (found["model agent"]["state"], exit_code) == ("ok", 0)
    found, exit_code = checks("--model", "nonsense")
    assert (found["model agent"]["state"], exit_code) == ("bad", 1)


def test_a_model_that_the_flags_name_is_tried_and_what_it_ignores_is_said(checks, here, serve):
    server = serve(["Two oaks"])
    found, exit_code = checks("--model", "m", "--base-url", server.url)
    said = {
        name: found[f"agent: {name}"]["said"].partition(":")[0]
        for name in ("json_schema", "logprobs", "tools")
    }
    assert said == dict.fromkeys(said, "ignored")
    assert found["agent: json_schema"]["next"].startswith("decisions are asked for so")
    assert (server.chats, exit_code) == (6, 0), "worth knowing, and in nobody's way"
    write_project(here, "hosted_vllm/m", server.url)
    assert not [name for name in checks()[0] if name.startswith("agent: ")]
    assert server.chats == 6


def test_a_faulty_project_file_is_in_the_way_and_the_rest_is_looked_at(checks, here):
    (here / "worldloom.yaml").write_text("modles: {}\n", "utf-8")
    found, exit_code = checks()
    assert (found["project"]["state"], exit_code) == ("bad", 1)
    assert "worldloom.yaml:1:1" in found["project"]["said"]
    assert found["rooms"]["state"] == "ok"


def test_missing_links_are_named(checks, here, tmp_path, monkeypatch):
    """A checkout without symbolic links has small text files where the folders should be."""
    (tmp_path / "agents").write_text("../../agents", "utf-8")
    monkeypatch.setattr("worldloom.cli.doctor.files", lambda package: tmp_path)
    found, exit_code = checks()
    assert (found["links"]["state"], exit_code) == ("bad", 1)
    assert "links missing" in found["links"]["said"]
    assert "agents" in found["links"]["said"]


def test_what_is_in_the_way_is_said_at_the_end(command, here):
    write_project(here, "hosted_vllm/m", "http://127.0.0.1:9/v1")
    assert command("doctor").stdout.splitlines()[-1] == "In the way: model agent."
