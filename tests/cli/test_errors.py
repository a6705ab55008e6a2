"""Errors are one message on stderr and an exit code; nothing that a stranger wrote reaches the terminal raw."""

import os
import subprocess

import pytest

from worldloom.core.errors import DocumentError, Problem, RecordError, UsageError
from worldloom.runs.rows import EpisodeRow
from worldloom.runs.store import RunStore

ESCAPE = "\x1b[31m\x9b31m\u202e\x07[bold]:smile:[/]"
SHOWN = "<U+001B>[31m<U+009B>31m<U+202E><U+0007>[bold]:smile:[/]"


def failing(error):
    def fail(*_, **__):
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "exit_code", "said"),
    [
        (UsageError("not this"), 2, "error: not this\n"),
        (RecordError("disk full"), 1, "error: disk full\n"),
        (PermissionError(13, "Permission denied", "x"), 1, "error: [Errno 13] Permission denied: 'x'\n"),
        (DocumentError([Problem("a.yaml", 3, 5, "x", "y")]), 2, "error: a.yaml:3:5: x\n  allowed: y\n"),
        (ExceptionGroup("many", [RecordError("one"), RecordError("two")]), 1, "error: one\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (UsageError(ESCAPE), 2, f"error: {SHOWN}\n"),
    ],
)
def test_an_error_is_one_message_and_an_exit_code(command, monkeypatch, error, exit_code, said):
    monkeypatch.setattr("worldloom.cli.rooms.list_rooms", failing(error))
    done = command("rooms")
    assert (done.exit_code, done.stderr, done.stdout) == (exit_code, said, "")


def test_a_fault_of_the_program_asks_to_be_reported(command, monkeypatch):
    monkeypatch.setattr("worldloom.cli.rooms.list_rooms", failing(ZeroDivisionError("by zero")))
    done = command("rooms")
    assert done.exit_code == 1
    assert (
        done.stderr
        == "error: a fault in worldloom: ZeroDivisionError: by zero\n--debug shows where; please report it\n"
    )


@pytest.mark.parametrize("words", [("--debug", "rooms"), ("rooms", "--debug")])
def test_debug_shows_the_traceback_wherever_it_stands(command, monkeypatch, words):
    monkeypatch.setattr("worldloom.cli.rooms.list_rooms", failing(UsageError("not this")))
    done = command(*words)
    assert done.exit_code == 2
    assert "Traceback" in done.stderr
    assert done.stderr.endswith("error: not this\n")


def test_many_problems_of_a_file_are_cut_to_what_can_be_read(command, monkeypatch):
    problems = [Problem("a.yaml", line, 1, "x", "y") for line in range(1, 101)]
    monkeypatch.setattr("worldloom.cli.rooms.list_rooms", failing(DocumentError(problems)))
    done = command("rooms")
    assert "a.yaml:20:1" in done.stderr
    assert "a.yaml:21:1" not in done.stderr
    assert "80 problems more" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "--limit", f"tokens={'9' * 5000}"), "allowed: a whole number"),
        (("run", "--limit", "x" * 5000), "each as NAME=VALUE"),
        (("run", "--epochs", "x" * 5000), "--epochs"),
        (("run", "--suite", "x" * 5000), "allowed: "),
        (("run", "--agent", "x" * 5000), "allowed: "),
        (("run", "x" * 5000), "File name too long"),
        (("replay", "x" * 5000), "no run"),
        (("x" * 5000,), "x"),
    ],
    ids=range(8),
)
def test_of_a_word_of_any_length_an_error_shows_little_and_still_says_what_is_wrong(
    command, here, words, said
):
    done = command(*words)
    assert done.exit_code == 2
    assert said in done.stderr
    assert max(len(line) for line in done.stderr.splitlines()) < 1100
    assert len(done.stderr) < 4000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "--epohcs", "2"), "--epochs"),
        (("run", "--epochs", "0"), "--epochs"),
        (("rnu",), "run"),
        (("run", "nowhere.yaml"), "nowhere.yaml"),
        (("run", "--suite", "startre"), "did you mean 'starter'?"),
        (("run", "--agent", "carefull"), "did you mean 'careful'?"),
        (("run", "x.yaml", "--suite", "starter"), "not both"),
        (("run", "--model", "nonsense"), "nonsense"),
        (("run", "--world", ""), "world is ''"),
        (("run", "--world", "rules:x"), "takes no argument"),
        (("run", "--judge", ""), "judge is ''"),
        (("run", "--judge-base-url", "http://h/v1"), "judge_base_url is given"),
        (("run", "--world-model", "m"), "world_model is given"),
        (("run", "--world-base-url", "http://h/v1"), "world_base_url is given"),
        (("run", "--agent", "careful", "--model", "m"), "model is given"),
        (("run", "--agent", "careful", "--base-url", "http://h/v1"), "base_url is given"),
        (("replay",), "RUN"),
    ],
)
def test_what_cannot_be_used_exits_with_2_and_names_it(command, here, words, said):
    done = command(*words)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (here / "runs").exists()


def test_what_the_environment_says_for_all_runs_may_be_of_no_use_in_one(command, project, monkeypatch):
    for name in ("MODEL", "BASE_URL", "WORLD_MODEL", "WORLD_BASE_URL", "JUDGE_BASE_URL"):
        monkeypatch.setenv(f"WORLDLOOM_{name}", "http://h/v1")
    done = command("run", "scenarios", "--agent", "careful")
    assert done.exit_code == 0, done.stderr
    done = command("run", "scenarios", "--agent", "careful", "--model", "another")
    assert (done.exit_code, "model is given" in done.stderr) == (2, True)


def test_a_faulty_scenario_is_shown_with_its_line_and_a_caret(command, here):
    (here / "bad.yaml").write_text("id: x\nuser_promt: y\nworld: {context: {}, entities: {}}\n", "utf-8")
    done = command("run", "bad.yaml")
    assert done.exit_code == 2
    assert "bad.yaml:2:1" in done.stderr
    assert "did you mean 'user_prompt'?" in done.stderr
    lines = done.stderr.splitlines()
    line = next(number for number, text in enumerate(lines) if text.strip() == "user_promt: y")
    assert lines[line + 1].index("^") == lines[line].index("u"), "the caret stands below what it means"


def test_nothing_of_a_hostile_record_reaches_the_terminal_raw(command, here, monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")
    text = {"sha256": "", "media_type": "application/yaml", "size": 0}
    contestant = {"agent": ESCAPE, "argument": "", "options": {}, "models": {}, "reference": False}
    manifest = {
        "title": ESCAPE,
        "scenarios": [{"id": ESCAPE, "digest": "", "file": ESCAPE, "text": text}],
        "contestant": contestant,
        "epochs": 1,
        "seed": 0,
        "limits": {"steps": 1, "model_calls": None, "tokens": None, "wall_s": None, "repeats": 5},
        "model_ids": {},
        "made_with": {},
        "world": {"engine": ESCAPE, "argument": "", "options": {}, "models": {}},
        "judge": None,
        "graph": None,
        "also": {},
        "fork": None,
        "judge_form": "",
        "prices": {"currency": ESCAPE, "models": {}},
        "study": None,
    }
    row = EpisodeRow(
        0, "0", ESCAPE, ESCAPE, ESCAPE, 0, 0, "ended", reason=ESCAPE, fault="infrastructure", detail=ESCAPE
    )
    RunStore.create(here / "runs" / "hostile", manifest, [row]).close()
    for words in (("runs", "list"), ("runs", "show", "hostile"), ("runs", "show", "hostile", "--json")):
        done = command(*words)
        assert done.exit_code == 0, done.stderr
        assert not [char for char in done.stdout + done.stderr if not char.isprintable() and char != "\n"], (
            words
        )
    assert SHOWN in command("runs", "list").stdout
    assert SHOWN in command("runs", "show", "hostile").stdout


def test_nothing_of_a_hostile_word_or_file_reaches_the_terminal_raw(command, project):
    name = f"evil{ESCAPE.replace('/', '')}.yaml"
    text = (project / "scenarios/print-handouts.yaml").read_text("utf-8")
    (project / name).write_text(text.replace("id: print-handouts", "id: '[red]x[/red]'"), "utf-8")
    for words in (
        ("run", name, "--agent", "careful"),
        ("runs", "show", "last"),
        ("run", ESCAPE),
        ("run", f"--{ESCAPE}"),
        ("replay", ESCAPE),
        (ESCAPE,),
    ):
        done = command(*words)
        assert not [char for char in done.stdout + done.stderr if not char.isprintable() and char != "\n"], (
            words
        )
    assert "[red]x[/red]" in command("runs", "show", "last").stdout


@pytest.mark.parametrize("word", ["rooms", "--help"])
def test_a_reader_that_goes_away_is_no_error(python, here, word):
    process = subprocess.Popen(
        [*python, word], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ)
    )
    process.stdout.close()
    stderr = process.stderr.read()
    process.stderr.close()
    assert (process.wait(60), stderr) == (141, b"")


@pytest.mark.parametrize("closed", [">&-", ">&- <&-"])
@pytest.mark.parametrize("words", ["rooms", "rooms --json", "--help", "nonsense"])
def test_a_closed_stdout_takes_what_is_printed_and_changes_no_exit_code(python, here, words, closed):
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {closed}', *python, *words.split()],
        stderr=subprocess.PIPE, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == (2 if words == "nonsense" else 0)
    assert b"fault in worldloom" not in done.stderr


@pytest.mark.parametrize("columns", ["0", "1", "-3", "x", ""])
def test_no_width_of_a_terminal_makes_a_table_vanish(command, here, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    done = command("rooms")
    assert done.exit_code == 0
    assert "agen" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) >= 20


def test_an_encoding_that_lacks_a_character_is_no_error(python, played):
    environ = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [*python, "runs", "show", "last"], capture_output=True, env=environ, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert b"careful" in done.stdout
