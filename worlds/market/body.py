"""The body of kind `market`: how many rounds, which skills and jobs, by which mechanism, under which shocks.

Defaults are those of "When AI Agents Compete for Jobs" (Chiu et al., arXiv:2512.04988), baseline configuration. Who
sits in the market is the cast's affair and stands nowhere here.
"""

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from worldloom.core.scenario import Body, Header, Name, Scenario
from worldloom.core.yamlio import Fault, Path

_STRICT = ConfigDict(extra="forbid", frozen=True)
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Money: TypeAlias = Annotated[float, Field(gt=0, le=1e6)]
Budgets: TypeAlias = Annotated[tuple[Money, ...], Field(min_length=1, max_length=64)]
LOWEST_BUDGET = 0.1
"""No job is listed with a smaller budget."""


class Jobs(BaseModel):
    """What clients ask for. Every job asks for one skill and comes back round after round."""

    model_config = _STRICT
    per_skill: int = Field(default=4, ge=1, le=10_000, description="jobs of each skill")
    listing_probability: Share = Field(default=0.8, description="of a job to be shown in a round")
    budgets: Budgets = Field(
        default=(10.0, 8.0, 6.0, 4.0),
        description="base budget of each skill's jobs; used again from the first on",
    )
    budget_noise: float = Field(
        default=0.05, ge=0, le=1e3, description="standard deviation of a budget around its base"
    )


class Learning(BaseModel):
    """How well work is done, and how it is learned."""

    model_config = _STRICT
    initial_skill: Share = Field(default=0.4, description="of everybody in everything")
    step: Share = Field(default=0.1, description="share of the gap to 1 that one upgrade closes")
    by_doing: Share = Field(default=0.1, description="probability that a round's work or try is an upgrade")
    performance_noise: float = Field(
        default=0.05, ge=0, le=10, description="standard deviation of performance, as a share of the skill"
    )


class Reputation(BaseModel):
    """How past performance is remembered: a Beta estimate that forgets."""

    model_config = _STRICT
    decay: Share = Field(default=0.85, description="what is left of earlier evidence after a piece of work")
    prior_weight: float = Field(
        default=1.0, gt=0, le=1e3, description="pieces of work that the prior counts for"
    )
    prior_window: int = Field(
        default=5,
        ge=1,
        le=1000,
        description="latest performances of anyone in a skill whose mean is its prior",
    )
    initial_prior: Share = Field(default=0.5, description="the prior before anyone has worked in a skill")


class CobbDouglas(BaseModel):
    """U = q^w · s^(1 − w): the limit of `ces` as rho goes to 0."""

    model_config = _STRICT
    rule: Literal["cobb_douglas"] = "cobb_douglas"
    weight: Share = Field(default=0.6, description="w, of reputation against price")
    elasticity: float = Field(default=1.0, ge=0, le=100, description="eta in s = (price / budget)^(−eta)")


class Ces(BaseModel):
    """U = (w · q^rho + (1 − w) · s^rho)^(1 / rho): constant elasticity of substitution 1 / (1 − rho)."""

    model_config = _STRICT
    rule: Literal["ces"]
    rho: float = Field(
        ge=-100, le=1, description="1: perfect substitutes; far below 0: the worse of the two counts"
    )
    weight: Share = Field(default=0.6, description="w, of reputation against price")
    elasticity: float = Field(default=1.0, ge=0, le=100, description="eta in s = (price / budget)^(−eta)")


class NoVerification(BaseModel):
    """Clients know reputations only."""

    model_config = _STRICT
    rule: Literal["none"] = "none"


class Audit(BaseModel):
    """Now and then clients are shown a benchmark: the skill itself, in place of the reputation, for one round."""

    model_config = _STRICT
    rule: Literal["audit"]
    probability: Share = Field(default=0.1, description="for each agent, skill and round")


class Mechanism(BaseModel):
    """How jobs find agents, and what they pay. Each part is chosen by name."""

    model_config = _STRICT
    scoring: Annotated[CobbDouglas | Ces, Field(discriminator="rule")] = CobbDouglas()
    temperature: float = Field(default=0.2, gt=0, le=1e3, description="T of the Gumbel re-ranking of bidders")
    shortlist: int = Field(default=5, ge=1, le=10_000, description="bidders that a job considers")
    matching: Literal["gale_shapley", "random"] = "gale_shapley"
    capacity: int = Field(default=3, ge=1, le=100, description="jobs that an agent can do in a round")
    max_bids: int = Field(default=5, ge=1, le=100, description="jobs that an agent can bid for in a round")
    pay: Literal["fixed", "performance"] = Field(
        default="fixed", description="fixed: the price bid; performance: that times the performance"
    )
    disclosure: Literal["sealed", "open"] = Field(
        default="sealed", description="open: winning prices are shown"
    )
    verification: Annotated[NoVerification | Audit, Field(discriminator="rule")] = NoVerification()
    tax_rate: Share = Field(default=0.0, description="share of all pay that is redistributed equally")
    minimum_price: float = Field(default=0.0, ge=0, le=1e6, description="bids below it are refused")
    entry_cost: float = Field(
        default=0.0, ge=0, le=1e6, description="what an agent pays in a round in which it bids"
    )
    portfolio_weight: float = Field(
        default=0.0,
        ge=0,
        le=1e3,
        description="pieces of work that a training benchmark counts for in the reputation",
    )


class Recession(BaseModel):
    """Rounds come in blocks, blocks in cycles; in one block of each cycle every base budget is `budget`."""

    model_config = _STRICT
    type: Literal["recession"]
    block_rounds: int = Field(default=10, ge=1, le=10_000)
    cycle_blocks: int = Field(default=3, ge=1, le=1000)
    block: int = Field(default=1, ge=0, le=999, description="which block of a cycle, from 0")
    budget: Money = 1.0


class MarketChange(BaseModel):
    """From a round on, the skills' base budgets are others."""

    model_config = _STRICT
    type: Literal["market_change"]
    round: int = Field(ge=0, le=10_000, description="the first with the new budgets, from 0")
    budgets: Budgets


Shock: TypeAlias = Annotated[Recession | MarketChange, Field(discriminator="type")]


class MarketBody(Body):
    """`world:` of kind `market`."""

    seats: ClassVar[tuple[str, ...] | None] = None

    rounds: int = Field(ge=1, le=10_000)
    skills: tuple[Name, ...] = Field(min_length=1, max_length=64)
    jobs: Jobs = Jobs()
    learning: Learning = Learning()
    reputation: Reputation = Reputation()
    mechanism: Mechanism = Mechanism()
    shocks: tuple[Shock, ...] = Field(default=(), max_length=64)
    history_rounds: int = Field(default=10, ge=1, le=1000, description="how many rounds agents can look back")

    @property
    def steps(self) -> int:
        return self.rounds

    def faults(self, header: Header) -> Iterable[Fault]:
        """Skills named twice, budgets of no skill, shocks that never come."""
        for index, name in enumerate(self.skills):
            if name in self.skills[:index]:
                yield Fault(("world", "skills", index), f"a second skill {name!r}", "each skill once")
        # Those of the defaults are the paper's, whose market has more skills than a small one of one's own.
        if "budgets" in self.jobs.model_fields_set:
            yield from self._too_many(("world", "jobs", "budgets"), self.jobs.budgets)
        for index, shock in enumerate(self.shocks):
            if isinstance(shock, MarketChange):
                yield from self._too_many(("world", "shocks", index, "budgets"), shock.budgets)
            if isinstance(shock, MarketChange) and shock.round >= self.rounds:
                found = f"round {shock.round} in a market of {self.rounds} rounds"
                yield Fault(("world", "shocks", index, "round"), found, f"at most {self.rounds - 1}")
            if isinstance(shock, Recession) and shock.block >= shock.cycle_blocks:
                found = f"block {shock.block} in a cycle of {shock.cycle_blocks}"
                yield Fault(("world", "shocks", index, "block"), found, f"at most {shock.cycle_blocks - 1}")
            elif isinstance(shock, Recession) and (first := shock.block * shock.block_rounds) >= self.rounds:
                found = f"a recession that begins in round {first} in a market of {self.rounds} rounds"
                allowed = f"block · block_rounds of at most {self.rounds - 1}"
                yield Fault(("world", "shocks", index), found, allowed)

    def _too_many(self, place: Path, budgets: Budgets) -> Iterable[Fault]:
        if len(budgets) > len(self.skills):
            found = f"{len(budgets)} budgets for {len(self.skills)} skills"
            yield Fault(place, found, "at most one for each skill")


def body_of(scenario: Scenario) -> MarketBody:
    """The body of a scenario of kind `market`."""
    body = scenario.body
    assert isinstance(body, MarketBody), "the registry gives scenarios of kind market this body"
    return body
