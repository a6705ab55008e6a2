"""Fork: the past of a run, something changed, then live."""

from collections.abc import Mapping

from worldloom.core.event import Event


def forked(
    recorded: Mapping[bytes, Event], at: bytes, overrides: Mapping[bytes, Event] | None = None
) -> dict[bytes, Event]:
    """The rows with which a fork at key `at` starts: the parent's rows below it, and what is put in their stead.

    Args:
        recorded: key -> row of the parent.
        at: first key that is played live, unless it is overridden.
        overrides: key -> row to use instead, e.g. a different answer at `at`.
    """
    past = {key: event for key, event in recorded.items() if key < at}
    return past | dict(overrides or {})
