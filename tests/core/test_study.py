"""A study becomes scenarios, one for each variant; what is wrong with one is told at its place in the study."""

import pytest

from worldloom.core import study as study_module
from worldloom.core.errors import DocumentError
from worldloom.core.scenario import load_scenario, parse_scenario
from worldloom.core.study import StudySpec, load_study, short_paths
from worldloom.core.suite import library_file

LIT = "world.entities.lamp.state.on"


@pytest.fixture
def load(tmp_path, text, registry):
    """Loads a study of the lamp: its text without name, scenario and seeds, which stand in the first three lines."""
    (tmp_path / "lamp.yaml").write_text(text)

    def loaded(rest, head="study: s\nscenario: lamp.yaml\nseeds: 3\n"):
        (tmp_path / "s.yaml").write_text(head + rest)
        return load_study(tmp_path / "s.yaml", registry)

    return loaded


@pytest.fixture
def problems(load):
    def found(rest, **options):
        with pytest.raises(DocumentError) as caught:
            load(rest, **options)
        return [(one.line, one.found, one.nearest) for one in caught.value.problems]

    return found


def names(study):
    return [one.name for one in study.spec.variants]


def test_a_grid_has_every_combination_the_last_path_changing_fastest(load):
    study = load(f"vary:\n  limits.steps: [2, 5]\n  {LIT}: [true, false]\n")
    assert names(study) == ["steps=2 on=true", "steps=2 on=false", "steps=5 on=true", "steps=5 on=false"]
    assert [one.id for one in study.scenarios] == [f"lamp-off {name}" for name in names(study)]
    assert [one.limits.steps for one in study.scenarios] == [2, 2, 5, 5]
    assert study.scenarios[1].document.get(tuple(LIT.split("."))) is False
    assert study.spec.variants[1].values == {"limits.steps": 2, LIT: False}
    assert (study.seed, study.epochs) == (0, 3)


def test_a_list_takes_the_first_values_then_the_second(load):
    study = load(f"design: list\nvary:\n  limits.steps: [2, 5]\n  {LIT}: [true, true]\n")
    assert names(study) == ["steps=2 on=true", "steps=5 on=true"]


def test_named_variants_say_only_what_differs_and_show_what_the_file_holds(load):
    study = load(f"variants:\n  as it is: {{}}\n  dark: {{{LIT}: false, limits.steps: 4}}\n")
    assert names(study) == ["as it is", "dark"]
    assert [one.values for one in study.spec.variants] == [{LIT: True}, {LIT: False, "limits.steps": 4}]
    assert study.spec.named


def test_a_variant_has_a_text_of_its_own_from_which_it_is_read_again(load, registry):
    (one,) = load("vary: {limits.steps: [2]}\n").scenarios
    text = one.source_text.reveal()
    assert text.startswith("id: lamp-off steps=2\n")
    assert parse_scenario(text, one.file, registry) == one
    assert one.file.endswith("lamp.yaml (steps=2)")


def test_without_changes_but_the_id_the_content_is_that_of_the_base(load, registry, tmp_path):
    (one,) = load("variants: {same: {}}\n").scenarios
    base = load_scenario(tmp_path / "lamp.yaml", registry)
    assert one.document.value == {**base.document.value, "id": "lamp-off same"}


def test_entities_go_by_id_where_the_file_lists_them(load, text, tmp_path):
    listed = text.replace("    lamp:\n", "    - id: lamp\n")
    (tmp_path / "lamp.yaml").write_text(listed)
    study = load(f"vary: {{{LIT}: [false]}}\n")
    assert study.scenarios[0].document.get(tuple(LIT.split("."))) is False


def test_positions_in_lists_and_whole_subtrees_can_vary(load):
    study = load(
        "vary:\n  world.entities.lamp.actions.0.description: [Press it., Turn it.]\n"
        "  world.context: [{}, {date: '2026-07-03', place: hall}]\n"
    )
    assert names(study)[:2] == [
        "description=Press it. context={}",
        'description=Press it. context={"date":"2026-07-03","p…',
    ]
    assert study.scenarios[1].document.get(("world", "context")) == {"date": "2026-07-03", "place": "hall"}


@pytest.mark.parametrize(
    ("seeds", "expected"), [("4", (0, 4)), ("{first: 7, count: 2}", (7, 2)), ("{count: 2}", (0, 2))]
)
def test_seeds_are_a_number_or_a_range(load, seeds, expected):
    study = load("vary: {limits.steps: [2]}\n", head=f"study: s\nscenario: lamp.yaml\nseeds: {seeds}\n")
    assert (study.seed, study.epochs) == expected


def test_a_list_of_seeds_is_refused_at_its_place(problems):
    ((line, found, _),) = problems(
        "vary: {limits.steps: [2]}\n", head="study: s\nscenario: lamp.yaml\nseeds: [1, 5]\n"
    )
    assert (line, found) == (3, "a list")


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        (
            "vary:\n  world.entities.lamp.state.onn: [1]\n  world.entities.lmap.state.on: [true]\n",
            [
                (5, "there is no 'onn' in world.entities.lamp.state", "on"),
                (6, "there is no 'lmap' in world.entities", "lamp"),
            ],
        ),
        ("vary:\n  limit.steps: [1]\n", [(5, "there is no 'limit' in the scenario", "limits")]),
        ("vary:\n  limits.stpes: [1]\n", [(5, "there is no 'stpes' in limits", "steps")]),
        (
            f"vary:\n  {LIT}.x: [1]\n",
            [(5, f"there is nothing below {LIT}, which is the truth value true", None)],
        ),
        (
            "vary:\n  world.entities.lamp.actions.1.name: [a]\n",
            [(5, "there is no '1' in world.entities.lamp.actions", None)],
        ),
        ("vary:\n  id: [a]\n", [(5, "the id, which a variant's name is added to", None)]),
        (
            "vary:\n  limits:\n  - {steps: 1}\n  limits.steps:\n  - 2\n",
            [(7, "a part of limits, which changes too", None)],
        ),
        (
            "vary:\n  limits.steps:\n  - 2\n  - 0\n  - ten\n",
            [(7, "limits.steps: the number 0", None), (8, 'limits.steps: the text "ten"', None)],
        ),
        (
            f"variants:\n  one: {{}}\n  two:\n    {LIT}: false\n    limits: {{stepps: 1}}\n",
            [(8, "limits: unknown key 'stepps'", "steps")],
        ),
        ("vary:\n  limits.steps:\n  - 2\n  - 3\n  - 2\n", [(8, "the same as before", None)]),
        ("variants:\n  one: {}\n  two: {}\n", [(6, "the same as before", None)]),
        (
            "design: list\nvary:\n  limits.steps: [2, 3]\n  limits.tokens: [2]\n",
            [(7, "a list of 1", None)],
        ),
        ("design: gird\nvary: {limits.steps: [2]}\n", [(4, 'the text "gird"', "grid")]),
        ("", [(1, "neither `vary` nor `variants`", None)]),
        ("vary: {limits.steps: [2]}\nvariants: {a: {}}\n", [(1, "both `vary` and `variants`", None)]),
        ("design: grid\nvariants: {a: {}}\n", [(4, "`design` beside `variants`", None)]),
        ("vari: {limits.steps: [2]}\n", [(4, "unknown key 'vari'", "vary")]),
    ],
)
def test_what_is_wrong_is_told_at_its_line_of_the_study(problems, rest, expected):
    assert problems(rest) == expected


def test_a_contradiction_that_several_values_make_names_the_variant(tmp_path, registry):
    (tmp_path / "stall.yaml").write_text("kind: stall\nid: s\ntitle: gain\nworld: {rounds: 2}\n")
    (tmp_path / "s.yaml").write_text(
        "study: s\nscenario: stall.yaml\nseeds: 1\nvariants:\n  two: {title: loss}\n"
        "  long: {title: loss, world.jobs: [a], world.rounds: 9}\n"
    )
    with pytest.raises(DocumentError) as caught:
        load_study(tmp_path / "s.yaml", registry)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == (str(tmp_path / "s.yaml"), 6)
    assert problem.found == "world.rounds: too many rounds for a loss"


def test_a_key_that_the_file_leaves_to_its_default_can_vary(tmp_path, registry):
    (tmp_path / "stall.yaml").write_text("kind: stall\nid: s\ntitle: gain\nworld: {rounds: 2}\n")
    (tmp_path / "s.yaml").write_text(
        "study: s\nscenario: stall.yaml\nseeds: 1\nvary: {world.jobs: [[], [a]]}\n"
    )
    assert [one.body.jobs for one in load_study(tmp_path / "s.yaml", registry).scenarios] == [(), ("a",)]


def test_a_scenario_in_place_of_a_study_is_one_problem(text, tmp_path, registry):
    (tmp_path / "lamp.yaml").write_text(text)
    with pytest.raises(DocumentError, match="this is a scenario and no study"):
        load_study(tmp_path / "lamp.yaml", registry)


def test_more_variants_than_can_be_meant_are_refused_before_they_are_made(problems, monkeypatch):
    monkeypatch.setattr(study_module, "MAX_VARIANTS", 3)
    ((line, found, _),) = problems(f"vary:\n  limits.steps: [1, 2]\n  {LIT}: [true, false]\n")
    assert (line, found) == (4, "4 combinations")


@pytest.mark.parametrize("seeds", ["1000000", "{first: 5, count: 50001}", "9" * 18])
@pytest.mark.parametrize(
    "rest", ["vary: {limits.steps: [2, 3]}\n", "variants: {a: {}, b: {limits.steps: 2}}\n"]
)
def test_more_episodes_than_can_be_meant_are_refused_at_the_seeds_with_both_numbers(problems, seeds, rest):
    ((line, found, _),) = problems(rest, head=f"study: s\nscenario: lamp.yaml\nseeds: {seeds}\n")
    count = int(seeds.strip("{}").split()[-1])
    assert (line, found) == (3, f"{count:,} seeds of 2 variants")


def test_as_many_episodes_as_a_run_may_have_are_a_study(load):
    head = f"study: s\nscenario: lamp.yaml\nseeds: {study_module.MAX_EPISODES // 2}\n"
    assert len(load("vary: {limits.steps: [2, 3]}\n", head=head).scenarios) == 2


@pytest.mark.parametrize("name", ["a" * 300, "a/" * 3000 + "b"], ids=["part", "path"])
def test_a_scenario_whose_name_no_system_takes_is_told_at_its_line(problems, name):
    ((line, found, _),) = problems(
        "vary: {limits.steps: [2]}\n", head=f"study: s\nscenario: {name}.yaml\nseeds: 1\n"
    )
    assert (line, found) == (2, "a path that cannot be looked up: File name too long")


@pytest.mark.parametrize("file", ["../lamp.yaml", "/etc/passwd"])
def test_the_scenario_lies_below_the_study(problems, file):
    ((line, found, _),) = problems(
        "vary: {limits.steps: [2]}\n", head=f"study: s\nscenario: {file}\nseeds: 1\n"
    )
    assert (line, found) == (2, f"{file!r} leads out of the folder")


def test_the_scenario_can_be_one_of_the_library(load):
    head = "study: s\nscenario: everyday/fridays-dinner.yaml\nseeds: 1\n"
    assert [one.id for one in load("vary: {limits.steps: [2]}\n", head=head).scenarios] == [
        "fridays-dinner steps=2"
    ]
    assert library_file("../aaw/body.py") is None


def test_faults_of_the_scenario_are_told_in_its_own_file(load, tmp_path):
    (tmp_path / "lamp.yaml").write_text("id: x\nworld: {entities: []}\n")
    with pytest.raises(DocumentError) as caught:
        load("vary: {limits.steps: [2]}\n")
    assert {one.file for one in caught.value.problems} == {str(tmp_path / "lamp.yaml")}


def test_paths_are_called_by_their_shortest_end_that_is_their_own():
    assert short_paths(["a.b.x", "a.c.x", "a.d", "a.e.0"]) == {
        "a.b.x": "b.x", "a.c.x": "c.x", "a.d": "d", "a.e.0": "e.0",
    }  # fmt: skip


def test_values_that_look_alike_when_cut_still_have_names_of_their_own(load):
    study = load(f"vary: {{user_prompt: [{'a' * 40}b, {'a' * 40}c]}}\n")
    assert len(set(names(study))) == 2


def test_a_manifest_gives_the_study_back(load):
    spec = load(f"vary: {{limits.steps: [2, 5], {LIT}: [true, false]}}\n").spec
    again = StudySpec.from_json(spec.to_json())
    assert again.to_json() == spec.to_json()
