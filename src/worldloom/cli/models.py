"""Models: `models list` and `models pull`: the small models that run inside the process."""

from dataclasses import dataclass

from worldloom.cli.pulling import pull_shown
from worldloom.cli.terminal import cell, put_json, say, stderr, stdout, table
from worldloom.models.weights import CATALOGUE, Weights, cache_folder, find, verify, weights


@dataclass(frozen=True, slots=True)
class Kept:
    """Whether a model's weights are here; `sound` is None if nobody has looked inside."""

    wanted: Weights
    path: str | None
    sound: bool | None

    @property
    def state(self) -> str:
        if self.path is None:
            return "not here"
        return {None: "here", True: "here, SHA-256 right", False: "DAMAGED"}[self.sound]


def kept(wanted: Weights, *, check: bool) -> Kept:
    """Look for a model's weights; `check` reads them whole."""
    path = find(wanted, cache_folder())
    if path is None:
        return Kept(wanted, None, None)
    return Kept(wanted, str(path), verify(wanted, path) if check else None)


def list_models(*, check: bool, as_json: bool) -> int:
    """Print the catalogue; returns the exit code: 1 if weights are damaged."""
    found = [kept(wanted, check=check) for wanted in CATALOGUE.values()]
    damaged = [each.wanted.name for each in found if each.sound is False]
    if as_json:
        put_json([_to_json(each) for each in found])
        return 1 if damaged else 0
    made = table("name", "model", "MB", "licence", "weights", right=("MB",))
    for each in found:
        size = round(each.wanted.size / 1e6)
        values = (f"embedded:{each.wanted.name}", each.wanted.title, size, each.wanted.licence, each.state)
        made.add_row(*(cell(value) for value in values))
    stdout().print(made)
    stdout().print()
    for each in found:
        if each.path is not None:
            say(stdout(), f"{each.wanted.name}: {each.path}", wrap=False)
        if each.path is None or each.sound is False:
            say(stdout(), f"Pull it: worldloom models pull {each.wanted.name}")
    say(stdout(), "Any other: --model embedded:FILE.gguf, or a server's with --model NAME --base-url URL")
    return 1 if damaged else 0


def pull_model(name: str) -> None:
    """Pull a model's weights unless sound ones are here.

    Raises:
        UsageError: there is no such model, or it cannot be had.
    """
    wanted = weights(name.removeprefix("embedded:"))
    here = kept(wanted, check=True)
    if here.sound:
        say(stderr(), f"{wanted.title} is here and its SHA-256 is right: {here.path}", wrap=False)
    else:
        pull_shown(stderr(), wanted)


def _to_json(each: Kept) -> dict[str, object]:
    return {
        "name": each.wanted.name,
        "title": each.wanted.title,
        "size": each.wanted.size,
        "sha256": each.wanted.sha256,
        "licence": each.wanted.licence,
        "path": each.path,
        "sound": each.sound,
    }
