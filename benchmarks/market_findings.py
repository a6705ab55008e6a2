"""What AI-Work found among language models, beside what the same market comes to among policies that ask no model.

Plays the studies in graphs/market/studies at the seeds that stand there and writes docs/market-findings.md. A direction
holds if the mean over seeds reaches what is wanted and its 95 % bootstrap interval over seeds excludes no effect. Goal:
the page says what was measured, whether or not it is what was published.

    python benchmarks/market_findings.py [--seeds 30] [--only work recession] [--page docs/market-findings.md]
"""

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from market_directions import DIRECTIONS, STUDIES, Played

import worldloom as wl
from worldloom.core.study import StudySpec, Variant, short_paths
from worldloom.runs.statistics import Estimate, estimate

HERE = Path(__file__).parent
TEMPLATE = HERE / "market_findings.md"
PAGE = HERE.parent / "docs" / "market-findings.md"
SHOWN = (
    "inequality", "inequality-more-jobs", "work", "undercutters", "open-bidding", "performance-pay", "recession",
    "decay", "prior-window", "weight", "rho", "capacity", "size", "tightness", "signals", "learners-pay",
    "learners-recession", "learners-bandit",
)  # fmt: skip
"""Studies whose variants the page shows, in its order."""


def play(name: str, folder: Path, seeds: int | None) -> Played:
    """Play a study, with fewer seeds than it says if `seeds` is given."""
    file = STUDIES / f"{name}.yaml"
    if seeds is not None:
        text = re.sub(r"count: \d+", f"count: {seeds}", file.read_text("utf-8"))
        file = folder / file.name
        file.write_text(text, "utf-8")
    begun = time.perf_counter()
    sweep = wl.sweep(file, runs_dir=folder / "runs")
    assert sweep.result.reasons().keys() == {"finished"}, sweep.result.reasons()
    return Played(name, sweep, time.perf_counter() - begun)


# The page


def interval(found: Estimate, digits: int = 2) -> str:
    """A mean with its interval."""
    if found.mean is None:
        return "none"
    edges = f" [{found.low:.{digits}f}, {found.high:.{digits}f}]" if found.low is not None else ""
    return f"{found.mean:.{digits}f}{edges}"


def directions(played: Mapping[str, Played]) -> Iterator[str]:
    """The table of directions."""
    yield "| published | measured here | mean [95 %] | seeds | wanted | holds |"
    yield "|---|---|---|---|---|---|"
    for one in DIRECTIONS:
        if one.study in played:
            values = one.value(played[one.study])
            found = estimate((str(seed), value) for seed, value in values.items())
            wanted = f"{'>' if one.wanted == one.none else '≥'} {one.wanted:g}"
            if one.wanted < one.none:
                wanted = f"≤ {one.wanted:g}" if one.wanted < one.none - 1e-6 else f"< {one.none:g}"
            cells = (
                one.published,
                one.measured,
                interval(found, 3),
                str(len(values)),
                wanted,
                one.verdict(found),
            )
            yield f"| {' | '.join(cells)} |"


def variants(played: Played) -> Iterator[str]:
    """A study as a table."""
    study = played.sweep.study
    yield f"### `{played.name}.yaml`"
    yield ""
    yield study.summary or ""
    yield ""
    yield f"| variant | {' | '.join(study.metrics)} |"
    yield "|---" * (len(study.metrics) + 1) + "|"
    for row in played.sweep.rows:
        cells = []
        for metric in study.metrics:
            values = row.scores.get(metric, {})
            cells.append(interval(estimate((str(seed), value) for seed, value in values.items())))
        yield f"| {full_name(study, row.variant)} | {' | '.join(cells)} |"
    yield ""


def full_name(study: StudySpec, variant: Variant) -> str:
    """The name of a variant, with its values uncut."""
    if study.named:
        return variant.name
    ends = short_paths(study.paths)
    values = {
        path: value if isinstance(value, str) else json.dumps(value) for path, value in variant.values.items()
    }
    return ", ".join(f"{ends[path]} {values[path]}" for path in study.paths)


def page(played: Mapping[str, Played]) -> str:
    """The page."""
    tables = [line for name in played for line in variants(played[name])]
    return TEMPLATE.read_text("utf-8").format(
        directions="\n".join(directions(played)),
        tables="\n".join(tables).strip(),
        episodes=f"{sum(row.episodes for one in played.values() for row in one.sweep.rows):,}",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, say what takes how long, write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, help="fewer than the studies say; the page is then not written")
    parser.add_argument("--only", nargs="+", choices=SHOWN, help="the page is then not written")
    parser.add_argument("--page", type=Path, default=PAGE)
    given = parser.parse_args(arguments)
    played = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in given.only or SHOWN:
            played[name] = play(name, Path(folder), given.seeds)
            print(f"{name}: {played[name].took_s:.1f} s", file=sys.stderr, flush=True)
        text = page(played)
    print("goal: the page says what was measured")
    if given.seeds is None and given.only is None:
        given.page.write_text(text, "utf-8")
        print(f"wrote {given.page}")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
