"""`serve` and `plan`: from the words of a person to a server that runs, or to a number that says why not."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from worldloom.core.project import load_project
from worldloom.models.serving.keeping import free_port
from worldloom.models.serving.machine import GIB, Gpu, Machine

CONFIG = {
    "model_type": "qwen3",
    "hidden_size": 64,
    "num_attention_heads": 8,
    "num_hidden_layers": 4,
    "max_position_embeddings": 32768,
}
# It answers as a healthy server does, and falls when it is told to.
VLLM = """\
import os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
words = sys.argv[1:]
if os.environ.get("FALLS"):
    sys.exit("ValueError: no room for sk-abcdef1234567890")
class Health(BaseHTTPRequestHandler):
    def log_message(self, *_): ...
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
HTTPServer(("127.0.0.1", int(words[words.index("--port") + 1])), Health).serve_forever(0.01)
"""


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def vllm(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "vllm"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable} -IS\n{VLLM}", "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("WORLDLOOM_VLLM", str(program))
    return program


@pytest.fixture
def machine(monkeypatch):
    """A machine with two GPUs."""
    found = Machine(64 * GIB, (Gpu("A100", 80 * GIB, 80 * GIB),) * 2)
    monkeypatch.setattr("worldloom.cli.serving.look", lambda: found)
    return found


@pytest.fixture
def model(here):
    """Makes a model in the working directory."""

    def make(name="qwen3-mine", stored=1000):
        (here / name).mkdir()
        (here / name / "config.json").write_text(json.dumps(CONFIG))
        (here / name / "model.safetensors").write_bytes(b"x")
        index = {"metadata": {"total_size": stored}}
        (here / name / "model.safetensors.index.json").write_text(json.dumps(index))
        return name

    return make


def argv(done):
    assert done.exit_code == 0, done.stderr
    return [each["argv"] for each in json.loads(done.stdout)]


def after(words, flag):
    return words[words.index(flag) + 1]


def test_a_dry_run_prints_what_can_be_pasted_into_a_shell(command, vllm, machine, model):
    done = command("serve", model(), "--dry-run")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith(f"VLLM_NO_USAGE_STATS=1 {vllm} serve /")
    assert "--served-model-name qwen3-mine --host 127.0.0.1" in done.stdout
    assert "--tool-call-parser hermes" in done.stdout
    assert done.stdout.count("\n") == 1


def test_what_follows_two_dashes_goes_to_vllm(command, vllm, machine, model):
    (words,) = argv(
        command("serve", model(), "--dry-run", "--json", "--", "--json", "--max-model-len", "1000")
    )
    assert words[-3:] == ["--json", "--max-model-len", "1000"]
    assert words.count("--max-model-len") == 1


def test_several_models_have_a_port_each_and_share_the_memory(command, vllm, machine, model):
    first = free_port(20000)
    found = argv(command("serve", model("a"), model("b"), "a", "--port", first, "--dry-run", "--json"))
    ports = [int(after(words, "--port")) for words in found]
    assert ports[0] == first < ports[1]
    assert [after(words, "--gpu-memory-utilization") for words in found] == ["0.45", "0.45"]


def test_a_purpose_of_the_project_file_is_served_where_it_will_be_looked_for(
    command, vllm, machine, model, here
):
    model("mine")
    (here / "worldloom.yaml").write_text(
        "models:\n"
        "  agent: {model: hosted_vllm/mine, base_url: 'http://127.0.0.1:8123/v1'}\n"
        "  judge: {model: embedded}\n"
        "  world: {model: hosted_vllm/x/y, base_url: 'http://example.org/v1'}\n"
    )
    (words,) = argv(command("serve", "agent", "--dry-run", "--json"))
    assert str(here / "mine") in words
    assert (after(words, "--served-model-name"), after(words, "--port")) == ("mine", "8123")
    for purpose, said in (("judge", "needs no server"), ("world", "served by example.org")):
        done = command("serve", purpose, "--dry-run")
        assert (done.exit_code, said in done.stderr) == (2, True)
    done = command("serve", "agnt", "--dry-run")
    assert done.exit_code == 2
    assert "did you mean 'agent'?" in done.stderr


def test_the_vllm_of_the_project_file_is_used(command, vllm, machine, model, here):
    (here / "worldloom.yaml").write_text("serve: {vllm: mine/vllm}\n")
    (here / "mine").mkdir()
    (here / "mine/vllm").symlink_to(vllm)
    (words,) = argv(command("serve", model(), "--dry-run", "--json"))
    assert words[0] == str(here / "mine/vllm")


def test_the_project_file_of_the_page_on_serving_loads(tmp_path):
    page = (Path(__file__).parents[2] / "docs/serving.md").read_text("utf-8")
    (text,) = re.findall(r"^ *```yaml\n(.*?)^ *```", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "worldloom.yaml").write_text(textwrap.dedent(text))
    assert load_project(tmp_path / "worldloom.yaml").vllm == tmp_path / "vllm/bin/vllm"


def test_without_vllm_it_is_said_how_to_get_it(command, machine, model, monkeypatch):
    monkeypatch.delenv("WORLDLOOM_VLLM", raising=False)
    monkeypatch.setenv("PATH", "")
    done = command("serve", model(), "--dry-run")
    assert done.exit_code == 2
    assert "docs/serving.md" in done.stderr


def test_a_model_that_cannot_fit_is_refused_with_the_numbers(command, vllm, machine, model):
    name = model(stored=200 * GIB)
    done = command("serve", name, "--dry-run")
    assert done.exit_code == 1
    assert "weights 100.0" in done.stderr
    assert "there are 72.0 (2 × A100" in done.stderr
    assert "4 such GPUs would do (--tensor-parallel-size 4)" in done.stderr
    (words,) = argv(command("serve", name, "--dry-run", "--no-plan", "--json"))
    assert "--gpu-memory-utilization" not in words


def test_a_plan_is_a_table_and_its_exit_code_the_verdict(command, machine, model):
    done = command("plan", model("small"))
    assert done.exit_code == 0
    assert "fits on one GPU" in done.stdout
    assert "context that fits: 32,768 of 32,768 tokens" in done.stdout
    assert "sequences of 4,096 tokens" in done.stdout
    done = command("plan", "small", "--context", 40000)
    assert done.exit_code == 1
    assert "made for 32,768 tokens" in done.stdout
    done = command("plan", model("large", stored=100 * GIB), "--json")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["split"], found["fits"]) == (0, 2, True)
    assert found["needs"] <= found["has"]
    assert command("plan", "nothing").exit_code == 2


@pytest.fixture
def serving(python, vllm, model, here):
    """Starts `serve` in a process of its own, at a free port; gives it and the port."""
    started = []

    def start(*words, **environ):
        port = free_port(21000)
        process = subprocess.Popen(
            [*python, "serve", model(), "--no-plan", "--port", str(port), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environ},
        )
        started.append(process)
        return process, port

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_when_all_are_ready_one_line_tells_programs_where_and_ctrl_c_stops_them(serving, tmp_path):
    process, port = serving("--json")
    (told,) = json.loads(process.stdout.readline())["models"]
    assert (told["model"], told["base_url"]) == ("hosted_vllm/qwen3-mine", f"http://127.0.0.1:{port}/v1")
    assert told["log"].startswith(str(tmp_path / "cache/serve/qwen3-mine-"))
    assert alive(told["pid"])
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "its log is" in stderr
    assert "ready after" in stderr
    assert stderr.endswith("interrupted\n")
    assert not alive(told["pid"])


def test_a_server_that_falls_is_one_error_with_its_last_words(serving):
    process, _ = serving(FALLS="1")
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (1, "")
    assert "error: the server of qwen3-mine ended with exit code 1 while starting" in stderr
    assert "ValueError: no room for [key]" in stderr
    assert "Traceback" not in stderr


def test_a_port_that_is_taken_is_refused_before_anything_starts(command, vllm, machine, model, serve):
    taken = serve(["x"]).url.split(":")[2].split("/")[0]
    done = command("serve", model(), "--port", taken)
    assert done.exit_code == 2
    assert f"port {taken} is taken" in done.stderr
