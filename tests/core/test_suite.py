"""Files, folders and suites of scenarios are read together; ids are unique and paths confined."""

import pytest

from worldloom.core import suite as suite_module
from worldloom.core.errors import DocumentError, UsageError
from worldloom.core.suite import confined, library_suite, library_suites, load_scenarios


@pytest.fixture
def folder(tmp_path, text):
    place = tmp_path / "scenarios"
    for name in ("b.yaml", "a.yml", "deep/c.yaml", ".hidden/d.yaml"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text.replace("lamp-off", name.partition(".")[0]))
    (place / "notes.txt").write_text("no scenario")
    (place / "worldloom.yaml").write_text("runs_dir: x\n")
    return place


def ids(scenarios):
    return [scenario.id for scenario in scenarios]


def problems(paths, registry):
    with pytest.raises(DocumentError) as caught:
        load_scenarios(paths, registry)
    return caught.value.problems


def test_a_folder_is_read_with_all_below_it_by_name(folder, registry):
    assert ids(load_scenarios([folder], registry)) == ["a", "b", "deep/c"]


def test_no_file_is_read_twice(folder, registry):
    assert ids(
        load_scenarios([folder / "b.yaml", folder, str(folder / "deep" / ".." / "b.yaml")], registry)
    ) == ["b", "a", "deep/c"]


def test_a_suite_document_lists_files_and_folders_below_it(folder, registry):
    (folder / "suite.yaml").write_text("suite: short\nsummary: two\nscenarios: [deep, a.yml]\n")
    assert ids(load_scenarios([folder / "suite.yaml"], registry)) == ["deep/c", "a"]
    assert ids(load_scenarios([folder], registry)) == ["a", "b", "deep/c"]


@pytest.mark.parametrize(
    "entry", ["../outside.yaml", "/etc/passwd", "deep/../../outside.yaml", "link/outside.yaml", "a\\0b"]
)
def test_a_suite_cannot_lead_out_of_its_folder(folder, registry, text, entry):
    (folder.parent / "outside.yaml").write_text(text)
    (folder / "link").symlink_to(folder.parent)
    (folder / "suite.yaml").write_text(f'suite: s\nscenarios: [a.yml, "{entry}"]\n')
    found = problems([folder / "suite.yaml"], registry)
    assert found[0].line == 2
    assert "leads out of the folder" in found[0].found or "U+0000" in found[0].found


def test_a_name_that_no_system_takes_is_told_where_it_stands(folder, registry):
    (folder / "suite.yaml").write_text(f"suite: s\nscenarios:\n- a.yml\n- {'a' * 300}.yml\n")
    (problem,) = problems([folder / "suite.yaml"], registry)
    assert (problem.line, problem.found) == (4, "a path that cannot be looked up: File name too long")
    (problem,) = problems(["a" * 300], registry)
    assert problem.found == "the file cannot be read: File name too long"


def test_a_member_that_is_missing_is_told(folder, registry):
    (folder / "suite.yaml").write_text("suite: s\nscenarios: [aa.yml]\n")
    (problem,) = problems([folder / "suite.yaml"], registry)
    assert problem.found == "there is no such file"
    assert problem.nearest == str(folder / "a.yml")


def test_faults_of_a_suite_are_told(folder, registry):
    (folder / "suite.yaml").write_text("suite: s\nscenario: [a.yml]\n")
    (problem,) = problems([folder / "suite.yaml"], registry)
    assert (problem.line, problem.nearest) == (2, "scenarios")


def test_two_files_with_one_id_are_told_with_both(folder, registry, text):
    (folder / "z.yaml").write_text(text.replace("lamp-off", "b"))
    (problem,) = problems([folder], registry)
    assert (problem.file, problem.line) == (str(folder / "z.yaml"), 1)
    assert problem.found == f"the id 'b' is already that of {folder / 'b.yaml'}:1"


def test_the_problems_of_all_files_come_at_once(folder, registry):
    (folder / "b.yaml").write_text("a: [\n")
    (folder / "deep" / "c.yaml").write_text("")
    assert [problem.file for problem in problems([folder, folder / "no.yaml"], registry)] == [
        str(folder / "b.yaml"),
        str(folder / "deep" / "c.yaml"),
        str(folder / "no.yaml"),
    ]


def test_a_folder_without_scenarios_is_told(tmp_path, registry):
    (problem,) = problems([tmp_path], registry)
    assert "no YAML file" in problem.found


def test_a_study_among_scenarios_is_told(folder, registry):
    (folder / "study.yaml").write_text("scenario: a.yml\nvary: {}\n")
    (problem,) = problems([folder], registry)
    assert problem.found == "this is a study and no scenario"


def test_suites_of_the_library_are_found_by_name(folder, registry, monkeypatch):
    (folder / "short.yaml").write_text("suite: short\nscenarios: [a.yml]\n")
    (folder / "b.yaml").unlink()
    monkeypatch.setattr(suite_module, "_library", lambda: folder)
    assert library_suites() == ("a", "deep", "short")
    assert ids(load_scenarios(library_suite("deep"), registry)) == ["deep/c"]
    assert ids(load_scenarios(library_suite("short"), registry)) == ["a"]
    with pytest.raises(UsageError, match=r"no suite 'shrt', did you mean 'short'\?"):
        library_suite("shrt")


def test_confined_paths(tmp_path):
    (tmp_path / "in").mkdir()
    assert confined(tmp_path / "in", "a/b.yaml") == tmp_path / "in" / "a" / "b.yaml"
    assert confined(tmp_path / "in", "../a.yaml") is None
    assert confined(tmp_path / "in", str(tmp_path / "in" / "a.yaml")) is None
    assert confined(tmp_path / "in", "a\0b") is None
