"""A built graph is an ordinary LangGraph graph: it runs without a run, and others can hold it."""

import asyncio
import json

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

import worldloom as wl
from worldloom.agents.agent import Decision
from worldloom.core.action import Action
from worldloom.models.scripted import ScriptedModel
from worldloom.runs.context import Context
from worldloom.runs.limits import Limits

SCENARIO = """\
id: bell
category: accessibility
user_prompt: Ring the bell once.
world:
  entities:
    bell:
      type: device
      name: Bell
      state: {rung: 0}
      actions:
        - name: ring
          description: Ring it.
          effects: [{set: {bell.rung: =bell.rung + 1}}]
          result: {rung: =bell.rung}
evaluation_rubric:
  - {criterion: It has rung., check: bell.rung == 1}
paths:
  literal: [bell.ring: {}, bell.ring: {}]
  careful: [bell.ring: {}]
"""


@pytest.fixture
def scenario(tmp_path, monkeypatch):
    (tmp_path / "bell.yaml").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "bell.yaml"


def rung(final):
    return final["world"].to_json()["bell"]["rung"]


def test_it_is_compiled_langgraph_and_runs_without_a_context(scenario):
    graph = wl.build_graph("aaw", scenario, "literal")
    assert isinstance(graph, CompiledStateGraph)
    for _ in range(2):
        final = asyncio.run(graph.ainvoke({}))
        assert (final["ended"].reason, rung(final)) == ("completed", 2)


class Ringer:
    """An agent that is a Python object and never has enough."""

    async def act(self, memo, view, ctx):
        return Decision(Action("bell.ring"), memo=(memo or 0) + 1)


def test_any_object_that_acts_can_sit_in_it_and_the_limit_on_steps_holds_without_a_run(scenario):
    graph = wl.build_graph("aaw", wl.load_scenario(scenario), Ringer())
    final = asyncio.run(graph.ainvoke({}))
    assert (final["ended"].reason, rung(final)) == ("step_limit", Limits().steps)
    final = asyncio.run(graph.ainvoke({}, context=Context.null(limits=Limits(steps=3))))
    assert (final["ended"].reason, rung(final)) == ("step_limit", 3)


def ring_once(request):
    if any(message.role == "assistant" for message in request.messages):
        return '{"thought_process": "", "action": "TASK_COMPLETE"}'
    action = {"entity_id": "bell", "action_name": "ring", "arguments": {}}
    return json.dumps({"thought_process": "", "action": action})


def test_with_a_null_context_it_talks_to_the_models_of_the_caller(scenario):
    graph = wl.build_graph("aaw", scenario)
    context = Context.null(models={"agent": ScriptedModel(ring_once)})
    for _ in range(2):
        final = asyncio.run(graph.ainvoke({}, context=context))
        assert (final["ended"].reason, rung(final)) == ("completed", 1)


def test_without_the_model_that_the_agent_asks_for_the_end_says_so(scenario):
    final = asyncio.run(wl.build_graph("aaw", scenario).ainvoke({}))
    assert final["ended"].reason == "error"
    assert "no model is bound to 'agent'" in final["ended"].detail


def test_it_streams_its_steps_as_langgraph_does(scenario):
    async def updates():
        graph = wl.build_graph("aaw", scenario, "careful")
        return [next(iter(update)) async for update in graph.astream({}, stream_mode="updates")]

    assert asyncio.run(updates()) == ["agent", "world", "agent"]


def test_many_at_once_do_not_disturb_one_another(scenario):
    graph = wl.build_graph("aaw", scenario, "literal")

    async def many():
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(graph.ainvoke({}, context=Context.null())) for _ in range(20)]
        return [task.result() for task in tasks]

    assert {rung(final) for final in asyncio.run(many())} == {2}


def test_it_can_be_a_part_of_a_graph_of_the_users_own(scenario):
    inner = wl.build_graph("aaw", scenario, "careful")

    async def play(state: dict) -> dict:
        final = await inner.ainvoke({}, context=Context.null(seed=state["seed"]))
        return {"reason": final["ended"].reason}

    outer = StateGraph(dict)
    outer.add_node("play", play)
    outer.add_edge(START, "play")
    outer.add_edge("play", END)
    assert asyncio.run(outer.compile().ainvoke({"seed": 3})) == {"reason": "completed"}


def test_the_null_graph_runs_as_well(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nothing.yaml").write_text("kind: 'null'\nid: nothing\nworld: {}\n")

    class Waiter:
        async def act(self, memo, view, ctx):
            return Decision(Action("wait") if view.step < 4 else None)

    final = asyncio.run(wl.build_graph("null", "nothing.yaml", Waiter()).ainvoke({}))
    assert (final["ended"].reason, final["world"].step) == ("completed", 4)


@pytest.mark.parametrize(
    ("name", "agent", "said"),
    [("aww", "careful", "aaw"), ("aaw", "carefull", "careful"), ("aaw", "scripted", "file")],
)
def test_a_name_that_is_not_there_is_refused_with_the_nearest(scenario, name, agent, said):
    with pytest.raises(wl.UsageError, match=said):
        wl.build_graph(name, scenario, agent)
