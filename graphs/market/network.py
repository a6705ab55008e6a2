"""Network: a market as a bipartite graph: agents on one side, jobs on the other, bids between them."""

from collections.abc import Iterable, Mapping, Sequence

import networkx as nx
import numpy as np

from worldloom.core.picture import Edge, Frame, Network, Node
from worldloom.worlds.market.record import RoundRecord
from worldloom.worlds.market.rules import Floats, Ints

MOST_AGENTS, MOST_JOBS, MOST_FRAMES = 24, 24, 100


def bids_graph(
    rounds: Sequence[RoundRecord], agents: Iterable[int] | None = None, jobs: Iterable[int] | None = None
) -> "nx.Graph[tuple[str, int]]":
    """The bids of some rounds as a bipartite graph.

    Nodes are ("agent", number) with `bipartite` 0 and ("job", number) with `bipartite` 1, each with its `name`; an edge
    says how many `bids` there were and how many of them `won`.

    Args:
        agents, jobs: the nodes that it has; all by default.
    """
    rules = rounds[0].rules
    agents = range(len(rules.seats)) if agents is None else list(agents)
    jobs = range(len(rules.job_names)) if jobs is None else list(jobs)
    graph: nx.Graph[tuple[str, int]] = nx.Graph()
    graph.add_nodes_from((("agent", one), {"bipartite": 0, "name": rules.seats[one]}) for one in agents)
    graph.add_nodes_from((("job", one), {"bipartite": 1, "name": rules.job_names[one]}) for one in jobs)
    for seat, job, bids, won in _counted(rounds, np.array(agents), np.array(jobs)):
        graph.add_edge(("agent", seat), ("job", job), bids=bids, won=won)
    return graph


def _counted(rounds: Sequence[RoundRecord], agents: Ints, jobs: Ints) -> list[tuple[int, int, int, int]]:
    """(agent, job, bids, won) of those that bid for each other, by agent and job."""
    width = len(rounds[0].rules.job_names)
    pair = np.concatenate([record.bid_seat * width + record.bid_job for record in rounds])
    won = np.concatenate([record.winner[record.bid_job] == record.bid_seat for record in rounds])
    kept = np.isin(pair // width, agents) & np.isin(pair % width, jobs)
    found, place, count = np.unique(pair[kept], return_inverse=True, return_counts=True)
    wins = np.bincount(place, weights=won[kept], minlength=len(found)).astype(np.int64)
    cells = (found // width, found % width, count, wins)
    return list(zip(*(column.tolist() for column in cells), strict=True))


def network(rounds: Sequence[RoundRecord], reward: Floats, groups: Mapping[str, Ints]) -> Network:
    """The picture: all rounds together, then one by one.

    Args:
        reward: of each agent in the end, shape (agents,).
        groups: name -> numbers of its seats.
    """
    rules = rounds[0].rules
    agents, jobs = _agents(reward), _jobs(rounds, _agents(reward))
    group = {number: name for name, numbers in groups.items() for number in numbers.tolist()}
    lefts = tuple(Node(rules.seats[one], group[one]) for one in agents)
    rights = tuple(Node(rules.job_names[one], rules.body.skills[rules.job_skill[one]]) for one in jobs)
    shown = [("all", rounds)]
    for place in _spread(len(rounds), MOST_FRAMES):
        shown.append((f"round-{rounds[place].round}", rounds[place : place + 1]))
    frames = tuple(Frame(name, _edges(part, agents, jobs)) for name, part in shown)
    title = f"Who bid for what, and won it{_left_out(len(reward), len(rules.job_names), len(rounds))}"
    about = "Agents on the left, jobs on the right; a line is a bid, a thick one was won."
    return Network(
        "market", title, about, "agents", "jobs", "bids", "won", tuple(groups), lefts, rights, frames
    )


def _edges(rounds: Sequence[RoundRecord], agents: list[int], jobs: list[int]) -> tuple[Edge, ...]:
    left, right = ({one: place for place, one in enumerate(column)} for column in (agents, jobs))
    graph = bids_graph(rounds, agents, jobs)
    edges = graph.edges(
        [("agent", one) for one in agents], data=True
    )  # from these on, so that they come first
    return tuple(
        sorted(Edge(left[agent[1]], right[job[1]], told["bids"], told["won"]) for agent, job, told in edges)
    )


def _agents(reward: Floats) -> list[int]:
    """All agents in their order, or of many those that earned most and least, the richest first."""
    if len(reward) <= MOST_AGENTS:
        return list(range(len(reward)))
    order: list[int] = np.lexsort((np.arange(len(reward)), -reward)).tolist()
    return order[: MOST_AGENTS // 2] + order[-(MOST_AGENTS // 2) :]


def _jobs(rounds: Sequence[RoundRecord], agents: list[int]) -> list[int]:
    """All jobs, or of many those that these agents bid for most often, in their order."""
    count = len(rounds[0].rules.job_names)
    if count <= MOST_JOBS:
        return list(range(count))
    bids = np.concatenate([record.bid_job[np.isin(record.bid_seat, agents)] for record in rounds])
    often = np.bincount(bids, minlength=count)
    return sorted(np.lexsort((np.arange(count), -often))[:MOST_JOBS].tolist())


def _spread(count: int, most: int) -> list[int]:
    """All of `count` places, or `most` of them, evenly apart, the first and the last among them."""
    return sorted({round(place) for place in np.linspace(0, count - 1, min(count, most)).tolist()})


def _left_out(agents: int, jobs: int, rounds: int) -> str:
    said = []
    if agents > MOST_AGENTS:
        half = MOST_AGENTS // 2
        said.append(f"the {half} richest and {half} poorest of {agents:,} agents")
    if jobs > MOST_JOBS:
        said.append(f"the {MOST_JOBS} of {jobs:,} jobs that they bid for most")
    if rounds > MOST_FRAMES:
        said.append(f"all and {MOST_FRAMES} of {rounds:,} rounds")
    return f" ({'; '.join(said)})" if said else ""
