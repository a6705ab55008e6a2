"""A market of language models for real: the embedded model sits in every seat, and the record replays."""

import importlib.util

import pytest

import worldloom as wl
from worldloom.core.errors import UsageError
from worldloom.models.weights import CATALOGUE, cache_folder, ensure

# One skill, two jobs, notes of eight characters: a page has about 300 tokens, so that 80 answers take a minute or two.
MARKET = """
kind: market
id: eight
user_prompt: Bid for a job or train.
world:
  rounds: 10
  skills: [care]
  jobs: {per_skill: 2, listing_probability: 1}
cast:
  react: {agent: 'react:max_tokens=50,thought_characters=8,jobs=1,bids=1,history_rounds=1', count: 8}
"""


@pytest.fixture
def embedded_model():
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")
    try:
        ensure(CATALOGUE["smollm2"], cache_folder())
    except UsageError as error:
        pytest.skip(str(error))


@pytest.mark.slow
@pytest.mark.usefixtures("embedded_model")
def test_eight_agents_on_the_embedded_model_play_ten_rounds_and_replay_at_any_concurrency(tmp_path):
    file = tmp_path / "eight.yaml"
    file.write_text(MARKET, "utf-8")
    run = wl.run([file], model="embedded", runs_dir=tmp_path / "runs")
    (played,) = run.episodes
    assert (played.reason, played.steps) == ("finished", 10)
    assert played.model_calls >= 80, "every agent is asked in every round"
    for concurrency in (1, 16):
        assert [one.problem for one in wl.replay(run.folder, concurrency=concurrency)] == [None]
