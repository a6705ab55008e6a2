"""`world:` of kind `market`: closed, with the paper's defaults, and every fault at its place."""

import jsonschema
import pytest

from worldloom.core.errors import DocumentError
from worldloom.core.scenario import parse_scenario
from worldloom.core.schema import scenario_schema
from worldloom.core.yamlio import parse
from worldloom.worlds.market.body import Audit, Ces, Recession
from worldloom.worlds.market.world import build

SOUND = """\
kind: market
id: gig-baseline
cast: {dull: {agent: random, count: 2}, one: random}
world:
  rounds: 50
  skills: [writing, coding]
  jobs: {per_skill: 4, budgets: [10, 8]}
  mechanism:
    scoring: {rule: ces, rho: -1, weight: 0.3}
    verification: {rule: audit, probability: 0.2}
    pay: performance
  shocks:
    - {type: recession, block_rounds: 10}
    - {type: market_change, round: 25, budgets: [4, 6]}
"""


def test_a_market_is_read_with_the_defaults_of_the_paper(registry):
    body = parse_scenario(SOUND, "m.yaml", registry).body
    assert body.mechanism.scoring == Ces(rule="ces", rho=-1, weight=0.3, elasticity=1)
    assert body.mechanism.verification == Audit(rule="audit", probability=0.2)
    assert body.shocks[0] == Recession(type="recession", block_rounds=10, cycle_blocks=3, block=1, budget=1)
    bare_text = "kind: market\nid: m\ncast: {a: random}\nworld: {rounds: 1, skills: [a]}\n"
    bare = parse_scenario(bare_text, "m.yaml", registry).body
    mechanism, jobs, learning, reputation = bare.mechanism, bare.jobs, bare.learning, bare.reputation
    assert (jobs.listing_probability, jobs.budgets, jobs.per_skill) == (0.8, (10, 8, 6, 4), 4)
    assert (mechanism.scoring.rule, mechanism.scoring.weight, mechanism.scoring.elasticity) == (
        "cobb_douglas",
        0.6,
        1,
    )
    assert (mechanism.temperature, mechanism.shortlist, mechanism.max_bids, mechanism.capacity) == (
        0.2,
        5,
        5,
        3,
    )
    assert (learning.initial_skill, learning.step, learning.by_doing, learning.performance_noise) == (
        0.4,
        0.1,
        0.1,
        0.05,
    )
    assert (reputation.decay, reputation.prior_weight, reputation.prior_window) == (0.85, 1, 5)
    assert (
        mechanism.tax_rate,
        mechanism.minimum_price,
        mechanism.entry_cost,
        mechanism.portfolio_weight,
    ) == (
        0,
        0,
        0,
        0,
    )


@pytest.mark.parametrize(
    ("old", "new", "line", "found"),
    [
        ("rounds: 50", "rounds: 0", 5, "0"),
        ("  rounds: 50\n", "", 4, "`rounds` is missing"),
        ("rounds: 50", "rouns: 50", 5, "unknown key 'rouns'"),
        ("[writing, coding]", "[writing, writing]", 6, "a second skill 'writing'"),
        ("[writing, coding]", "[]", 6, "without any item"),
        ("per_skill: 4", "per_skill: 4.5", 7, "4.5"),
        ("budgets: [10, 8]", "budgets: [10, 0]", 7, "0"),
        ("budgets: [10, 8]", "listing_probability: 1.5", 7, "1.5"),
        ("rule: ces, rho: -1", "rule: cs, rho: -1", 9, "cs"),
        ("rho: -1", "rho: 2", 9, "2"),
        ("rho: -1, ", "", 9, "`rho` is missing"),
        ("rule: ces, rho: -1", "rule: cobb_douglas, rho: -1", 9, "unknown key 'rho'"),
        ("probability: 0.2", "probability: often", 10, "often"),
        ("pay: performance", "pay: piecework", 11, "piecework"),
        ("pay: performance", "policy: greedy", 11, "unknown key 'policy'"),
        ("block_rounds: 10", "block_rounds: 10, block: 3", 13, "block 3 in a cycle of 3"),
        ("round: 25", "round: 50", 14, "round 50 in a market of 50 rounds"),
        ("budgets: [10, 8]", "budgets: [10, 8, 6]", 7, "3 budgets for 2 skills"),
        ("budgets: [4, 6]", "budgets: [4, 6, 8]", 14, "3 budgets for 2 skills"),
        ("block_rounds: 10", "block_rounds: 50", 13, "begins in round 50 in a market of 50 rounds"),
        ("type: recession", "type: boom", 13, "boom"),
    ],
)
def test_a_fault_is_named_at_its_line(registry, old, new, line, found):
    with pytest.raises(DocumentError) as caught:
        parse_scenario(SOUND.replace(old, new), "m.yaml", registry)
    assert [problem.line for problem in caught.value.problems] == [line]
    assert found in str(caught.value)


def test_a_file_that_forgot_its_kind_is_told_so(registry):
    with pytest.raises(DocumentError, match=r"`kind` is missing; 'rounds' belongs to market"):
        parse_scenario(SOUND.replace("kind: market\n", ""), "m.yaml", registry)


def test_editors_accept_what_loads(registry):
    validator = jsonschema.Draft7Validator(scenario_schema(registry))
    assert validator.is_valid(parse(SOUND, "m.yaml").value)
    assert not validator.is_valid(parse(SOUND.replace("rho: -1", "rho: 2"), "m.yaml").value)


def test_the_seats_are_those_of_the_cast_unless_they_are_given(registry):
    scenario = parse_scenario(SOUND, "m.yaml", registry)
    assert build(scenario).rules.seats == ("dull-1", "dull-2", "one")
    assert build(scenario, ["a", "b"]).rules.seats == ("a", "b")
