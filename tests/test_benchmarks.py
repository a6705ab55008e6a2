"""Benchmarks still run: each at a small size, for nobody runs them often enough to notice."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(os.path.abspath(__file__)).parents[1] / "benchmarks"
SMALL = (
    "many_episodes.py --episodes 2 3 --steps 20 40 80",
    "market_findings.py --seeds 2 --only undercutters",
    "market.py --rounds 2 --market-rounds 5 --middle 50 --large 100",
    "market_regret.py --rounds 2 --episodes 8",
    "model_client.py --pairs 2 --calls 8 --concurrency 2",
    "recording.py --rounds 2 --episodes 3",
    "replay.py --rounds 2 --episodes 1",
    "resume.py --rounds 1 --episodes 200 --samples 4",
    "summary.py --rounds 2 --episodes 200 --samples 2",
)


@pytest.mark.slow
@pytest.mark.parametrize("command", SMALL)
def test_a_benchmark_comes_to_its_figures(command, tmp_path):
    script, *options = command.split()
    # As people run them: what stands beside a script can be imported.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(
        [sys.executable, BENCHMARKS / script, *options],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "goal" in done.stdout
