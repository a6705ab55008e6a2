"""Two runs side by side: what is compared, what stands in the way of a verdict, and what the verdict says."""

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import worldloom as wl
from worldloom.api.comparing import compare, repeats_of
from worldloom.api.plans.cast import CastSpec, WorldSpec, model_to_json
from worldloom.api.plans.plan import GraphSpec
from worldloom.core.errors import UsageError
from worldloom.models.spec import ModelSpec
from worldloom.runs.cost import Prices
from worldloom.runs.ending import LIMITS, REASONS
from worldloom.runs.limits import Limits
from worldloom.runs.rows import EpisodeRow, Score
from worldloom.runs.store import RunStore, put_scores, put_value

TEXT = {"sha256": "", "media_type": "application/yaml", "size": 0}


class Runs:
    """Makes runs without playing them: `scores` holds the SPR of each episode, by scenario and epoch."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __call__(self, name, scores, **other):
        manifest = {
            "title": "test",
            "scenarios": [{"id": one, "digest": one, "file": one, "text": TEXT} for one in scores],
            "contestant": CastSpec("llm", models={"agent": ModelSpec("m")}).to_json(),
            "epochs": len(next(iter(scores.values()))),
            "seed": 0,
            "limits": asdict(Limits()),
            "world": WorldSpec().to_json(),
            "judge": None,
            "judge_form": "f",
            "graph": None,
            "fork": None,
            "prices": Prices().to_json(),
            "study": None,
            "made_with": {},
            "model_ids": {},
            **other.get("manifest", {}),
        }
        rows, found = [], {}
        for scenario in scores:  # a floor that is called as the contestant is
            rows.append(self.row(len(rows), scenario, 0, "m", ("completed", "none")))
            found[len(rows) - 1] = self.scored(0.0)
        for epoch in range(manifest["epochs"]):
            for scenario, row in scores.items():
                ended = other.get("ends", {}).get((scenario, epoch), ("completed", "none"))
                rows.append(self.row(len(rows), scenario, manifest["seed"] + epoch, "m", ended))
                found[len(rows) - 1] = self.scored(row[epoch], other.get("how", "check"))
        store = RunStore.create(self.place / name, manifest, rows)
        with store.writing() as writer:
            for number, each in found.items():
                put_scores(writer, number, each)
            put_value(writer, "status", other.get("status", "completed"))
        store.close()
        return self.place / name

    def row(self, number, scenario, seed, cast, ended):
        reason, fault = ended or (None, None)
        status = "ended" if ended else "planned"
        return EpisodeRow(number, f"{number:064}", scenario, "", cast, seed, 0, status, reason, fault)

    def scored(self, value, how="check"):
        metrics = [Score("SPR", value, 2, "share", "rubric"), Score("explore", 0.5, 2, "share", "record")]
        return [*metrics, Score("It is off.", value, 1, "criterion", how)]


@pytest.fixture
def made(tmp_path):
    return Runs(tmp_path)


def ten(value, epochs=1):
    return {f"s{n}": [value] * epochs for n in range(10)}


def test_a_verdict_is_one_sentence_with_the_difference_its_interval_and_its_n(made):
    a, b = made("a", ten(0.0)), made("b", {**ten(1.0), "s0": [0.0], "s1": [0.0]})
    assert str(compare(a, b)) == "B is better: +0.80 [+0.50, +1.00] SPR over 10 scenarios"
    assert compare(b, a).verdict == "A is better: -0.80 [-1.00, -0.50] SPR over 10 scenarios"
    assert compare(a, b, metric="explore").verdict.startswith("no difference can be told: +0.00 [-0.")


def test_names_of_contestants_play_no_part_and_floors_are_not_compared(made):
    found = compare(made("a", ten(1.0)), made("b", ten(1.0)))
    assert {row.cast_name for row in found.a.episodes} == {"m"}
    assert (len(found.a.episodes), found.differences["SPR"].a) == (10, 1.0)
    assert "Both runs have the same contestant." in found.remarks


def test_what_is_no_better_the_more_there_is_of_it_is_called_higher(made):
    a, b = made("a", ten(0.0)), made("b", ten(1.0))
    results = [wl.compare(a, b, metric="SPR"), wl.compare(a, b, metric="explore")]
    assert [one.metric for one in results] == ["SPR", "explore"]
    result = compare(a, b)
    scores = {
        row: [replace(one, value=1.0) if one.name == "explore" else one for one in each]
        for row, each in result.b.scores.items()
    }
    changed = replace(wl.RunResult.of(RunStore(b)), scores=scores)
    assert compare(a, changed, metric="explore").verdict.startswith("B is higher: +0.50")


def test_what_cannot_be_told_says_what_could_be(made):
    a = made("a", {f"s{n}": [float(n % 2)] for n in range(20)})
    b = made("b", {f"s{n}": [float(n % 3 == 0)] for n in range(20)})
    text = compare(a, b).verdict
    assert text.startswith("no difference can be told: -0.15 [")
    assert text.endswith("would be found in 8 of 10 such comparisons")
    lost = {f"s{n}": [1.0] for n in range(20)}
    gained = {name: [1.0] for name in lost}
    for n in range(5):
        lost[f"s{n}"] = [0.0]
    unsure = compare(made("e", lost), made("f", gained)).verdict
    assert unsure.endswith("SPR over 20 scenarios, but the test by sign flips has p = 0.06")
    few = compare(made("c", {"x": [0.0], "y": [0.0]}), made("d", {"x": [1.0], "y": [1.0]}))
    assert few.verdict.endswith("over 2 scenarios; 6 are the fewest that could tell one")


JUDGE = model_to_json(ModelSpec("j"))
OTHER_MODEL = WorldSpec("model", models={"world": ModelSpec("w")})


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ({"world": OTHER_MODEL.to_json()}, "what simulates the worlds differs: rules in A, model (w) in B"),
        (
            {"graph": GraphSpec("other").to_json()},
            "what plays the scenarios differs: their own graph in A, other",
        ),
        ({"judge": JUDGE, "judge_form": "g"}, "the judge differs: nobody in A, j in B"),
        (
            {"limits": asdict(Limits(steps=9))},
            "the limits differ (steps 50 in A and 9 in B), and episodes ended at one: 1",
        ),
    ],
    ids=["world", "graph", "judge", "limits"],
)
def test_there_is_no_verdict_where_something_else_may_have_made_the_difference(made, manifest, said):
    ends = {("s0", 0): ("step_limit", "agent")} if "limits" in manifest else {}
    a = made("a", ten(0.0))
    b = made("b", ten(1.0), manifest=manifest, ends=ends, how="judge" if "judge" in manifest else "check")
    found = compare(a, b)
    assert found.verdict.startswith("no verdict: +1.00 [")
    assert said in found.verdict
    assert (len(found.obstacles), found.differences["SPR"].told) == (1, True)


@pytest.mark.parametrize(
    "other", [{"judge_form": "g"}, {"judge": {**JUDGE, "parameters": {"temperature": 1}}}]
)
def test_a_judge_that_is_asked_otherwise_is_another_judge(made, other):
    a = made("a", ten(0.0), how="judge", manifest={"judge": JUDGE})
    assert compare(a, made("b", ten(1.0), how="judge", manifest={"judge": JUDGE})).obstacles == []
    found = compare(a, made("c", ten(1.0), how="judge", manifest={"judge": JUDGE, **other}))
    assert found.obstacles == ["the judge differs: j in A, j in B (its parameters, or how it is asked)"]


def test_what_made_no_difference_is_no_obstacle(made):
    """A judge who was never asked, a limit that was never reached, a server that is elsewhere."""
    contestant = CastSpec("llm", models={"agent": ModelSpec("m", "http://elsewhere/v1")}).to_json()
    manifest = {
        "judge": model_to_json(ModelSpec("j")),
        "limits": asdict(Limits(steps=9)),
        "contestant": contestant,
    }
    found = compare(made("a", ten(0.0)), made("b", ten(1.0), manifest=manifest))
    assert found.obstacles == []
    assert "The limits differ (steps 50 in A and 9 in B), but no episode ended at one." in found.remarks


@pytest.mark.parametrize("reason", LIMITS)
def test_limits_that_differ_are_an_obstacle_once_an_episode_ended_at_any_of_them(made, reason):
    ends = {("s0", 0): (reason, REASONS[reason][0])}
    b = made("b", ten(1.0), ends=ends, manifest={"limits": asdict(Limits(steps=9))})
    (found,) = compare(made("a", ten(0.0)), b).obstacles
    assert found == "the limits differ (steps 50 in A and 9 in B), and episodes ended at one: 1"


def test_a_run_that_is_not_finished_gives_no_verdict(made):
    ends = {("s3", 0): None}
    found = compare(made("a", ten(0.0)), made("b", ten(1.0), ends=ends, status="cancelled"))
    assert "B is not finished: 1 of its 10 episodes have not ended" in found.verdict


def test_scenarios_that_only_one_run_has_or_that_differ_are_left_out_by_name(made):
    a = made("a", {**ten(0.0), "only-a": [1.0]})
    changed = [
        {"id": f"s{n}", "digest": "new" if n == 9 else f"s{n}", "file": "", "text": TEXT} for n in range(10)
    ]
    b = made("b", ten(1.0), manifest={"scenarios": changed})
    found = compare(a, b)
    assert found.scenarios == [f"s{n}" for n in range(9)]
    assert found.remarks[:2] == [
        "Left out, because only A has it: only-a.",
        "Left out, because its content differs: s9.",
    ]
    assert "+1.00" in found.verdict and "over 9 scenarios" in found.verdict


def test_failures_that_are_not_the_agents_are_compared_apart_and_win_nothing(made):
    """B is ahead where it did not fail, and fails in half of the scenarios, in which A passes."""
    a = made("a", {f"s{n:02}": [float(n >= 8)] for n in range(20)})
    ends = {(f"s{n:02}", 0): ("model_failed", "infrastructure") for n in range(8, 20)}
    b = made("b", {f"s{n:02}": [1.0] for n in range(20)}, ends=ends)
    found = compare(a, b)
    assert found.verdict == (
        "no difference can be told: +1.00 [+0.35, +1.00] SPR over 8 scenarios, but -0.20 if what has no score "
        "(12 pairs of episodes) had gone against B"
    )
    assert [rate.value for rate in found.failure_rates] == [0.0, 0.6]
    assert (found.failures.difference, found.failures.told) == (0.6, True)
    assert any("B 0.60 [0.40, 0.80] of 20; B − A +0.60 [" in text for text in found.remarks)


@pytest.mark.parametrize(
    ("a", "b", "metric", "said"),
    [
        ("one", "one", None, "A and B are the same run"),
        ("one", "other", None, "have no scenario in common\n  Left out, because only A has it: s0"),
        ("one", "two", "spr", "no metric 'spr' in both runs, did you mean 'SPR'\\?\n  allowed: SPR, explore"),
        ("one", "planned", None, "no score of one run is in the other\n  A: SPR, explore\n  B: none"),
        ("one", "nowhere", None, "holds no run"),
        ("fork", "one", None, "fork is a fork"),
    ],
)
def test_where_nothing_can_be_compared_the_reason_is_given(made, a, b, metric, said):
    made("one", ten(1.0))
    made("two", ten(1.0))
    made("other", {"x": [1.0]})
    made("fork", ten(1.0), manifest={"fork": {"run": "one"}})
    folder = made("planned", ten(1.0))
    with RunStore(folder).writing() as writer:
        writer.put("DELETE FROM scores", ())
    with pytest.raises(UsageError, match=said):
        compare(made.place / a, made.place / b, metric=metric)


def test_runs_with_epochs_show_both_chances_of_each_and_the_json_holds_everything(made):
    a, b = made("a", ten(0.0, 4)), made("b", {**ten(1.0, 4), "s0": [1.0, 0.0, 0.0, 0.0]})
    found = compare(a, b)
    one, other = found.repeated["SPR"]
    assert [at.k for at in other] == [1, 2, 4]
    assert (one[-1].any.mean, other[-1].any.mean, other[-1].all.mean) == (0.0, 1.0, 0.9)
    shown = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert shown["repeated"]["SPR"]["b"][2]["all"]["mean"] == 0.9
    assert shown["differences"]["SPR"]["pairs"] == 40
    assert shown["failures"]["rates"]["a"]["n"] == 40
    assert (shown["a"]["contestant"], shown["b"]["epochs"]) == ("m", 4)
    assert compare(made("c", ten(1.0)), a).repeated.keys() == {"SPR"}
    assert compare(made("d", ten(1.0)), made("e", ten(1.0))).repeated == {}


def test_the_same_runs_give_the_same_json(made):
    a, b = (
        made("a", {f"s{n}": [n / 9] for n in range(10)}),
        made("b", {f"s{n}": [n % 4 / 3] for n in range(10)}),
    )
    assert compare(a, b).to_json() == compare(wl.RunResult.of(RunStore(a)), str(b)).to_json()


def test_repeats_tell_how_often_a_scenario_passes_and_what_varies(made):
    run = made("a", {f"s{n}": [float(n < 5), 1.0, 0.0] for n in range(10)})
    found = repeats_of(run)
    assert list(found) == ["SPR", "explore"]
    assert found["SPR"].at_k[0].any.mean == pytest.approx(0.5)
    assert found["SPR"].variance.repeat is None
    assert found["explore"].at_k == []
    json.dumps({name: one.to_json() for name, one in found.items()}, allow_nan=False)
    assert repeats_of(made("once", ten(1.0))) == {}


def test_a_second_run_with_the_same_seeds_tells_seeds_and_chance_apart(made):
    a, b = (
        made("a", {f"s{n}": [0.0, 1.0] for n in range(8)}),
        made("b", {f"s{n}": [0.0, 0.5] for n in range(8)}),
    )
    found = repeats_of(a, b)["SPR"].variance
    assert (found.repeat, found.episodes) == (pytest.approx(1 / 16), 32)
    assert found.shares.keys() == {"scenario", "seed", "repeat"}
    with pytest.raises(UsageError, match="is no repeat of"):
        repeats_of(a, made("c", ten(0.0)))


def test_what_could_not_be_judged_is_counted_for_each_run(made):
    a, b = made("a", ten(0.0)), made("b", {**ten(1.0), "s1": [None], "s2": [None]})
    found = compare(a, b)
    assert found.remarks[1:3] == [
        "Criteria that could not be judged, and count neither way: 0 in A, 2 in B.",
        "Without a score on both sides, and left out: 2 pairs of episodes.",
    ]
    assert found.differences["SPR"].against == 0.8


@pytest.mark.slow
def test_the_example_of_the_docs_says_what_the_docs_say(tmp_path, monkeypatch, capsys):
    page = (Path(__file__).parents[2] / "docs/statistics.md").read_text("utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "statistics.md", "exec"), {})  # noqa: S102  # our own text
    for line in capsys.readouterr().out.splitlines():
        assert f"# {line}\n" in example


def test_real_runs_are_compared_from_python(files, runs):
    careful = wl.run(files, agent="careful", runs_dir=runs)
    literal = wl.run(files, agent="literal", runs_dir=runs)
    found = wl.compare(literal, careful.folder)
    assert (found.differences["SPR"].a, found.differences["SPR"].b) == (0.0, 1.0)
    assert found.verdict == (
        "no difference can be told: +1.00 [-0.32, +1.00] SPR over 2 scenarios; 6 are the fewest that could tell one"
    )
    assert (found.a.contestant.name, found.b.contestant.name) == ("literal", "careful")
