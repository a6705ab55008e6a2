"""`judge calibrate`, and what reports say of a judge."""

import json

import pytest

from worldloom.api import judging

YES = json.dumps({"reasoning": "so it is", "verdict": "met"})
PROSE = "evaluation_rubric:\n  - {criterion: It was done with care., pass_condition: Nothing was torn.}\n"


@pytest.fixture
def prose(project):
    """A project whose scenario has a criterion that cannot be computed."""
    file = next((project / "scenarios").glob("*.yaml"))
    file.write_text(file.read_text("utf-8").replace("evaluation_rubric:\n", PROSE), "utf-8")
    return project


@pytest.fixture
def judged(prose, command, serve):
    """A run of the careful agent in it, judged by a server that always says yes; what was printed, and its URL."""
    server = serve([YES])
    done = command("run", "scenarios", "--agent", "careful", "--judge", "m", "--judge-base-url", server.url)
    assert done.exit_code == 0, done.stderr
    return done, server


def calibrate(command, *words):
    done = command("judge", "calibrate", "last", *words)
    assert done.exit_code == 0, done.stderr
    return done


def flat(text):
    return " ".join(text.split())


def test_a_table_with_judged_scores_names_the_judge_and_says_that_nobody_has_checked_it(judged):
    text = flat(judged[0].stdout)
    assert (
        "Judge: m judged 2 of 2 criteria that cannot be checked; no usable verdict 0, changed with the order 0, "
        "cannot tell 0, did not answer 0."
    ) in text
    assert "NOT calibrated: how often it is right is not known." in text
    assert "worldloom judge calibrate runs/" in text


def test_once_calibrated_the_table_says_how_often_the_judge_is_right(judged, command):
    done = calibrate(command)
    for name in (
        "agreement",
        "kappa",
        "sensitivity",
        "specificity",
        "unparseable",
        "order",
        "corrected",
        "Kept: ",
    ):
        assert name in done.stdout
    assert "1 scenario is too few" in done.stdout
    assert "criteria judged" in done.stderr
    text = flat(command("runs", "show", "last").stdout)
    assert "Calibrated: agreement 0." in text
    assert "runs/calibrations/" in text
    assert "Corrected for what it gets wrong (Rogan and Gladen): unknown (cannot be corrected" in text
    assert "NOT calibrated" not in text


def test_json_holds_the_same_facts(judged, command):
    before = json.loads(command("runs", "show", "last", "--json").stdout)["judge"]
    assert before["model"] == "m"
    assert before["outcomes"]["met"] == 2
    assert before["calibration"] is None
    found = json.loads(calibrate(command, "--json").stdout)
    assert found["agreement"]["specificity"]["value"] == 0.0
    assert found["corrected"]["value"] is None
    after = json.loads(command("runs", "show", "last", "--json").stdout)["judge"]
    assert after["calibration"] == {**found, "file": after["calibration"]["file"]}
    assert after["calibration"]["file"].endswith(found["file"].split("/")[-1])


def test_a_run_without_a_judge_says_nothing_of_one(played, command):
    assert "Judge" not in command("runs", "show", "last").stdout
    assert json.loads(command("runs", "show", "last", "--json").stdout)["judge"] is None


def test_the_judge_is_the_one_given_else_that_of_the_run_else_that_of_the_project(
    judged, command, project, serve
):
    named = [serve([YES], names=(name,)) for name in ("given", "of-the-project")]
    entry = f"models:\n  judge: {{model: of-the-project, base_url: '{named[1].url}'}}\n"
    (project / "worldloom.yaml").write_text(entry, "utf-8")

    def who(*words):
        return json.loads(calibrate(command, "--json", *words).stdout)["judge"]["model"]

    assert who("--judge", "given", "--judge-base-url", named[0].url) == "given"
    assert who() == "m"
    assert who("--judge", "of-the-project") == "of-the-project"
    assert command("run", "scenarios", "--agent", "careful").exit_code == 0
    assert who() == "of-the-project"


def test_without_any_judge_it_is_said_how_to_name_one(played, command):
    done = command("judge", "calibrate", "last")
    assert done.exit_code == 2
    assert "name the judge with --judge" in done.stderr


def test_a_judge_that_does_not_answer_is_told_before_anything_is_asked(played, command):
    done = command("judge", "calibrate", "last", "--judge", "m", "--judge-base-url", "http://127.0.0.1:9/v1")
    assert done.exit_code == 2
    assert "does not answer" in done.stderr
    assert not (played.parent / "calibrations").exists()


def test_a_bad_label_is_told_with_its_line_and_nothing_is_asked(played, command, serve, here):
    server = serve([YES])
    (here / "labels.csv").write_text("episode,criterion,passed\n0,0,maybe\n", "utf-8")
    words = ("--judge", "m", "--judge-base-url", server.url, "--labels", "labels.csv")
    done = command("judge", "calibrate", "last", *words)
    assert done.exit_code == 2
    assert "labels.csv:2:1: passed is 'maybe'" in done.stderr
    assert server.chats == 0


def test_a_limit_and_a_second_time_ask_for_no_more_than_they_must(played, command, serve):
    server = serve([YES])
    words = ("--judge", "m", "--judge-base-url", server.url)
    calibrate(command, *words, "--limit", "2")
    assert server.chats == 4
    calibrate(command, *words, "--limit", "2")
    assert server.chats == 4


def test_an_interrupt_says_that_nothing_is_lost(played, command, monkeypatch):
    async def interrupted(*words, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(judging, "calibrate", interrupted)
    done = command("judge", "calibrate", "last", "--judge", "m", "--judge-base-url", "http://127.0.0.1:9/v1")
    assert done.exit_code == 130
    assert "the same command goes on with the rest" in done.stderr


@pytest.mark.parametrize("words", [("judge",), ("judge", "--help"), ("judge", "calibrate", "--help")])
def test_help_says_what_there_is(command, words):
    done = command(*words)
    assert done.exit_code == 0
    assert "calibrate" in done.stdout
