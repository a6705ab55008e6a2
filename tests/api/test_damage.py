"""A manifest that was damaged is one error that names the record, whoever reads it."""

import contextlib
import json
import sqlite3

import pytest

import worldloom as wl
from worldloom.api import sweeping
from worldloom.api.pictures import pictures_of
from worldloom.api.plans.manifest import models_of, plan_of, prices_of, study_of
from worldloom.api.plans.provenance import makings
from worldloom.api.results.passes import further, scoring_of
from worldloom.api.results.side import side_of
from worldloom.core.errors import RecordError
from worldloom.core.registry import Registry
from worldloom.runs.store import RunStore

STUDY = "study: s\nscenario: lamp.yaml\nvary: {limits.steps: [1, 2]}\nseeds: 1\n"


@pytest.fixture
def swept(files, runs):
    """The folder of a run that plays a study."""
    file = files[0].parent / "study.yaml"
    file.write_text(STUDY)
    return wl.sweep(file, agent="random", runs_dir=runs).result.folder


def execute(folder, sql, *values):
    with contextlib.closing(sqlite3.connect(folder / "run.sqlite")) as connection, connection:
        assert connection.execute(sql, values).rowcount > 0


def changed(folder, path, value):
    with RunStore(folder) as store:
        manifest = store.value("manifest")
    place = manifest
    for part in path[:-1]:
        place = place[part]
    if path:
        place[path[-1]] = value
    else:
        manifest = value
    execute(folder, "UPDATE run SET value = ? WHERE name = 'manifest'", json.dumps(manifest))


PLAN, STUDY_OF, SCORING, PRICES = (
    lambda store: plan_of(store, Registry.discover()),
    study_of,
    scoring_of,
    prices_of,
)


@pytest.mark.parametrize("manifest", [None, 5, [], "x", [None], {}])
@pytest.mark.parametrize(
    "read",
    [
        PLAN,
        STUDY_OF,
        SCORING,
        PRICES,
        makings,
        models_of,
        wl.RunResult.of,
        lambda store: side_of("A", store.folder),
        lambda store: pictures_of(store, 0, Registry.discover()),
    ],
)
def test_a_manifest_that_is_no_manifest_is_one_error(swept, manifest, read):
    changed(swept, (), manifest)
    with RunStore(swept) as store, pytest.raises(RecordError, match=r"run\.sqlite is damaged: "):
        read(store)


@pytest.mark.parametrize(
    ("path", "values", "read"),
    [
        (("made_with",), (5, [], {"worldloom": 5}, {"pydantic": [1]}), SCORING),
        (("model_ids",), (5, "x", {"agent": None}), SCORING),
        (("scenarios",), (5, {}, [5], [[]]), PLAN),
        (("scenarios", 0, "text"), (None, 1.5, "x", {"a": 1}), PLAN),
        (("scenarios", 0, "text", "sha256"), (5, None, "gone"), PLAN),
        (("scenarios", 0, "digest"), (10**30, None), PLAN),
        (("scenarios", 0, "id"), (5, None, "other"), PLAN),
        (("study", "variants", 1, "scenario"), (1.5, None, "other"), STUDY_OF),
        (("study", "variants"), (5, [], [5]), STUDY_OF),
        (("study", "paths"), (5, [5]), STUDY_OF),
        (("contestant", "options"), ("x", [1]), PLAN),
        (("contestant", "agent"), (5, None), PLAN),
        (("contestant", "models"), (5, {"agent": 5}), PLAN),
        (("world", "engine"), (5, None), PLAN),
        (("epochs",), (10**30, 2**40, True, "x", None), PLAN),
        (("seed",), (10**30, 1.5), PLAN),
        (("limits", "steps"), (-1, "x", None), PLAN),
        (("graph",), (5, {"name": 5}, {"name": "x", "options": 5}), PLAN),
        (("prices",), (5, {"models": {}}, {"currency": 5, "models": {}}), PRICES),
    ],
)
def test_a_part_of_a_manifest_of_another_kind_is_one_error(swept, path, values, read):
    for value in values:
        changed(swept, path, value)
        with RunStore(swept) as store, pytest.raises(RecordError, match=r"run\.sqlite"):
            read(store)


@pytest.mark.parametrize(
    "price",
    [
        {"prompt": 1e308, "completion": 1},
        {"prompt": -1, "completion": 1},
        {"prompt": "x", "completion": 1},
        {"prompt": 1},
        {"gpu_hour": 1, "gpus": 1.5},
        {"gpu_hour": 1, "gpus": 10**30},
        5,
    ],
)
def test_a_stored_price_that_is_none_is_one_error(swept, price):
    changed(swept, ("prices",), {"currency": "USD", "models": {"agent": {"model": "m", "price": price}}})
    with (
        RunStore(swept) as store,
        pytest.raises(RecordError, match="'prices' in its manifest cannot be read"),
    ):
        prices_of(store)


@pytest.mark.parametrize(
    "value", ["5", "1.5", "[[]]", "[1]", '[{"made_with": 1, "model_ids": {}}]', '[{"made_with": {}}]',
              '[{"made_with": {"a": 1}, "model_ids": {}}]', '[{"made_with": {}, "model_ids": {"a": []}}]'],
)  # fmt: skip
def test_what_is_told_of_resumes_is_read_as_what_it_is_or_not_at_all(swept, value):
    with contextlib.closing(sqlite3.connect(swept / "run.sqlite")) as connection, connection:
        connection.execute("INSERT INTO run VALUES ('resumed', ?)", (value,))
    for read in (makings, scoring_of):
        with RunStore(swept) as store, pytest.raises(RecordError, match="its resumed cannot be read"):
            read(store)


@pytest.mark.parametrize(
    "value",
    ["5", "[1]", '{"k": {"judge": null, "form": 5}}', '{"k": {"judge": null, "made_with": {"a": 1}}}'],
)
def test_what_is_told_of_passes_is_read_as_what_it_is_or_not_at_all(swept, value):
    with contextlib.closing(sqlite3.connect(swept / "run.sqlite")) as connection, connection:
        connection.execute("INSERT INTO run VALUES ('scorings', ?)", (value,))
    with RunStore(swept) as store, pytest.raises(RecordError, match="its scorings cannot be read"):
        further(store)


def test_an_episode_of_a_scenario_that_the_plan_does_not_know_is_named(swept):
    result = wl.RunResult.of(RunStore(swept))
    assert sweeping.report(result) is not None
    execute(swept, "UPDATE episodes SET scenario = 'other' WHERE row = 1")
    for read in (wl.RunResult.of, PLAN, lambda store: pictures_of(store, 1, Registry.discover())):
        with RunStore(swept) as store, pytest.raises(RecordError, match="episode 1 has scenario 'other'"):
            read(store)
