"""Files that are not there, or are no files, are said to be so."""

import os

import pytest

from worldloom.core.errors import DocumentError
from worldloom.core.yamlio import MAX_BYTES, read


def refused(path):
    with pytest.raises(DocumentError) as caught:
        read(path)
    (problem,) = caught.value.problems
    assert problem.file == str(path)
    assert problem.line == 0
    return problem


def test_a_file_is_read(tmp_path):
    (tmp_path / "a.yaml").write_bytes(b"\xef\xbb\xbfa: \xc3\xa9\r\n")
    assert read(tmp_path / "a.yaml").value == {"a": "é"}


def test_a_missing_file_names_its_nearest_neighbour(tmp_path):
    (tmp_path / "plants.yaml").write_text("a: 1")
    problem = refused(tmp_path / "plant.yaml")
    assert problem.found == "there is no such file"
    assert problem.nearest == str(tmp_path / "plants.yaml")


def test_a_missing_folder_is_a_missing_file(tmp_path):
    assert refused(tmp_path / "no" / "such.yaml").found == "there is no such file"


def test_a_folder_is_no_file(tmp_path):
    assert refused(tmp_path).found == "this is a folder"


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    assert refused(tmp_path / "pipe.yaml").found == "this is no regular file"


def test_a_link_to_nowhere_is_a_missing_file(tmp_path):
    (tmp_path / "a.yaml").symlink_to(tmp_path / "b.yaml")
    assert refused(tmp_path / "a.yaml").found == "there is no such file"


@pytest.mark.parametrize("name", ["a\0b.yaml", "a" * 5000])
def test_an_impossible_name_is_told(name):
    assert "cannot be read" in refused(name).found


def test_a_file_that_may_not_be_read_is_told(tmp_path, monkeypatch):
    (tmp_path / "a.yaml").write_text("a: 1")

    def refuse(*_, **__):  # root may read everything, so permissions alone would prove nothing in a container
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    assert refused(tmp_path / "a.yaml").found == "the file cannot be read: Permission denied"


def test_a_too_large_file_is_not_read(tmp_path):
    with open(tmp_path / "a.yaml", "wb") as file:
        file.truncate(MAX_BYTES + 1)
    assert refused(tmp_path / "a.yaml").found == "the file is too large"
