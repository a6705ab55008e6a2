"""Scorer of the fidelity graph: counts of an episode as shares, each with its n; nobody is asked.

The shares of several episodes are put together by their n (`runs.statistics.rate`): calls count, not episodes.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from worldloom.core.canonical import Json
from worldloom.graphs.config import GraphConfig
from worldloom.graphs.fidelity.compare import KINDS, Compared, Truth, agreements, compare
from worldloom.graphs.fidelity.message import Leaks, named_fields
from worldloom.runs.context import Context
from worldloom.runs.rows import Score
from worldloom.runs.scorer import EpisodeRecord
from worldloom.worlds.aaw.body import body_of
from worldloom.worlds.aaw.state import AawState


class FidelityScorer:
    """Scores the episodes of one scenario."""

    def __init__(self, config: GraphConfig) -> None:
        self._initial = AawState.initial(config.scenario).entities
        self._leaks = Leaks(config.scenario)
        self._named = {
            f"{key}.{action.name}": named_fields(action.returns.reveal())
            for key, entity in body_of(config.scenario).entities.items()
            for action in entity.actions
        }

    async def score(self, record: EpisodeRecord, ctx: Context) -> list[Score]:
        """exact, action_type, message, accepted; the kinds of disagreement; self_exact and self_type; changing."""
        calls = list(self.compared(record))
        replies = [reply for call in calls for reply in call]
        told = [reply.message for reply in replies if reply.message is not None]
        pairs = [agreements(call) for call in calls]
        counts = [sum(column) for column in zip(*pairs, strict=True)] or [0, 0, 0]
        n = len(replies)
        return [
            _share("exact", sum(reply.exact for reply in replies), n),
            _share("action_type", sum(reply.same_type for reply in replies), n),
            _share("message", sum(told), len(told)),
            _share("accepted", sum(reply.accepted for reply in replies), n),
            *(_share(kind, sum(kind in reply.kinds for reply in replies), n) for kind in KINDS),
            _share("self_exact", counts[1], counts[0]),
            _share("self_type", counts[2], counts[0]),
            _share("changing", sum(reply.changing for reply in replies), n),
        ]

    def compared(self, record: EpisodeRecord) -> Iterator[list[Compared]]:
        """The replies to each call about which the model was asked, in order."""
        state: dict[str, Any] = dict(self._initial)
        truth: Truth | None = None
        for event in record.events:
            if event.type == "stepped.1":
                fact = event.body
                truth = Truth.of(fact, state, self._named.get(fact["action"], ()))
                state = _after(state, fact["changes"])
            elif event.type == "proposed.1":
                assert truth is not None, "what the rules did comes first"
                yield [compare(reply, truth, self._leaks) for reply in event.body["replies"]]


def _after(state: Mapping[str, Any], changes: Mapping[str, Mapping[str, Json]]) -> dict[str, Any]:
    return {**state, **{entity: {**state[entity], **new} for entity, new in changes.items()}}


def _share(name: str, hits: int, n: int) -> Score:
    return Score(name, hits / n if n else None, n, "share", "rules")
