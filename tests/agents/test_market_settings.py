"""What may follow the name of a market's policy: nothing, or the settings of one that learns."""

import pytest

from worldloom.agents.agent import AgentConfig
from worldloom.core.errors import UsageError
from worldloom.core.registry import Registry


@pytest.fixture(scope="module")
def registry():
    return Registry.discover()


@pytest.mark.parametrize("policy", ["greedy_price", "fixed_list", "undercutter", "oracle"])
def test_a_fixed_policy_takes_no_argument(registry, policy):
    with pytest.raises(UsageError, match=f"`{policy}` takes no argument, and was given 'x'"):
        registry.get("agent", policy).load()(AgentConfig(None, "x"))


def test_settings_of_learners_stand_in_their_argument(registry):
    load = {name: registry.get("agent", name).load() for name in ("bandit", "q_learner")}
    usual = load["q_learner"](AgentConfig(None)).settings
    changed = load["q_learner"](AgentConfig(None, "exploration=0.05, initial_value=0")).settings
    assert changed == usual.model_copy(update={"exploration": 0.05, "initial_value": 0.0})
    assert load["bandit"](AgentConfig(None, "step=1")).step == 1.0


@pytest.mark.parametrize(
    "argument",
    ["x", "exploration", "exploration=", "exploration=2", "exploration=nan", "step=0.1,step=0.2", "ratio=1"],
)
@pytest.mark.parametrize("policy", ["bandit", "q_learner"])
def test_a_setting_that_cannot_be_used_is_told_with_what_is_allowed(registry, policy, argument):
    with pytest.raises(
        UsageError, match=rf"agent {policy}: the setting '.*'(.|\n)*allowed: .*exploration=0…1"
    ):
        registry.get("agent", policy).load()(AgentConfig(None, argument))
