"""Playing: a plan becomes a record. Starting and resuming a run, on one event loop."""

import asyncio
import contextlib
import secrets
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from worldloom.api.plans.manifest import plan_of
from worldloom.api.plans.plan import Builder, Plan, form_of, text_of
from worldloom.api.plans.pricing import meter_of
from worldloom.api.plans.provenance import current_making, made_with
from worldloom.api.results.attribution import whose
from worldloom.api.results.result import RunResult
from worldloom.core.arguments import whole
from worldloom.core.errors import RecordError, UsageError
from worldloom.core.registry import Registry
from worldloom.models.gates import Gates
from worldloom.models.model import Model
from worldloom.models.spec import ModelSpec
from worldloom.runs.ending import WAITING
from worldloom.runs.executor import Executor, Planned
from worldloom.runs.limits import RunLimits
from worldloom.runs.questions import unheard
from worldloom.runs.redact import redactor
from worldloom.runs.rows import EpisodeRow
from worldloom.runs.store import RunStore, put_value

_STOPS = (signal.SIGINT, signal.SIGTERM)
Watch = Callable[[Executor, Sequence[EpisodeRow]], Awaitable[None]]
"""Runs beside the episodes, to draw progress; it is cancelled when they are over."""


async def start(
    plan: Plan,
    registry: Registry,
    *,
    runs_dir: Path,
    concurrency: int = 8,
    run_limits: RunLimits | None = None,
    watch: Watch | None = None,
) -> RunResult:
    """Play a plan as a new run in a new folder below `runs_dir`.

    Args:
        run_limits: what this call may use in all.

    Raises:
        UsageError: a scenario cannot be played, a model does not answer, or has no price that a limit on cost needs;
            nothing has been written then.
        RecordError: the record cannot be written.
    """
    concurrency = whole("concurrency", concurrency, 1)
    rows = [row for row, _, _ in plan.entries()]
    if not rows:
        raise UsageError("there is nothing to run: no scenario was given")
    # All that can be wrong is found before the first episode begins.
    meter = meter_of(plan, run_limits)
    planned = list(Builder(plan, registry).planned(rows))
    async with opened_models(plan.models) as models:
        ids = {name: model.id for name, model in models.items()}
        manifest = {
            **plan.manifest(),
            "model_ids": ids,
            "judge_form": form_of(plan, registry),
            "made_with": made_with(registry),
        }
        store = RunStore.create(
            new_folder(runs_dir), manifest, rows, [text_of(one) for one in plan.scenarios]
        )
        with store:
            with store.writing() as writer:
                executor = Executor(store, writer, models, concurrency, redactor(), meter=meter)
                await _play(executor, planned, watch)
            return RunResult.of(store)


async def resume(
    folder: Path,
    registry: Registry,
    *,
    concurrency: int = 8,
    accept_changes: bool = False,
    retry_failed: bool = False,
    run_limits: RunLimits | None = None,
    watch: Watch | None = None,
) -> RunResult:
    """Play what a stored run has left: episodes not begun, cut short by a crash, stopped, or answered meanwhile.

    Args:
        accept_changes: go on although code, versions or models are not those of the run. That is recorded, and what was
            begun with others begins anew.
        retry_failed: go on as well with episodes that ended by a fault of the infrastructure, from what failed on.
        run_limits: what this call may use in all, whatever earlier ones used.

    Raises:
        UsageError: there is no such run, it was planned with other digests than now, or was made with something else.
        RecordError: the record cannot be written, or an episode diverges from it.
    """
    concurrency = whole("concurrency", concurrency, 1)
    with RunStore(folder) as store:
        plan = plan_of(store, registry)
        meter = meter_of(plan, run_limits)
        with store.writing() as writer:  # first: what is left to play must not be played by another meanwhile
            unfinished, asleep = left(store, retry_failed=retry_failed)
            if unfinished or store.value("status") not in ("completed", WAITING):
                planned = list(Builder(plan, registry).planned(unfinished))
                async with opened_models(plan.models if unfinished else {}) as models:
                    making = (
                        current_making(store, writer, registry, models, accept_changes) if unfinished else 0
                    )
                    executor = Executor(
                        store, writer, models, concurrency, redactor(), making=making, meter=meter
                    )
                    await _play(executor, planned, watch, asleep)
        return RunResult.of(store)


def left(store: RunStore, *, retry_failed: bool = False) -> tuple[list[EpisodeRow], int]:
    """The episodes with which a resume goes on, and how many wait for a person who has not answered."""
    rows = store.episodes()
    unfinished = [
        row for row in rows if row.status != "ended" or (retry_failed and whose(row)[0] == "infrastructure")
    ]
    asleep = {row.row for row in unfinished if row.status == WAITING and not unheard(store, row)}
    return [row for row in unfinished if row.row not in asleep], len(asleep)


async def _play(executor: Executor, planned: Sequence[Planned], watch: Watch | None, asleep: int = 0) -> None:
    """Play episodes and say in the record what became of the run; `asleep` others wait for a person."""
    writer = executor.writer
    put_value(writer, "status", "running")
    try:
        async with _watching(watch, executor, [one.row for one in planned]):
            with _interruptible(executor):
                await executor.run(planned)
    except BaseException:
        with contextlib.suppress(RecordError):  # if it is that nothing can be written, it is raised already
            put_value(writer, "status", "failed")
        raise
    stopped = executor.stop_reason if executor.unfinished else None  # else it came after the last episode
    put_value(writer, "status", stopped or (WAITING if executor.waiting + asleep else "completed"))


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
