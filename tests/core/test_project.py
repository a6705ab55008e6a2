"""The project file names models, rooms and a folder for runs, and never a key."""

import pytest

from worldloom.core.errors import DocumentError
from worldloom.core.project import find_project, load_project

SOUND = """\
models:
  agent:
    model: hosted_vllm/Qwen/Qwen3-8B
    base_url: http://127.0.0.1:8000/v1
    parameters: {temperature: 0.7, max_tokens: 64, stop_token_ids: [1], skip_special_tokens: true, eos_token: x}
    limits: {concurrency: 8}
  judge: {model: openai/gpt}
rooms: [rooms/mine, some_package]
runs_dir: records
"""


def problems(tmp_path, text):
    (tmp_path / "worldloom.yaml").write_text(text)
    with pytest.raises(DocumentError) as caught:
        load_project(tmp_path / "worldloom.yaml")
    return caught.value.problems


def test_a_project_file_is_found_in_the_folder_or_above(tmp_path):
    (tmp_path / "worldloom.yaml").write_text(SOUND)
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    for start in (tmp_path, deep):
        project = find_project(start)
        assert project is not None
        assert project.file == tmp_path / "worldloom.yaml"
    assert project.runs_dir == tmp_path / "records"
    assert project.rooms == ("rooms/mine", "some_package")
    agent = project.models["agent"]
    assert (agent.model, agent.base_url) == ("hosted_vllm/Qwen/Qwen3-8B", "http://127.0.0.1:8000/v1")
    assert agent.parameters["max_tokens"] == 64
    assert agent.limits.concurrency == 8
    assert project.models["judge"].limits.concurrency is None


def test_the_nearest_project_file_holds(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "worldloom.yaml").write_text("runs_dir: outer\n")
    (tmp_path / "a" / "worldloom.yaml").write_text("runs_dir: inner\n")
    assert find_project(tmp_path / "a").runs_dir == tmp_path / "a" / "inner"


@pytest.mark.parametrize(
    ("written", "meant"), [("venv/bin/vllm", "{}/venv/bin/vllm"), ("/opt/vllm", "/opt/vllm")]
)
def test_the_program_that_serves_models_is_relative_to_the_file(tmp_path, written, meant):
    (tmp_path / "worldloom.yaml").write_text(f"serve: {{vllm: {written}}}\n")
    assert str(load_project(tmp_path / "worldloom.yaml").vllm) == meant.format(tmp_path)


def test_no_project_file_is_no_fault(tmp_path):
    assert find_project(tmp_path / "empty") is None


@pytest.mark.parametrize(
    "key",
    [
        "api_key",
        "apiKey",
        "API-KEY",
        "apikey",
        "openai_api_key",
        "token",
        "access_token",
        "authToken",
        "hf_token",
        "password",
        "db_password",
        "Authorization",
        "secret",
        "client_secret",
        "credentials",
        "bearer",
        "private_key",
    ],
)
@pytest.mark.parametrize(
    "where", ["{key}: s3cr3t\n", "models: {{agent: {{model: m, parameters: {{{key}: s3cr3t}}}}}}\n"]
)
def test_keys_to_anything_are_refused_and_not_repeated(tmp_path, key, where):
    (problem,) = problems(tmp_path, where.format(key=key))
    assert problem.found == f"the key {key!r}"
    assert "environment" in problem.allowed
    assert problem.line == 1
    assert "s3cr3t" not in str(problem)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x/v1",
        "127.0.0.1:8000",
        "http://user:pass@host/v1",
        "https://host/v1?api_key=x",
        "http://",
        "http://[x/v1",
    ],
)
def test_addresses_are_checked_and_never_hold_a_key(tmp_path, url):
    (problem,) = problems(tmp_path, f"models:\n  agent:\n    model: m\n    base_url: '{url}'\n")
    assert (problem.line, problem.column) == (4, 15)
    assert "http" in problem.allowed


@pytest.mark.parametrize(
    ("text", "line", "said", "nearest"),
    [
        ("modles: {}\n", 1, "unknown key 'modles'", "models"),
        ("models: {agnt: {model: m}}\n", 1, "the key 'agnt'", "agent"),
        ("models: {agent: {base_url: 'http://x'}}\n", 1, "`model` is missing", None),
        ("models: {agent: {model: m, limits: {concurrency: 0}}}\n", 1, "the number 0", None),
        ("rooms: one\n", 1, 'the text "one"', None),
        ("serve: {vlm: x}\n", 1, "unknown key 'vlm'", "vllm"),
    ],
)
def test_faults_are_told_with_their_place(tmp_path, text, line, said, nearest):
    (problem,) = problems(tmp_path, text)
    assert (problem.line, problem.found, problem.nearest) == (line, said, nearest)


@pytest.mark.parametrize(
    "price",
    [
        "{prompt: 1e308, completion: 1}",
        "{prompt: 1, completion: 1000000001}",
        "{gpu_hour: 1e10, gpus: 1}",
        "{gpu_hour: 1, gpus: 1000001}",
    ],
)
def test_a_price_of_which_no_sum_can_be_told_is_refused_with_what_is_allowed(tmp_path, price):
    (problem,) = problems(tmp_path, f"prices:\n  m: {price}\n")
    assert problem.line == 2
    assert "at most 1000000" in problem.allowed
