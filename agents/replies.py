"""Replies: how an agent gets a reply from a model that it can use: asked for, read, and sent back if it is wrong."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from worldloom.core.errors import Ended, ReplyError
from worldloom.models.model import Completion, Message, Request
from worldloom.runs.context import Context

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """What came of asking.

    Attributes:
        value: what was read; None if no reply could be used.
        completion: the last reply.
        fault: what was wrong with it, in one sentence; empty if nothing was.
    """

    value: T | None
    completion: Completion
    fault: str = ""


async def usable_reply(
    ctx: Context,
    model: str,
    request: Request,
    read: Callable[[Completion], T],
    again: Callable[[str], str],
    *,
    retries: int,
    shown: Callable[[Completion], str],
) -> Reply[T]:
    """Ask a model until its reply can be used, at most `retries` times again.

    Args:
        read: makes something of a reply, or raises `ReplyError`.
        again: what the model is told if that says what was wrong.
        shown: a reply as the model is shown it then.

    Raises:
        Ended: the model refused, where asking again would be pressing; or as `ctx.model`.
        ModelError: as `ctx.model`.
    """
    for _ in range(retries + 1):
        completion = await ctx.model(model, request)
        if completion.finish_reason == "refusal":
            raise Ended("refused", shown(completion))
        try:
            return Reply(read(completion), completion)
        except ReplyError as wrong:
            ctx.usage.unusable(model)
            fault = str(wrong)
            sent_back = (Message.of("assistant", shown(completion)), Message.of("user", again(fault)))
            request = replace(request, messages=(*request.messages, *sent_back))
    return Reply(None, completion, fault)
