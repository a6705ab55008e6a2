"""Reply: what a model may answer before a round, as a JSON Schema, and the strict reading of what it did answer.

    {"<note>": "...", ..., "expected_income": 4.0, "action": {"bid": [{"job": "...", "price": 4.5}]}}

or `"action": {"train": "..."}`. The schema names the jobs and bounds each price; what it cannot say (each job once) the
reading checks. Nothing is mended: a reply is a whole decision or none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from worldloom.agents.deliberation.telling import Job
from worldloom.core.action import Action
from worldloom.core.canonical import Json
from worldloom.core.errors import ReplyError, meant
from worldloom.core.view import View
from worldloom.models.model import Completion
from worldloom.models.reply import parse_object

EXPECTED = "expected_income"
_SHOWN = 40
"""Characters of a wrong name that a message repeats."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """What an answer may hold in a round.

    Attributes:
        notes: texts that come before the action: name -> characters that are kept.
        expects: whether it may say what income it expects.
        jobs: that one can bid for, none if bids are not possible.
        skills: that can be trained.
        max_bids: jobs that one can bid for at once.
        minimum: the smallest price; 0 for any above 0.
    """

    notes: Mapping[str, int]
    expects: bool
    jobs: Sequence[Job]
    skills: Sequence[str]
    max_bids: int = 0
    minimum: float = 0.0

    @staticmethod
    def of(view: View, jobs: Sequence[Job], bids: int, notes: Mapping[str, int], expects: bool) -> "Allowed":
        """What the actions in view allow, for some of the listed jobs and at most so many bids."""
        specs: dict[str, Any] = {spec.name: spec.parameters for spec in view.actions}
        skills = specs["train"]["properties"]["skill"]["enum"] if "train" in specs else ()
        if "bid" not in specs:
            return Allowed(notes, expects, (), skills)
        bidding = specs["bid"]["properties"]["bids"]
        minimum = bidding["items"]["properties"]["price"].get("minimum", 0.0)
        affordable = [job for job in jobs if job.budget >= minimum]
        return Allowed(notes, expects, affordable, skills, min(bids, bidding["maxItems"]), minimum)

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of an answer, in their order."""
        return (*self.notes, *((EXPECTED,) if self.expects else ()), "action")

    def schema(self) -> dict[str, Json]:
        """JSON Schema of an answer."""
        properties: dict[str, Json] = {
            name: {"type": "string", "maxLength": length} for name, length in self.notes.items()
        }
        if self.expects:
            properties[EXPECTED] = {"type": "number", "minimum": 0}
        choices: list[Json] = []
        if self.jobs:
            one: Json = {"anyOf": [self._bid(job) for job in self.jobs]}
            bids: Json = {"type": "array", "minItems": 1, "maxItems": self.max_bids, "items": one}
            choices.append(_object({"bid": bids}))
        if self.skills:
            choices.append(_object({"train": {"enum": list(self.skills)}}))
        properties["action"] = {"anyOf": choices}
        return _object(properties)

    def _bid(self, job: Job) -> dict[str, Json]:
        least: dict[str, Json] = {"minimum": self.minimum} if self.minimum else {"exclusiveMinimum": 0}
        return _object(
            {"job": {"const": job.name}, "price": {"type": "number", **least, "maximum": job.budget}}
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """A decision that was read.

    Attributes:
        action: what to do.
        notes: name -> its text, cut to what is kept.
        expected: income that the model expects; None if it does not say.
    """

    action: Action
    notes: Mapping[str, str] = field(default_factory=dict)
    expected: float | None = None


def read_reply(completion: Completion, allowed: Allowed) -> Reply:
    """The decision in a model's answer.

    Raises:
        ReplyError: it holds none; the text says to the model what is wrong.
    """
    reply = parse_object(completion)
    unknown = sorted(set(reply) - set(allowed.keys))
    if unknown:
        known = ", ".join(allowed.keys)
        raise ReplyError(f"Unknown key {unknown[0][:_SHOWN]!r}; allowed are {known}.")
    notes = {}
    for name, length in allowed.notes.items():
        text = reply.get(name, "")
        if not isinstance(text, str):
            raise ReplyError(f"{name} must be a text.")
        notes[name] = text[:length]
    expected = reply.get(EXPECTED)
    if expected is not None and not _is_number(expected):
        raise ReplyError(f"{EXPECTED} must be a number.")
    if "action" not in reply:
        raise ReplyError("The key action is missing.")
    action = _action(reply["action"], allowed)
    return Reply(action, notes, None if expected is None else float(expected))  # type: ignore[arg-type]


def _action(action: Any, allowed: Allowed) -> Action:
    if not isinstance(action, dict) or set(action) not in ({"bid"}, {"train"}):
        raise ReplyError('action must be an object with exactly one key, "bid" or "train".')
    if "train" in action:
        skill = action["train"]
        if not isinstance(skill, str) or skill not in allowed.skills:
            raise ReplyError(f"train must be one of {', '.join(allowed.skills)}.")
        return Action("train", {"skill": skill})
    bids = action["bid"]
    if not isinstance(bids, list) or not bids:
        raise ReplyError("bid must be a list of at least one bid; train if you do not want to bid.")
    if len(bids) > allowed.max_bids:
        raise ReplyError(f"There are {len(bids)} bids; at most {allowed.max_bids} are allowed.")
    budgets = {job.name: job.budget for job in allowed.jobs}
    found: list[Json] = []
    named: set[str] = set()
    for bid in bids:
        job, price = _bid(bid, budgets, allowed.minimum)
        if job in named:
            raise ReplyError(f"The job {job!r} is named twice; name each job once.")
        named.add(job)
        found.append({"job": job, "price": price})
    return Action("bid", {"bids": found})


def _bid(bid: Any, budgets: Mapping[str, float], minimum: float) -> tuple[str, float]:
    if not isinstance(bid, dict) or set(bid) != {"job", "price"}:
        raise ReplyError("Each bid must be an object with the keys job and price.")
    job, price = bid["job"], bid["price"]
    if not isinstance(job, str) or job not in budgets:
        shown = str(job)[:_SHOWN]
        raise ReplyError(f"There is no job {shown!r} on the list{meant(job, budgets)}.")
    if not _is_number(price):
        raise ReplyError(f"The price of {job!r} must be a number.")
    if not 0 < price <= budgets[job] or price < minimum:
        least = f"at least {minimum}" if minimum else "more than 0"
        raise ReplyError(f"The price of {job!r} must be {least} and at most its budget, {budgets[job]}.")
    return job, float(price)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _object(properties: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
