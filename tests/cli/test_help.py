"""Help, versions and rooms: what there is, said without running anything."""

import json

import pytest

import worldloom

COMMANDS = "run sweep resume replay fork fidelity judge runs serve plan models doctor init rooms".split()


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",)])
def test_the_root_says_which_commands_there_are(command, words):
    done = command(*words)
    assert done.exit_code == 0
    assert [name for name in COMMANDS if f"\n  {name} " not in done.stdout] == []


@pytest.mark.parametrize("group", ["runs", "models"])
def test_a_group_alone_shows_its_help(command, group):
    done = command(group)
    assert done.exit_code == 0
    assert "\n  list " in done.stdout


def test_no_line_of_help_is_wider_than_a_terminal_or_cut_short(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    pages = [(), *((name,) for name in COMMANDS), ("runs", "export"), ("models", "pull")]
    for page in pages:
        text = command(*page, "--help").stdout
        assert max(len(line) for line in text.splitlines()) <= 80
        usage, _, rest = text.partition("\n")  # `PATH...` there means several
        assert usage.startswith("Usage: ")
        assert "...\n" not in rest


def test_the_help_of_run_lists_agents_and_suites_by_their_cards(command):
    text = command("run", "--help").stdout
    for name in ("literal", "careful", "llm", "random", "scripted", "starter"):
        assert f"\n  {name}" in text


def test_help_comes_where_the_project_file_is_faulty(command, here):
    (here / "worldloom.yaml").write_text("rooms: 3\n", "utf-8")
    done = command("run", "--help")
    assert done.exit_code == 0
    assert "--agent" in done.stdout


def test_the_version_is_that_of_the_package(command):
    assert command("--version").stdout == f"worldloom {worldloom.__version__}\n"


def test_rooms_are_listed_with_their_summaries(command):
    rooms = json.loads(command("rooms", "--json").stdout)
    assert {("agent", "llm"), ("world", "aaw"), ("graph", "aaw")} <= {
        (room["role"], room["name"]) for room in rooms
    }
    text = command("rooms").stdout
    assert [room["name"] for room in rooms if room["summary"].split()[0] not in text] == []
