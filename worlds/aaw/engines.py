"""What the arguments of the engines stand for: `model` takes none, `replay` the name of a record's file."""

from worldloom.core.canonical import Json
from worldloom.core.errors import UsageError
from worldloom.worlds.aaw.recorded import world as replay


def options_of(engine: str, argument: str) -> dict[str, Json]:
    """What the registry calls: the options of an engine, read once, so that a run does not depend on a file.

    Raises:
        UsageError: the argument cannot be used.
    """
    if engine == "replay":
        return replay.options_of(argument)
    if argument:
        raise UsageError(f"the world `{engine}` takes no argument, and was given {argument!r}")
    return {}
