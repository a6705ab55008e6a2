"""`import worldloom` and `worldloom --help` come at once: neither loads a graph, a provider or a numeric library."""

import json
import subprocess
import sys

HEAVY = {
    *("langchain_core", "langgraph", "litellm", "matplotlib"),
    *("numpy", "openai", "torch", "transformers", "xllamacpp"),
}
REPORT = "import json, sys; sys.stderr.write('\\n' + json.dumps(sorted(sys.modules)))"
HELP = f"""
import sys
sys.argv = ["worldloom", "--help"]
from worldloom.cli import main
try:
    main()
finally:
    {REPORT}
"""


def heavy_after(code):
    """The heavy packages that a fresh interpreter holds after running the code."""
    run = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    return HEAVY & set(json.loads(run.stderr.splitlines()[-1]))


def test_importing_worldloom_loads_nothing_heavy():
    assert heavy_after(f"import worldloom; dir(worldloom); worldloom.UsageError; {REPORT}") == set()


def test_help_loads_nothing_heavy():
    assert heavy_after(HELP) == set()


def test_a_heavy_import_would_be_seen():
    assert heavy_after(f"import numpy; {REPORT}") == {"numpy"}
