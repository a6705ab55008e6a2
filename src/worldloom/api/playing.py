"""Playing: a plan becomes a record. Starting, resuming and replaying a run, on one event loop."""

import asyncio
import contextlib
import secrets
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldloom.api.planning import Builder, Plan, form_of, plan_of, text_of
from worldloom.api.provenance import made_with
from worldloom.api.result import RunResult
from worldloom.core.arguments import whole
from worldloom.core.errors import Divergence, RecordError, UsageError
from worldloom.core.registry import Registry
from worldloom.models.gates import Gates
from worldloom.models.model import Model
from worldloom.models.silent import SilentModel
from worldloom.models.spec import ModelSpec
from worldloom.runs.executor import Executor, Planned, replay_episode
from worldloom.runs.ledger import unchanged
from worldloom.runs.redact import redactor
from worldloom.runs.store import EpisodeRow, RunStore, Score, put_value
from worldloom.runs.writer import Writer

_STOPS = (signal.SIGINT, signal.SIGTERM)
Watch = Callable[[Executor, Sequence[EpisodeRow]], Awaitable[None]]
"""Runs beside the episodes, to draw progress; it is cancelled when they are over."""


async def start(
    plan: Plan, registry: Registry, *, runs_dir: Path, concurrency: int = 8, watch: Watch | None = None
) -> RunResult:
    """Play a plan as a new run in a new folder below `runs_dir`.

    Raises:
        UsageError: a scenario cannot be played, or a model does not answer; nothing has been written then.
        RecordError: the record cannot be written.
    """
    concurrency = whole("concurrency", concurrency, 1)
    rows = [row for row, _, _ in plan.entries()]
    if not rows:
        raise UsageError("there is nothing to run: no scenario was given")
    # All that can be wrong is found before the first episode begins.
    planned = list(Builder(plan, registry).planned(rows))
    async with opened_models(plan.models) as models:
        ids = {name: model.id for name, model in models.items()}
        manifest = {
            **plan.manifest(),
            "model_ids": ids,
            "judge_form": form_of(plan, registry),
            "made_with": made_with(),
        }
        store = RunStore.create(
            new_folder(runs_dir), manifest, rows, [text_of(one) for one in plan.scenarios]
        )
        with store:
            with store.writing() as writer:
                await _play(store, writer, planned, models, concurrency, watch)
            return RunResult.of(store)


async def resume(
    folder: Path, registry: Registry, *, concurrency: int = 8, watch: Watch | None = None
) -> RunResult:
    """Play what a stored run has left: episodes not begun, cut short by a crash, or cancelled.

    Raises:
        UsageError: there is no such run, or it was planned with other digests than now.
        RecordError: the record cannot be written, or an episode diverges from it.
    """
    concurrency = whole("concurrency", concurrency, 1)
    with RunStore(folder) as store:
        plan = plan_of(store, registry)
        with store.writing() as writer:  # first: what is left to play must not be played by another meanwhile
            left = [row for row in store.episodes() if row.status != "ended"]
            if left or store.value("status") != "completed":
                planned = list(Builder(plan, registry).planned(left))
                async with opened_models(plan.models if left else {}) as models:
                    for name, model in models.items():
                        recorded = store.manifest("model_ids", dict).get(name)
                        if model.id != recorded:
                            raise UsageError(
                                f"{folder} was made with model {recorded}; this one is {model.id}"
                            )
                    await _play(store, writer, planned, models, concurrency, watch)
        return RunResult.of(store)


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay found of one episode.

    Attributes:
        problem: None if it was reproduced byte for byte, and its end, counts and scores are as recorded.
    """

    episode: EpisodeRow
    problem: str | None


async def replay(
    folder: Path,
    registry: Registry,
    *,
    concurrency: int = 8,
    seen: Callable[[Replayed], None] = lambda one: None,
) -> list[Replayed]:
    """Play every ended episode again from its record, asking the outside nothing.

    Returns:
        One entry per ended episode, in the order of the plan.

    Raises:
        UsageError: there is no such run, or it was planned with other digests than now.
        RecordError: its plan cannot be read.
    """
    concurrency = whole("concurrency", concurrency, 1)
    found: dict[int, Replayed] = {}
    with RunStore(folder) as store:
        plan = plan_of(store, registry)
        everything, scores = store.episodes(), store.scores()
        expected = sum(1 for _ in plan.entries())
        if len(everything) != expected:
            raise RecordError(
                f"{folder} was planned with {expected} episodes; its record holds {len(everything)}"
            )
        rows = [row for row in everything if row.status in ("ended", "cancelled")]
        waiting = iter(list(Builder(plan, registry).planned(rows)))
        models = {name: SilentModel(model_id) for name, model_id in store.manifest("model_ids", dict).items()}

        async def work() -> None:
            for one in waiting:
                try:
                    problem = await _replayed(store, one, scores.get(one.row.row, ()), models)
                except RecordError as difference:
                    problem = str(difference)
                found[one.row.row] = Replayed(one.row, problem)
                seen(found[one.row.row])

        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(rows))):
                group.create_task(work())
    return [found[row.row] for row in rows]


async def _replayed(
    store: RunStore, planned: Planned, scores: Sequence[Score], models: Mapping[str, Model]
) -> str | None:
    """What a replay finds of one episode; as `replay_episode`."""
    try:
        return await replay_episode(store, planned, scores, models)
    except Divergence as difference:
        # What was masked stands masked in the record, whatever the environment holds now; only a room that holds a
        # secret itself has it masked again.
        mend = redactor()
        if mend is not unchanged:
            with contextlib.suppress(Divergence):
                return await replay_episode(store, planned, scores, models, mend)
        raise difference


async def _play(
    store: RunStore,
    writer: Writer,
    planned: Sequence[Planned],
    models: Mapping[str, Model],
    concurrency: int,
    watch: Watch | None,
) -> None:
    executor = Executor(store, writer, models, concurrency, redactor())
    put_value(writer, "status", "running")
    try:
        async with _watching(watch, executor, [one.row for one in planned]):
            with _interruptible(executor):
                await executor.run(planned)
    except BaseException:
        with contextlib.suppress(RecordError):  # if it is that nothing can be written, it is raised already
            put_value(writer, "status", "failed")
        raise
    put_value(writer, "status", executor.stop_reason or "completed")


@contextlib.asynccontextmanager
async def _watching(
    watch: Watch | None, executor: Executor, rows: Sequence[EpisodeRow]
) -> AsyncIterator[None]:
    if watch is None:
        yield
        return
    task = asyncio.ensure_future(watch(executor, rows))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@contextlib.contextmanager
def _interruptible(executor: Executor) -> Any:
    """Ctrl-C, or SIGTERM from a scheduler, stops the run cleanly; a second one ends the process as usual."""
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        release()
        executor.stop("cancelled")

    def release() -> None:
        for number in _STOPS:
            loop.remove_signal_handler(number)

    try:
        for number in _STOPS:
            loop.add_signal_handler(number, interrupt)
    except (NotImplementedError, RuntimeError, ValueError):  # not the main thread: signals are the caller's
        yield
        return
    try:
        yield
    finally:
        release()


@contextlib.asynccontextmanager
async def opened_models(specs: Mapping[str, ModelSpec]) -> AsyncIterator[dict[str, Model]]:
    """The models of a run, opened and found to answer."""
    from worldloom.models.factory import open_model  # noqa: PLC0415  # brings the openai package
    from worldloom.models.probe import probe  # noqa: PLC0415

    async with contextlib.AsyncExitStack() as stack:
        models, gates = {}, Gates()  # models on one server share its limit
        for name, spec in specs.items():
            model = models[name] = open_model(spec, gates=gates)
            stack.push_async_callback(model.aclose)
            found = await probe(model)
            if found.problem is not None:
                raise UsageError(
                    f"model {spec.model!r} does not answer: {found.problem}\n"
                    "  to look closer: worldloom doctor; to serve a model here: worldloom serve"
                )
        yield models


def new_folder(runs_dir: Path) -> Path:
    """The folder of a new run: sorted by time, and never the same twice."""
    return runs_dir / (time.strftime("%Y%m%d-%H%M%S-") + secrets.token_hex(3))
