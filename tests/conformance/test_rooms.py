"""The record's promises, proved on three toy rooms and on the rooms that ship."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import beam
import cohort
import pytest
import solo
from rooms import TalkingModel

from worldloom import testing
from worldloom.core.canonical import canonical
from worldloom.core.event import Event
from worldloom.core.key import read_key, show_key
from worldloom.runs.block import expand
from worldloom.runs.fork import forked
from worldloom.runs.limits import Limits
from worldloom.testing import Trial, live, replay

HERE = Path(__file__).parent
ROOMS: dict[str, Callable[[], Trial]] = {"solo": solo.trial, "cohort": cohort.trial, "beam": beam.trial}
each_room = pytest.mark.parametrize("name", list(ROOMS))


@pytest.fixture(scope="module")
def elsewhere() -> list[dict[str, list[str]]]:
    """Fingerprints of fresh runs in two processes with different hash seeds, by room."""
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import beam, cohort, solo; from worldloom import testing; "
        "rooms = {'solo': solo, 'cohort': cohort, 'beam': beam}; "
        "prints = {n: testing.fresh_fingerprints(r.trial(), concurrency=8, seeds=6) for n, r in rooms.items()}; "
        "print(json.dumps(prints))"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(HERE)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for hash_seed in ("1", "2")
    ]
    return [json.loads(process.communicate(timeout=120)[0]) for process in processes]


@each_room
def test_fresh_runs_agree_at_any_concurrency_and_in_processes_with_different_hash_seeds(
    name: str, elsewhere: list[dict[str, list[str]]]
) -> None:
    here = [
        testing.fresh_fingerprints(ROOMS[name](), concurrency=concurrency, seeds=6)
        for concurrency in (1, 8, 64)
    ]
    assert here[0] == here[1] == here[2]
    assert len(set(here[0])) == len(here[0]), "every seed gives its own run"
    assert [prints[name] for prints in elsewhere] == [here[0], here[0]]


@each_room
def test_a_replay_asks_nothing_and_reproduces_the_run(name: str) -> None:
    testing.check_replay(ROOMS[name]())


@each_room
def test_a_run_cut_at_any_of_200_prefixes_resumes_to_the_same_run(name: str) -> None:
    testing.check_resume(ROOMS[name](), cuts=200)


@each_room
def test_a_fork_keeps_the_past(name: str) -> None:
    testing.check_fork(ROOMS[name]())


@each_room
def test_replays_of_answers_that_no_one_could_predict_agree(name: str) -> None:
    trial = Trial(
        ROOMS[name]().program, lambda: {role: TalkingModel(entropy=True) for role in ("agent", "judge")}
    )

    async def run() -> None:
        lives = [await live(trial) for _ in range(5)]
        assert len({life.fingerprint for life in lives}) > 1
        for life in lives:
            assert await replay(trial, life) == life.fingerprint

    asyncio.run(run())


def test_two_identical_concurrent_requests_keep_their_own_answers() -> None:
    trial = Trial(cohort.trial().program, lambda: {"agent": TalkingModel(entropy=True)})

    async def run() -> None:
        life = await live(trial)
        answers = {e.key: e.body for e in life.events if e.type == "model.1"}
        by_request: dict[str, set[str]] = {}
        for body in answers.values():
            by_request.setdefault(body["request"], set()).add(body["answer"]["text"])
        assert any(len(texts) > 1 for texts in by_request.values()), (
            "equal requests were answered differently"
        )
        assert await replay(trial, life) == life.fingerprint

    asyncio.run(run())


def test_a_fork_with_another_answer_plays_on_from_there() -> None:
    trial = solo.trial()

    async def run() -> None:
        parent = await live(trial)
        rows = parent.by_key()
        at = sorted(key for key, event in rows.items() if event.type == "model.1")[2]
        body = rows[at].body
        said = "4" if int(body["answer"]["text"]) % 4 else "5"
        changed = {**body, "answer": {**body["answer"], "text": said}}
        child = await live(trial, forked(rows, at, {at: Event(at, "model.1", canonical(changed))}))
        assert child.fingerprint != parent.fingerprint
        assert {k: e.data for k, e in rows.items() if k < at} == {
            k: e.data for k, e in child.by_key().items() if k < at
        }
        assert await replay(trial, child) == child.fingerprint

    asyncio.run(run())


def test_of_several_failing_children_the_one_with_the_smallest_key_counts() -> None:
    async def run() -> None:
        ends = {(await live(beam.trial())).end for _ in range(5)}
        assert len(ends) == 1
        (end,) = ends
        assert end.reason == "tool_failed"
        assert "#0/" in show_key(end.key)

    asyncio.run(run())


def test_a_limit_on_calls_lets_the_first_children_by_index_run() -> None:
    trial = Trial(cohort.trial().program, cohort.trial().models, limits=Limits(model_calls=21))

    async def run() -> None:
        life = await live(trial)
        assert life.end.reason == "call_limit"
        rounds = [show_key(e.key).split("/")[1] for e in life.events if e.type == "bid.1"]
        assert rounds.count("1:round") == 16
        seats = sorted(
            e.body["seat"] for e in life.events if e.type == "bid.1" and "/2:round" in show_key(e.key)
        )
        assert seats == [0, 1, 2, 3, 4]
        assert await replay(trial, life) == life.fingerprint

    asyncio.run(run())


def test_a_limit_on_tokens_strikes_at_the_same_superstep_at_any_concurrency() -> None:
    trial = Trial(beam.trial().program, beam.trial().models, limits=Limits(tokens=150))
    prints = {tuple(testing.fresh_fingerprints(trial, concurrency=c, seeds=6)) for c in (1, 8, 64)}
    assert len(prints) == 1


def test_a_block_expands_to_its_rows() -> None:
    async def run() -> None:
        life = await live(cohort.trial())
        block = next(e for e in life.events if e.type == "acts.1")
        assert block.load is not None
        rows = list(expand(block.body, block.load(block.body["cells"]["sha256"])))
        first = [e.body for e in life.events if e.type == "bid.1" and "/1:" in show_key(e.key)]
        bids = {body["seat"]: float(body["text"]) for body in first}
        assert {row["seat"]: row["bid"] for row in rows} == bids

    asyncio.run(run())


def test_keys_read_back_and_sort_as_they_happened() -> None:
    for text in ("0", "3:agent/1", "0:aaw/3#12/0", "0:a%2Fb/1"):
        assert show_key(read_key(text)) == text
    order = ["0:aaw/2:agent/0", "0:aaw/2:agent/1", "0:aaw/10:agent/0", "1"]
    assert sorted(order, key=read_key) == order
