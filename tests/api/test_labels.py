"""Labels: what people may write, and how each bad entry is told."""

import pytest

from worldloom.api.results.labels import Rubric, read_labels
from worldloom.core.errors import DocumentError

RUBRICS = [
    Rubric(0, "c0ffee", ("It is off.", "It was looked at first.")),
    Rubric(1, "beef", ("It is off.", "It was looked at first.")),
    Rubric(3, "1234567", ("It is locked.", "Twice.", "Twice.")),
]


@pytest.fixture
def write(tmp_path):
    def to(name, text):
        file = tmp_path / name
        if text is not None:
            file.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
        return file

    return to


ENTRIES = [
    (0, 0, "true"),
    ("beef", "It was looked at first.", "false"),
    (3, "It is locked.", "true"),
    (3, 2, "false"),
]
FOUND = {(0, 0): True, (1, 1): False, (3, 0): True, (3, 2): False}


def test_a_list_in_yaml_names_episodes_and_criteria_by_number_or_text(write):
    lines = [f"  - {{episode: {e!r}, criterion: {c!r}, passed: {p}}}\n" for e, c, p in ENTRIES]
    assert read_labels(write("l.yaml", "labels:\n" + "".join(lines)), RUBRICS) == FOUND


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_table_in_csv_says_the_same_as_spreadsheets_write_it(write, ending, mark):
    lines = ["criterion,episode,passed", *(f'"{c}",{e},{p.upper()}' for e, c, p in ENTRIES), ""]
    assert read_labels(write("L.CSV", mark + ending.join(lines)), RUBRICS) == FOUND


YAML = "labels:\n  - {episode: 0, criterion: 0, passed: true}\n"
CSV = "episode,criterion,passed\n0,0,true\n"


@pytest.mark.parametrize(
    ("name", "text", "line", "words"),
    [
        ("l.yaml", YAML + "  - {episode: 99, criterion: 0, passed: true}\n", 3, "the episode 99"),
        ("l.yaml", YAML + "  - {episode: abc, criterion: 0, passed: true}\n", 3, "the episode 'abc'"),
        ("l.yaml", YAML + "  - {episode: 1, criterion: 7, passed: true}\n", 3, "0 to 1"),
        ("l.yaml", YAML + "  - {episode: 1, criterion: It is of., passed: true}\n", 3, "'It is off.'"),
        ("l.yaml", YAML + "  - {episode: 1, criterion: -1, passed: true}\n", 3, "0 to 1"),
        ("l.yaml", YAML + "  - {episode: 0, criterion: It is off., passed: true}\n", 3, "second label"),
        ("l.yaml", YAML + "  - {episode: 1, criterion: 0, passed: 'yes'}\n", 3, "passed"),
        ("l.yaml", YAML + "  - {episode: 1, criterion: 0, passd: true}\n", 3, "passd"),
        ("l.yaml", YAML + "  - {episode: 1, criterion: 0}\n", 3, "passed"),
        ("l.yaml", "labels: []\n", 1, "labels"),
        ("l.csv", CSV + "99,0,true\n", 3, "the episode 99"),
        ("l.csv", CSV + "0,It is of.,true\n", 3, "'It is off.'"),
        ("l.csv", CSV + "1,0,perhaps\n", 3, "true or false"),
        ("l.csv", CSV + "1,0\n", 3, "2 cells"),
        ("l.csv", CSV + "1,0,true,\n", 3, "4 cells"),
        ("l.csv", CSV + '"a\nb",0,true\n1,0,no\n', 5, "true or false"),
        ("l.csv", CSV + "0,0,true\n", 3, "second label"),
        ("l.csv", CSV + '"0,0,true\n', 3, "no CSV"),
        ("l.csv", "episode,passed\n0,true\n", 1, "episode, criterion, passed"),
        ("l.csv", "", 0, "empty"),
        ("l.yaml", YAML + "  - {episode: 3, criterion: Twice., passed: true}\n", 3, "twice"),
        ("l.csv", b"episode,criterion,passed\n\xff,0,true\n", 2, "UTF-8"),
        ("nowhere.csv", None, 0, "there is no such file"),
        ("nowhere.yaml", None, 0, "nowhere.yaml"),
    ],
)
def test_a_bad_label_is_told_with_its_line(write, name, text, line, words):
    file = write(name, text)
    with pytest.raises(DocumentError) as raised:
        read_labels(file, RUBRICS)
    assert raised.value.problems[-1].line == line
    assert words in str(raised.value)
    assert str(file) in str(raised.value)


def test_every_bad_label_is_told_in_the_order_of_the_file(write):
    file = write("l.csv", CSV + "9,0,true\n0,1,maybe\n0,9,true\n0,0\n")
    with pytest.raises(DocumentError) as raised:
        read_labels(file, RUBRICS)
    assert [problem.line for problem in raised.value.problems] == [3, 4, 5, 6]


@pytest.mark.parametrize("blank", ["", "\n\r\n", " \n\t\n", ",,\n"])
def test_rows_without_text_are_passed_over_wherever_they_stand(write, blank):
    assert read_labels(write("l.csv", blank + CSV + blank + "1,0,false\n"), RUBRICS) == {
        (0, 0): True,
        (1, 0): False,
    }


@pytest.mark.parametrize(
    ("name", "head", "entry"),
    [
        ("l.csv", "episode,criterion,passed\n", "abc,0,true\n"),
        ("l.csv", "episode,criterion,passed\n", "0,0,maybe\n"),
        ("l.yaml", "labels:\n", "- {episode: abc, criterion: 0, passed: true}\n"),
        ("l.yaml", "labels:\n", "- {episode: 0, criterion: 0, passed: maybe}\n"),
    ],
)
def test_as_many_bad_labels_are_told_as_a_person_reads(write, name, head, entry):
    with pytest.raises(DocumentError) as raised:
        read_labels(write(name, head + entry * 300), RUBRICS)
    assert [problem.line for problem in raised.value.problems] == list(range(2, 52))
