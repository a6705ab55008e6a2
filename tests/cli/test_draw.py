"""`runs draw`: pictures in the terminal, as SVG, and as data."""

import contextlib
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from worldloom.cli.app import app
from worldloom.cli.reports import svg as plotting
from worldloom.cli.reports.charts import draw
from worldloom.cli.terminal import Screen
from worldloom.core.event import Event
from worldloom.core.picture import Bar, Bars, Edge, Frame, Lines, Network, Node, Page, Scatter, Series, Table

ROOM = """
import numpy as np
from worldloom.agents.cohort import Decisions

class Buyer:
    async def act_many(self, memo, seats, seen, ctx):
        listed = np.flatnonzero(seen["listed"])
        job = listed[seats % len(listed)][:, None]
        return Decisions({
            "seat": seats, "train": np.full(len(seats), -1), "job": job, "price": seen["budget"][job] * 0.9
        })

def build(config):
    return Buyer()
"""
CARD = "role: agent\nname: buyer\nsummary: Bids for one job.\nfactory: .buyer:build\n"
MARKET = """
kind: market
id: stalls
world: {rounds: 5, skills: [writing, data], jobs: {per_skill: 2, listing_probability: 1}}
cast:
  low: {agent: buyer, count: 3}
  high: {agent: buyer, count: 2}
"""
SVG = "{http://www.w3.org/2000/svg}"
NAMES = "market, wealth, skill, prices, work, beveridge, lorenz, earners, diary"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A project with a run of a market."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "buyer").mkdir()
    (folder / "buyer/room.yaml").write_text(CARD)
    (folder / "buyer/buyer.py").write_text(ROOM)
    (folder / "worldloom.yaml").write_text("rooms: [buyer]\n")
    (folder / "stalls.yaml").write_text(MARKET)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = CliRunner().invoke(app, ["run", "stalls.yaml", "--runs-dir", "runs"])
    assert done.exit_code == 0, done.stderr
    return folder


@pytest.fixture
def market(made, here):
    """A copy of it as the working directory."""
    shutil.copytree(made, here, dirs_exist_ok=True)
    return here


def shown(picture, width=60, **options):
    """A picture as the terminal has it, line by line."""
    screen = Screen(file=io.StringIO(), width=width, markup=False, highlight=False, emoji=False)
    draw(screen, picture, **options)
    return [line.rstrip() for line in screen.file.getvalue().splitlines()]


def lines(*series, x="round"):
    return Lines("l", "Coins", "What they have.", x, "coins", series)


def test_the_terminal_shows_every_picture_at_its_width(market, command, monkeypatch):
    for width in (40, 80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        done = command("runs", "draw", "last", "--episode", "0")
        assert done.exit_code == 0, done.stderr
        assert max(len(line) for line in done.stdout.splitlines()) <= width
        for title in ("Who bid for what", "Earned so far, mean per agent", "Gini", "Diary of an agent"):
            assert title in done.stdout
        assert "\x1b" not in done.stdout


def test_the_pictures_are_data_with_json(market, command):
    found = json.loads(command("runs", "draw", "last", "--episode", "0", "--json").stdout)
    assert ", ".join(one["name"] for one in found) == NAMES
    one = json.loads(
        command("runs", "draw", "last", "--episode", "0", "--only", "diary:high-1", "--json").stdout
    )
    assert [(each["name"], [page[0] for page in each["pages"]]) for each in one] == [("diary", ["high-1"])]


def test_one_picture_is_shown_whole_with_what_it_is_about(market, command):
    done = command("runs", "draw", "last", "--episode", "0", "--only", "market:round-3")
    assert "round-3: agents down, jobs across" in done.stdout
    assert "Agents on the left, jobs on the right" in done.stdout
    assert "One of" not in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--episode", "1"), "has no episode 1; allowed: 0 to 0"),
        (("--episode", "0", "--only", "welth"), f"did you mean 'wealth'?\n  allowed: {NAMES}"),
        (("--episode", "0", "--only", "market:round-9"), "no part 'round-9'"),
        (("--episode", "0", "-o", "all.svg"), f"one picture\n  allowed: a folder, or --only with one of {NAMES}"),
        (("--episode", "0", "--only", "wealth", "-o", "a.png"), "is written as .svg\n  allowed: FILE.svg, or a folder"),
        (("--episode", "0", "--only", "diary", "-o", "a.svg"), "is written as .csv\n  allowed: FILE.csv, or a folder"),
        (("--episode", "0", "--only", "wealth", "-o", "there.svg"), "there.svg is there already"),
        (("--episode", "0", "-o", "stalls"), "stalls cannot be written"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_or_written_is_one_error_and_nothing_is_written(market, command, words, said):
    (market / "there.svg").write_text("mine")
    (market / "stalls").write_text("mine")
    before = sorted(market.iterdir())
    done = command("runs", "draw", "last", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
    assert sorted(market.iterdir()) == before
    assert (market / "there.svg").read_text() == "mine"


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("UPDATE blobs SET data = x'ff' WHERE media_type LIKE '%columns'", "is not as it was written"),
        ("UPDATE events SET data = '{}' WHERE type = 'market_acts.1'", "is damaged: the event under key"),
        ("UPDATE events SET data = x'7b7d' WHERE type = 'market_acts.1'", "cannot be drawn: its round 0"),
        ("UPDATE events SET data = x'5b5d' WHERE type = 'market_bids.1'", "cannot be drawn: the event at"),
        ("DELETE FROM events WHERE type = 'market_jobs.1'", "cannot be drawn: its round 0"),
        ("DELETE FROM blobs", "is not in"),
    ],
)
def test_a_market_whose_record_is_damaged_is_one_error(market, command, sql, said):
    (record,) = market.glob("runs/*/run.sqlite")
    with contextlib.closing(sqlite3.connect(record)) as connection, connection:
        assert connection.execute(sql).rowcount > 0
    done = command("runs", "draw", "last", "--episode", "0")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ") and said in done.stderr
    assert "a fault in worldloom" not in done.stderr


def test_an_episode_of_a_graph_that_makes_no_pictures_says_so(played, command):
    done = command("runs", "draw", "last", "--episode", "0")
    assert done.exit_code == 2
    assert "the graph 'aaw', which makes no pictures\n  allowed: episodes of market" in done.stderr


def test_a_folder_gets_every_picture_and_a_second_time_nothing_is_overwritten(market, command):
    done = command("runs", "draw", "last", "--episode", "0", "-o", "pictures/new")
    assert (done.exit_code, done.stdout) == (0, ""), done.stderr
    files = {file.name for file in (market / "pictures/new").iterdir()}
    assert files == {f"{name}.{'csv' if name == 'diary' else 'svg'}" for name in NAMES.split(", ")}
    rows = list(csv.reader(io.StringIO((market / "pictures/new/diary.csv").read_text())))
    assert rows[0][:3] == ["page", "round", "saw"]
    assert len(rows) == 1 + 5 * 5
    done = command("runs", "draw", "last", "--episode", "0", "-o", "pictures/new")
    assert done.exit_code == 2
    assert "is there already" in done.stderr


@pytest.mark.slow
def test_an_svg_is_the_same_whenever_and_wherever_it_is_made(market, command, tmp_path):
    assert command("runs", "draw", "last", "--episode", "0", "--only", "market", "-o", "a.svg").exit_code == 0
    (market / "matplotlibrc").write_text("figure.facecolor: black\nsvg.fonttype: path\n")
    env = {**os.environ, "PYTHONHASHSEED": "7", "SOURCE_DATE_EPOCH": "1", "TZ": "Asia/Tokyo"}
    words = ["runs", "draw", "last", "--episode", "0", "--only", "market", "-o", "b.svg"]
    run = [sys.executable, "-P", "-m", "worldloom.cli", *words]
    subprocess.run(run, env=env, check=True, timeout=120, capture_output=True)
    assert (market / "a.svg").read_bytes() == (market / "b.svg").read_bytes()


def test_the_view_of_the_page_on_pictures_can_be_drawn():
    page = (Path(__file__).parents[2] / "docs/pictures.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    names = {}
    exec(compile(code, "pictures.md", "exec"), names)  # noqa: S102  # our own text
    events = [Event(b"0", "model.1", b'{"answer":{"text":"yes"}}'), Event(b"1", "ended.1", b"{}")]
    (picture,) = names["pictures"](None, events, None)
    assert "● agent 3" in shown(picture)
    assert "characters" in plotting.svg_of(picture)
    assert names["pictures"](None, [], None) == []


HOSTILE = "</title><script>$x^2$&\x1b[2J\u202e\ufffe_" + "n" * 30
STRANGE = [
    lines(Series(HOSTILE, (0, 1, 2), (1, None, 3), (0, 0, 0), (2, 2, 2)), Series("_b", (), ()), x=HOSTILE),
    lines(),
    Scatter("s", HOSTILE, "", "x", "y", (Series("a", (1e300, -1e300), (5, 5)),)),
    Bars("b", "t", "a", "coins", (HOSTILE, "g"), (Bar(HOSTILE, "g", -2.5), Bar("b", HOSTILE, None), Bar("c", "g", 4))),
    Bars("b", "t", "a", "coins", (), ()),
    Network("n", "t", "a", "l", HOSTILE, "thin", "thick", ("g",), (Node(HOSTILE, "g"),), (Node(HOSTILE, "s"),) * 90,
            (Frame(HOSTILE, (Edge(0, 0, 3, 0), Edge(0, 89, 3, 2))), Frame("x", ()))),
    Network("n", "t", "a", "l", "r", "thin", "thick", (), (), (), ()),
]  # fmt: skip


@pytest.mark.parametrize("picture", STRANGE, ids=range(len(STRANGE)))
def test_strange_names_and_numbers_are_drawn_and_do_no_harm(picture):
    svg = plotting.svg_of(picture)
    root = ElementTree.fromstring(svg)
    assert [child.tag for child in root[:2]] == [f"{SVG}title", f"{SVG}desc"]
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == f"{root[0].get('id')} {root[1].get('id')}"
    assert not list(root.iter(f"{SVG}script"))
    assert "\x1b" not in svg
    for width in (20, 60, 300):
        text = "\n".join(shown(picture, width))
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_text_in_an_svg_stays_text_and_names_every_series():
    svg = plotting.svg_of(lines(Series("$low$", (0, 1), (1, 2)), Series("_high", (0, 1), (2, 3))))
    texts = {"".join(node.itertext()).strip() for node in ElementTree.fromstring(svg).iter(f"{SVG}text")}
    assert {"$low$", "_high", "Coins", "round", "coins"} <= texts


def test_where_matplotlib_is_missing_the_message_names_the_extra_and_all_else_works(
    market, command, monkeypatch
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "worldloom.cli.reports.svg")
    words = ("runs", "draw", "last", "--episode", "0", "--only")
    done = command(*words, "wealth", "-o", "a.svg")
    assert done.exit_code == 2
    assert "pip install 'worldloom[plot]'" in done.stderr
    assert command(*words, "wealth").exit_code == 0
    assert command(*words, "diary", "-o", "diary.csv").exit_code == 0


def test_curves_have_signs_of_their_own_and_leave_gaps():
    text = shown(lines(Series("up", (0, 1, 2, 3, 4), (0, 1, None, 3, 4)), Series("down", (0, 4), (4, 0))), 22)
    assert text == [
        "Coins",
        "coins",
        "   4 ┤○              ●",
        "     │ ○○          ●●",
        "     │   ○        ●",
        "     │    ○      ●",
        "     │     ○○",
        "2.18 ┤       ○",
        "     │        ○",
        "     │         ○○",
        "     │    ●      ○",
        "     │   ●        ○",
        "     │ ●●          ○○",
        "   0 ┤●              ○",
        "     └────────────────",
        "      0    round     4",
        "● up 4   ○ down 0",
    ]


def test_curves_that_share_a_place_take_turns():
    same = [Series(name, (0, 1), (2, 2)) for name in "ab"]
    assert "●○●○●○●○" in "".join(shown(lines(*same), 22))


def test_bars_start_at_zero_on_either_side():
    bars = Bars(
        "b",
        "Coins",
        "a",
        "coins",
        ("g", "h"),
        (Bar("rich", "g", 4.0), Bar("poor", "h", -2.0), Bar("new", "g", None)),
    )
    assert shown(bars, 21) == [
        "Coins",
        "coins",
        "rich  4     ████████",
        "poor -2 ▓▓▓▓",
        "new   –",
        "█ g   ▓ h",
    ]


def test_a_network_is_a_matrix():
    lefts, rights = (Node("ann", "g"), Node("bob", "g")), (Node("x-1", "s"), Node("a-very-long-name-12", "s"))
    edges = (Edge(0, 0, 4, 4), Edge(0, 1, 2, 0), Edge(1, 1, 3, 1))
    network = Network(
        "n", "Bids", "a", "agents", "jobs", "bid", "won", ("g",), lefts, rights, (Frame("all", edges),)
    )
    assert shown(network) == [
        "Bids",
        "all: agents down, jobs across",
        "      a",
        "      -",
        "      v",
        "      e",
        "      r",
        "      y",
        "      …",
        "    x -",
        "    - 1",
        "    1 2",
        "ann █ ·",
        "bob   ░",
        "· bid only   ░▒▓█ won, up to 4 times",
    ]


def test_a_table_is_cut_unless_it_is_asked_for():
    rows = tuple((number, f"did {number}", None) for number in range(30))
    diary = Table("diary", "Diary", "a", ("round", "did", "won"), (Page("ann", rows), Page("bob", ())))
    brief, whole = shown(diary), shown(diary, whole=True)
    assert any("did 9" in line for line in brief)
    assert not any("did 10" in line for line in brief)
    assert "… and 20 more rows: --only diary" in brief
    assert any("did 29" in line for line in whole)
    assert brief[-1] == "One of 2: --only diary:NAME, NAME one of ann, bob"
