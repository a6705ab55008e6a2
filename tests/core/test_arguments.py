"""What a caller hands in is checked before anything begins, with one sentence that says what is allowed."""

from pathlib import Path

import pytest

from worldloom.core.arguments import path_of, paths_of, whole
from worldloom.core.errors import UsageError


@pytest.mark.parametrize("value", ["2", 1.5, 2.0, None, True, float("nan"), [1], 0, 8])
def test_what_is_no_whole_number_in_range_is_refused_by_name(value):
    with pytest.raises(UsageError, match=r"^epochs is .*; allowed: a whole number from 1 to 7$"):
        whole("epochs", value, 1, 7)


@pytest.mark.parametrize("value", [10**3000, 10**6000, "x" * 10**6, ["x" * 10**6]], ids=range(4))
def test_of_a_value_of_any_length_an_error_shows_the_beginning(value):
    for check in (lambda: whole("epochs", value, 1, 7), lambda: path_of([value])):
        with pytest.raises(UsageError) as refused:
            check()
        assert len(str(refused.value)) < 400


def test_anything_that_counts_as_a_whole_number_is_one():
    class Index:
        def __index__(self):
            return 3

    assert whole("seed", Index(), 0) == 3
    assert type(whole("seed", Index(), 0)) is int


@pytest.mark.parametrize("value", ["", "  ", "a\0b", b"bytes", 7, None, Path("x\0y")])
def test_what_names_no_file_is_refused(value):
    with pytest.raises(UsageError, match="allowed: the name of a file or folder"):
        path_of(value)


def test_one_path_is_a_list_of_one():
    assert paths_of("a") == paths_of(Path("a")) == paths_of(["a"]) == [Path("a")]
