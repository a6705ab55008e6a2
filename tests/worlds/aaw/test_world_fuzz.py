"""Whatever an agent sends and whatever a file says: the world answers, and its promises hold."""

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worldloom.core.action import Action
from worldloom.core.canonical import canonical
from worldloom.core.errors import DocumentError
from worldloom.worlds.aaw.checks import compile_rubric
from worldloom.worlds.aaw.world import RulesWorld

STEADY = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}


def act(name: str, parameters: dict[str, str], **rules: Any) -> dict[str, Any]:
    declared = {key: {"type": kind, "required": True} for key, kind in parameters.items()}
    return {"name": name, "description": "Does it.", "parameters": declared, **rules}


PANTRY: dict[str, Any] = {
    "type": "system",
    "name": "Pantry",
    "state": {
        "jars": [{"id": "rice", "g": 500}, {"id": "tea", "g": 80.5}],
        "shelf": {"top": "full"},
        "door": "shut",
    },
    "invariants": ["pantry.jars.all(j, j.g >= 0)", "pantry.door in ['shut', 'open']"],
    "actions": [
        act("look", {}, result="=pantry"),
        act("find", {"id": "string"}, result="=pantry.jars.filter(j, j.id == args.id)[0]"),
        act(
            "take",
            {"id": "string", "g": "number"},
            effects=[{"set": {"pantry.jars[id == args.id].g": "=item.g - args.g"}}],
        ),
        act(
            "split",
            {"by": "integer"},
            effects=[{"set": {"pantry.door": "open"}}, {"set": {"pantry.jars[0].g": "=500 / args.by"}}],
        ),
        act(
            "put",
            {"jar": "object"},
            effects=[{"append": {"pantry.jars": "=args.jar"}}],
            result="=size(pantry.jars)",
        ),
        act(
            "drop",
            {"id": "string"},
            requires=[{"that": "pantry.door == 'open'"}],
            effects=[{"remove": {"pantry.jars": "id == args.id"}}],
        ),
        act(
            "label",
            {"text": "string", "place": "string"},
            effects=[{"set": {"pantry.shelf[args.place]": "=args.text"}}],
        ),
        act("door", {"to": "string"}, effects=[{"set": {"pantry.door": "=args.to"}}]),
        act("list", {"items": "array"}, result="=args.items.map(x, x + x)"),
    ],
}
NAMES = [f"pantry.{action['name']}" for action in PANTRY["actions"]]

odd: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(["rice", "tea", "open", "shut", "top", "", "\ud800", "x" * 30_000]),
    st.text(max_size=5),
    st.booleans(),
    st.integers(-3, 600),
    st.sampled_from([2**63, -(2**70), 0.0, -0.0, 1e308, float("nan"), float("inf"), 2.0]),
    st.none(),
    st.sampled_from([(1, 2), {1}, object(), b"x", {1: 2}, {"id": "rice", "g": 1}, {"id": "x", "g": -1}]),
)
values = st.recursive(
    odd,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
arguments = st.dictionaries(
    st.sampled_from(["id", "g", "by", "jar", "to", "text", "place", "items", "zz"]), values, max_size=3
)
fitting = st.fixed_dictionaries(
    {}, optional={"id": st.sampled_from(["rice", "tea", "x"]), "g": st.integers(0, 600)}
)
calls = st.builds(Action, st.sampled_from([*NAMES, "pantry.x", "x", "", "\udfff.y"]), arguments | fitting)


@pytest.fixture(scope="module")
def pantry(scenario_of: Any) -> RulesWorld:
    return RulesWorld(scenario_of({"pantry": PANTRY}))


@settings(max_examples=120, **STEADY)
@given(moves=st.lists(calls, max_size=12))
def test_the_promises_hold_for_any_sequence_of_calls(pantry: RulesWorld, moves: list[Action]) -> None:
    state = twin = pantry.initial(0)
    for move in moves:
        before = canonical(state.to_json())
        new, fact = pantry.apply(state, move)
        twin, again = pantry.apply(twin, copy.deepcopy(move))
        assert canonical(state.to_json()) == before, "an earlier state was changed"
        assert canonical(fact) == canonical(again) and new.fingerprint() == twin.fingerprint()
        if not fact["success"] or fact["read_only"]:
            assert canonical(new.to_json()) == before and fact["changes"] == {}
        changes: Any = fact["changes"]
        merged = {name: {**old, **changes.get(name, {})} for name, old in dict(state.to_json()).items()}  # type: ignore[dict-item]
        assert canonical(merged) == canonical(new.to_json()), "the changes told are not those made"
        assert new.step == state.step + 1 and new.feedback is not None
        state = new


TEXTS = st.one_of(
    st.text(alphabet="pantry.jsidg[]()=!<>&|+-*/'\"0129 argsx{}:,?", max_size=30),
    st.sampled_from(
        ["pantry.jars.all(j, j.g >= 0)", "pantry", "args", "1", "true", "pantry.jars[0", "[", "pantry..x"]
    ),
)


@settings(max_examples=120, **STEADY)
@given(that=TEXTS, path=TEXTS, value=TEXTS, gone=TEXTS, check=TEXTS, condition=TEXTS)
def test_a_file_with_any_text_as_rules_is_refused_or_works(
    scenario_of: Any, that: str, path: str, value: str, gone: str, check: str, condition: str
) -> None:
    rules = {
        "requires": [{"that": that, "else": value}],
        "let": {"x": f"={value}"},
        "effects": [{"set": {f"pantry{path}": f"={value}"}, "when": that}, {"remove": {"pantry.jars": gone}}],
        "result": [f"={that}"],
    }
    entity = {**PANTRY, "invariants": [], "actions": [act("go", {"id": "string"}, **rules)]}
    rubric = [{"criterion": "So.", "check": check}, {"criterion": "So.", "pass_condition": condition}]
    try:
        scenario = scenario_of({"pantry": entity}, rubric)
    except DocumentError:
        return
    for make in (RulesWorld, compile_rubric):
        try:
            made = make(scenario)
        except DocumentError:
            continue
        if isinstance(made, RulesWorld):
            state, fact = made.apply(made.initial(0), Action("pantry.go", {"id": "rice"}))
            canonical([fact, state.to_json()])
        else:
            for criterion in made:
                criterion.evaluate(scenario.body.entities["pantry"].state.reveal(), {}, [])
