"""Draw: the command `runs draw`, its options and its help; what it does is imported on use."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from worldloom.cli.options import AsJson, RunName, RunsDir
from worldloom.core.errors import UsageError

if TYPE_CHECKING:
    from worldloom.core.picture import Picture, Table


def draw(
    run: RunName,
    episode: Annotated[int, typer.Option(metavar="N", help="The episode, by its number.")],
    only: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:PART]",
            help="One picture; of one that has parts, one of them. Default: all.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE.svg|FOLDER",
            help="A new file, .csv for a table, or a folder for all. Default: the terminal.",
            show_default=False,
        ),
    ] = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> None:
    """Draw pictures of an episode, in the terminal or as SVG. What there is to see, the kind of scenario says.

    SVG needs the extra `plot`. --json prints the pictures as data, with all parts.
    """
    from worldloom.api.pictures import pictures_of  # noqa: PLC0415 (brings numpy)
    from worldloom.cli.locating import find_run  # noqa: PLC0415 (brings numpy)
    from worldloom.cli.reports.charts import draw as show  # noqa: PLC0415 (brings rich)
    from worldloom.cli.terminal import put_json, say, stderr, stdout  # noqa: PLC0415 (brings rich)
    from worldloom.core.picture import chosen  # noqa: PLC0415 (brings pydantic)
    from worldloom.core.project import find_project  # noqa: PLC0415 (brings pydantic)
    from worldloom.core.registry import Registry  # noqa: PLC0415 (brings pydantic)
    from worldloom.runs.store import RunStore  # noqa: PLC0415 (brings numpy)

    with RunStore(find_run(run, runs_dir)) as store:
        pictures = pictures_of(store, episode, Registry.discover(find_project(Path.cwd())))
    if only is not None:
        pictures = [chosen(pictures, only)]
    if output is not None:
        for file in _write(pictures, output):
            say(stderr(), f"written: {file}", wrap=False)
    if as_json:
        put_json([picture.to_json() for picture in pictures])
    elif output is None:
        for number, picture in enumerate(pictures):
            if number:
                stdout().print()
            show(stdout(), picture, whole=only is not None)


def _write(pictures: Sequence["Picture"], output: Path) -> list[Path]:
    """Write the pictures as files that do not exist yet."""
    texts = _texts(pictures, _files(pictures, output))
    try:
        for file, text in texts.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8", newline="") as opened:
                opened.write(text)
    except OSError as failure:
        raise UsageError(f"{failure.filename} cannot be written: {failure.strerror}") from failure
    return list(texts)


def _files(pictures: Sequence["Picture"], output: Path) -> list[Path]:
    """The file of each picture: `output` itself if it is called like a file, else one below it."""
    from worldloom.core.picture import Table  # noqa: PLC0415 (brings pydantic)

    ends = [".csv" if isinstance(one, Table) else ".svg" for one in pictures]
    if output.suffix and not output.is_dir():
        if len(pictures) > 1:
            names = ", ".join(one.name for one in pictures)
            raise UsageError(
                f"{output}: a file holds one picture\n  allowed: a folder, or --only with one of {names}"
            )
        if output.suffix != ends[0]:
            raise UsageError(
                f"{output}: the picture {pictures[0].name!r} is written as {ends[0]}"
                f"\n  allowed: FILE{ends[0]}, or a folder"
            )
        files = [output]
    else:
        files = [output / f"{one.name}{end}" for one, end in zip(pictures, ends, strict=True)]
    for file in files:
        if file.exists():
            raise UsageError(f"{file} is there already; write elsewhere, or remove it")
    return files


def _texts(pictures: Sequence["Picture"], files: Sequence[Path]) -> dict[Path, str]:
    """File -> what it will hold."""
    from worldloom.core.picture import Table  # noqa: PLC0415 (brings pydantic)

    texts = {}
    for file, one in zip(files, pictures, strict=True):
        if isinstance(one, Table):
            texts[file] = _csv(one)
        else:
            from worldloom.cli.reports.svg import svg_of  # noqa: PLC0415 (brings matplotlib, which is optional)

            texts[file] = svg_of(one)
    return texts


def _csv(picture: "Table") -> str:
    """The rows of all pages, behind the name of their page."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["page", *picture.columns])
    writer.writerows([page.name, *row] for page in picture.pages for row in page.rows)
    return text.getvalue()
