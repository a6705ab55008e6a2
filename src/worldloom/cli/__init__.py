"""The command line. `main` is what the script `worldloom` calls.

What a command does stands in a file of its own and is imported when it is called, so that help comes at once.
"""

from worldloom.cli.app import app

__all__ = ["main"]


def main() -> None:
    """Run the command line; ends the process with its exit code."""
    app(prog_name="worldloom")
