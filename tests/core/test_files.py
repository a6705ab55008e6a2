"""Whatever stands at a path, reading it ends, and says what is wrong."""

import os

import pytest

from worldloom.api.judging import load_calibration
from worldloom.api.results.labels import read_labels
from worldloom.core import yamlio
from worldloom.core.errors import UsageError, WorldloomError
from worldloom.core.files import read_bytes
from worldloom.models.serving.source import Source, shape
from worldloom.worlds.aaw.recorded.record import read_record


def linked(path, target):
    path.symlink_to(target)


ODD = {
    "a pipe": (os.mkfifo, "this is no regular file"),
    "a link to a pipe": (lambda path: (os.mkfifo(f"{path}.p"), linked(path, f"{path}.p")), "no regular file"),
    "a link to an endless device": (lambda path: linked(path, "/dev/zero"), "this is no regular file"),
    "a link to an empty device": (lambda path: linked(path, "/dev/null"), "this is no regular file"),
    "a folder": (os.mkdir, "this is a folder"),
    "a link to a folder": (lambda path: linked(path, "."), "this is a folder"),
    "a link to itself": (lambda path: linked(path, path.name), "the file cannot be read: Too many levels"),
    "a link to nowhere": (lambda path: linked(path, "none"), "there is no such file"),
    "a large file": (
        lambda path: path.write_bytes(b"12345678901"),
        "the file is too large\n  allowed: at most",
    ),
}


@pytest.mark.parametrize(("make", "said"), ODD.values(), ids=ODD)
def test_what_is_no_file_to_read_is_refused_and_not_waited_for(tmp_path, make, said):
    make(tmp_path / "odd")
    with pytest.raises(UsageError, match=f"{tmp_path / 'odd'}: .*{said}") as refused:
        read_bytes(tmp_path / "odd", 10)
    assert "allowed: " in str(refused.value)


def test_a_file_up_to_the_bound_is_read_whole_and_a_similar_name_is_offered(tmp_path):
    (tmp_path / "data.json").write_bytes(b"1234567890")
    assert read_bytes(str(tmp_path / "data.json"), 10) == b"1234567890"
    with pytest.raises(UsageError, match=r"did you mean .*/data\.json"):
        read_bytes(tmp_path / "date.json", 10)


READERS = {
    "any.yaml": yamlio.read,
    "labels.csv": lambda path: read_labels(path, []),
    "record.json": read_record,
    "calibration.json": load_calibration,
    "config.json": lambda path: shape(Source("m", str(path.parent))),
}


@pytest.mark.parametrize("odd", ["a pipe", "a link to an endless device", "a folder", "a link to itself"])
@pytest.mark.parametrize(("name", "read"), READERS.items(), ids=READERS)
def test_every_file_that_a_person_names_is_read_so(tmp_path, name, read, odd):
    make, _ = ODD[odd]
    make(tmp_path / name)
    with pytest.raises(WorldloomError, match=str(tmp_path / name)):
        read(tmp_path / name)
