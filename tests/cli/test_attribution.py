"""Who failed, as people read it: a line where nobody did, tables where somebody did, at any width."""

import io
import json

import pytest
from rich.console import Console

from worldloom.api.results.attribution import attribution_of
from worldloom.cli.reports.attribution import print_attribution
from worldloom.runs.agreement import judged_score
from worldloom.runs.ending import REASONS, End
from worldloom.runs.rows import EpisodeRow, Score
from worldloom.runs.store import RunStore


def row(number, reason, status="ended"):
    models = '{"agent":[400000,1,1,11500,0],"world":[99000,1,1,12,0]}'
    fault = REASONS[reason][0]
    return EpisodeRow(
        number, str(number), f"s{number % 9}", "", "m", 0, 0, status, reason, fault, models=models
    )


ENDS = [reason for reason in REASONS if End(reason).status == "ended"]
ALL = [
    *(row(number, reason) for number, reason in enumerate(ENDS)),
    *(row(100 + number, "cancelled", status) for number, status in enumerate(("planned", "waiting"))),
]
SCORES = {
    one.row: [
        Score("SPR", None if one.row == 2 else 1.0, 1, "share", "rubric"),
        judged_score("nice", "order"),
    ]
    for one in ALL
}


def shown(casts, width, *, full=False):
    screen = Console(file=io.StringIO(), width=width, markup=False, highlight=False)
    print_attribution(screen, casts, full=full)
    return screen.file.getvalue()


@pytest.mark.parametrize("width", [80, 120])
def test_with_every_fault_there_is_each_row_of_the_tables_is_one_line(width):
    text = shown([attribution_of(ALL, SCORES)], width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    ends = [
        line.split() for line in lines[: lines.index(next(one for one in lines if one.startswith("rate")))]
    ]
    for reason in ENDS:
        fault = REASONS[reason][0]
        (words,) = (words for words in ends if reason in words)
        assert words[:3] == [fault.replace("none", "nobody's"), reason, "1"]
        assert (words[-1], words[-2][-1]) == ("yes" if fault in ("none", "agent") else "no", "]")
    replies = f"agent: unusable replies {len(ENDS) * 11_500:,} of {len(ENDS) * 400_000:,} requests"
    for start in (replies, "without a score"):
        (line,) = (line for line in lines if " ".join(line.split()).startswith(start))
        assert line.rstrip().endswith("]")


def test_episodes_that_have_not_ended_stand_under_their_own_name():
    text = shown([attribution_of(ALL, SCORES)], 120)
    assert [line.split()[:3] for line in text.splitlines() if line.startswith("–")] == [
        ["–", "planned", "1"],
        ["–", "waiting", "1"],
    ]


def test_what_a_score_leaves_out_stands_beside_what_it_would_be_with_it():
    rows = [row(0, "completed"), row(1, "model_failed"), row(2, "completed")]
    lines = shown([attribution_of(rows, {0: SCORES[0], 2: SCORES[2]})], 80).splitlines()
    (line,) = (line for line in lines if line.startswith("SPR"))
    assert line.split() == ["SPR", "1", "infrastructure", "1;", "judge", "1", "1.00", "0.33,", "1.00"]


@pytest.mark.parametrize("full", [False, True])
def test_where_no_episode_has_ended_one_line_says_so(full):
    rows = [
        row(number, "cancelled", status) for number, status in enumerate(("planned", "planned", "waiting"))
    ]
    scores = dict.fromkeys(range(3), SCORES[0])
    text = shown([attribution_of(rows, scores)], 120, full=full)
    assert (
        text
        == "No episode of m has ended: planned 2 (not begun); waiting 1 (a person's answer is awaited).\n"
    )


def test_scores_over_no_episode_have_no_table():
    text = shown([attribution_of([row(0, "model_failed")], {0: SCORES[0]})], 120)
    assert "Who failed, m: 0 of 1 episode counts in the scores." in text
    assert "left out, by whose fault" not in text


def test_a_floor_that_lost_episodes_says_so():
    floor = attribution_of([row(0, "completed"), row(1, "world_failed")], {})
    plain = EpisodeRow(5, "5", "s", "", "m", 0, 0, "ended", "completed", "none")
    text = shown([floor, attribution_of([plain], {})], 120)
    assert text.splitlines()[-1] == "m: 1 of 2 episodes count in the scores; left out: world_failed 1."


def test_a_run_without_a_fault_says_so_in_one_line_and_runs_show_has_the_tables(command, project):
    done = command("run", "scenarios", "--agent", "careful")
    assert "Ended: completed 1 (the agent said that it was done). Faults 0.00 of 1 episode." in done.stdout
    assert "whose fault" not in done.stdout
    again = command("runs", "show", "last")
    assert "Who failed, careful: 1 of 1 episode counts in the scores." in again.stdout
    assert "whose fault" in again.stdout
    told = json.loads(command("runs", "show", "last", "--json").stdout)["attribution"]
    assert [(one["cast_name"], one["in_scores"]) for one in told] == [("literal", 1), ("careful", 1)]


def test_a_run_with_a_fault_has_the_tables_at_once_in_run_and_in_resume(command, project, serve, careful):
    server = serve(["What a nice printer.", *careful])
    done = command("run", "scenarios", "--model", "m", "--base-url", server.url)
    assert "whose fault" in done.stdout
    line = next(line for line in done.stdout.splitlines() if line.startswith("agent: unusable replies"))
    assert line.split()[-5:] == ["1", "of", "6", "requests", "0.17"]
    assert "whose fault" in command("resume", "last").stdout


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_report_opens_no_event_however_many_there_are(played, command, monkeypatch, words):
    for name in ("events", "arrivals", "telemetry", "raw_telemetry", "blob"):
        monkeypatch.setattr(RunStore, name, None)
    done = command("runs", "show", "last", *words)
    assert done.exit_code == 0, done.output
