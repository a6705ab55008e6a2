"""Pricing: which prices apply to the models of a run, and whether they are enough for its limits on cost."""

from collections.abc import Iterable, Mapping

from worldloom.api.plans.plan import Plan
from worldloom.core.errors import UsageError
from worldloom.core.project import PriceEntry, Project
from worldloom.models.spec import ModelSpec
from worldloom.runs.cost import GpuPrice, Price, Priced, Prices, TokenPrice
from worldloom.runs.limits import Meter, RunLimits


def prices_for(project: Project | None, models: Mapping[str, ModelSpec]) -> Prices:
    """What the project file says that these models cost."""
    if project is None:
        return Prices(models={name: Priced(spec.model) for name, spec in models.items()})
    priced = {
        name: Priced(spec.model, _price(project.prices.get(spec.model))) for name, spec in models.items()
    }
    return Prices(project.currency, priced)


def _price(entry: PriceEntry | None) -> Price | None:
    if entry is None:
        return None
    if entry.gpu_hour is not None and entry.gpus is not None:
        return GpuPrice(entry.gpu_hour, entry.gpus)
    assert entry.prompt is not None  # the project file has been checked
    assert entry.completion is not None
    return TokenPrice(entry.prompt, entry.completion)


def meter_of(plan: Plan, limits: RunLimits | None) -> Meter:
    """Counts what one call of `run` or `resume` uses of its limits.

    Raises:
        UsageError: there is a limit on cost, and a model that counts under it has no price by token.
    """
    if limits is not None and not isinstance(limits, RunLimits):
        raise UsageError(f"run_limits is {limits!r}; allowed: worldloom.RunLimits(…)")
    limits = limits or RunLimits()
    if limits.cost is not None:
        _must_have_prices(plan.prices, plan.models)
    if plan.limits.cost is not None:
        _must_have_prices(plan.prices, plan.contestant.models)
    return Meter(limits, plan.prices)


def _must_have_prices(prices: Prices, names: Iterable[str]) -> None:
    for name in names:
        priced = prices.models.get(name, Priced(name))
        if not isinstance(priced.price, TokenPrice):
            found = "no price" if priced.price is None else "a price by GPU hours"
            raise UsageError(
                f"a limit on cost needs to know what each answer costs, and {priced.model!r} has {found}\n"
                "  allowed: with `prompt` and `completion` under `prices` in worldloom.yaml when a run begins"
            )
