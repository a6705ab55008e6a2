"""Score tables fit the screen, whatever is in them: no word and no number is cut, and nothing is left out."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from worldloom.api.results.result import Line
from worldloom.cli.reports.scores import print_scores
from worldloom.runs.statistics import Estimate

FEW = ("SPR", "NSS")
LONG = ("unemployment", "price_ratio", "client_utility", "specialisation", "training_rate", "win_rate")
PARTS = tuple(f"{metric}:{part}" for part in ("greedy_price", "q_learner") for metric in LONG)


def estimate(place):
    return Estimate(place + 100.25, place + 100.125, place + 100.5, 20, 20)


def line(name, metrics, category=None, tokens=None, failed=0):
    found = {metric: estimate(place) for place, metric in enumerate(metrics)}
    return Line(name, category, 20, failed, 0, found, 4.5, tokens, "scenario")


def drawn(lines, width):
    screen = Console(file=io.StringIO(), width=width, markup=False, highlight=False)
    print_scores(screen, SimpleNamespace(episodes=[]), lines)
    return screen.file.getvalue()


@pytest.mark.parametrize("width", [40, 80, 120, 300])
@pytest.mark.parametrize("metrics", [FEW, LONG, (*FEW, *PARTS), (*LONG, *PARTS)])
@pytest.mark.parametrize("categories", [(None,), (None, "privacy_security", "accessibility")])
def test_every_name_and_number_is_whole_at_any_width(width, metrics, categories):
    casts = ("literal", "careful", "random")
    text = drawn([line(name, metrics, each) for name in casts for each in categories], width)
    assert max(map(len, text.splitlines())) <= width
    words = text.split()
    for word in (*casts, *(each for each in categories if each), *(metrics)):
        for part in word.split(":"):
            assert part in words
    for place in range(len(metrics)):
        found = estimate(place)
        assert text.count(f"[{found.low:.2f}, {found.high:.2f}]") == len(casts) * len(categories)


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("metrics", [FEW, LONG])
def test_tokens_and_failures_are_told_in_every_form_where_there_are_any(width, metrics):
    none, some = (
        drawn([line("m", metrics, tokens=tokens, failed=failed)], width)
        for tokens, failed in ((0.0, 0), (1234.0, 3))
    )
    assert "tokens" not in none
    for word in ("tokens", "1,234", "failed", "3"):
        assert word in some.split()


@pytest.mark.parametrize("width", [70, 80, 120])
def test_episodes_are_listed_with_as_many_metrics_as_fit_and_names_stay_whole(
    command, here, monkeypatch, width
):
    assert command("run", "--agent", "careful").exit_code == 0
    monkeypatch.setenv("COLUMNS", str(width))
    table = command("runs", "show", "last").stdout.partition("\nno.")[2].partition("One of them")[0]
    heading, _, *rows = table.splitlines()
    assert [row.split()[0] for row in rows] == [str(number) for number in range(8)]
    assert max(map(len, rows)) <= width
    assert "SPR" in heading.split()
    assert ("explore" in heading.split()) == (width == 120)
