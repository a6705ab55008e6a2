"""How long `import worldloom` and the command line take to come, and what they load.

Each command is a fresh process; rounds go through all of them in turns, so that a busy machine slows all alike. Beside
worldloom's own stand an empty Python and `import langgraph.graph`, which is what it would cost to import everything at
once. Goal: under a second, without langgraph, litellm, torch or transformers.

    python benchmarks/startup.py [--rounds 15]
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

GOAL_MS = 1000
FORBIDDEN = ("langgraph", "litellm", "torch", "transformers")
WATCHED = (*FORBIDDEN, "openai", "numpy")
COMMAND_LINE = """
import sys
sys.argv = {argv!r}
from worldloom.cli import main
try:
    main()
except SystemExit as end:
    if end.code:
        raise
"""
REPORT = "import json, sys; sys.stderr.write('\\n' + json.dumps(sorted(set(sys.modules) & set(%r))))"


@dataclass(frozen=True)
class Case:
    """One thing to start.

    Attributes:
        code: what runs in a fresh interpreter.
        goal: it has to be quick and may load nothing that is forbidden.
    """

    name: str
    code: str
    goal: bool = False


CASES = (
    Case("python -c pass", "pass"),
    Case("import worldloom", "import worldloom", goal=True),
    Case("worldloom --help", COMMAND_LINE.format(argv=["worldloom", "--help"]), goal=True),
    Case("worldloom runs list", COMMAND_LINE.format(argv=["worldloom", "runs", "list"])),
    Case("import langgraph.graph", "import langgraph.graph"),
)


def run(code: str, folder: str) -> str:
    """Run code in a fresh interpreter; returns what it wrote to stderr."""
    # Where bytecode may not be kept, every start would compile all it imports.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"a process that should have been measured failed:\n{done.stderr}")
    return done.stderr


def seconds(case: Case, folder: str) -> tuple[float, float]:
    """Wall-clock time and processor time of one process."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    run(case.code, folder)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def loaded(case: Case, folder: str) -> list[str]:
    """Which of the watched packages a case loads."""
    found: list[str] = json.loads(run(case.code + "\n" + REPORT % (WATCHED,), folder).splitlines()[-1])
    return found


def main() -> int:
    """Measure and print; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    took: dict[str, list[tuple[float, float]]] = {case.name: [] for case in CASES}
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        packages = {case.name: loaded(case, folder) for case in CASES}  # also warms the disk cache
        for number in range(given.rounds):
            for case in CASES if number % 2 == 0 else CASES[::-1]:
                took[case.name].append(seconds(case, folder))
    print(f"{'':24}{'wall: median (min to max)':>28}{'CPU: median':>14}   loads of {', '.join(WATCHED)}")
    for case in CASES:
        wall, cpu = ([one[clock] * 1000 for one in took[case.name]] for clock in (0, 1))
        median, found = statistics.median(wall), packages[case.name]
        missed |= case.goal and (median >= GOAL_MS or bool(set(found) & set(FORBIDDEN)))
        shown = f"{median:.0f} ms ({min(wall):.0f} to {max(wall):.0f})"
        print(f"{case.name:24}{shown:>28}{statistics.median(cpu):11.0f} ms   {', '.join(found) or 'none'}")
    verdict = "missed" if missed else "met"
    print(f"n = {given.rounds}; goal: under {GOAL_MS} ms and none of {', '.join(FORBIDDEN)}: {verdict}")
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
