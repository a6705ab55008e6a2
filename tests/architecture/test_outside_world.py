"""Outside the kernel nothing reads clock, entropy or environment, or starts concurrent work: it asks `ctx`.

What does not come through the context is not in the record, and what is not in the record does not replay.
"""

import pytest

OUTSIDE_THE_KERNEL = ("agents/", "worlds/", "memory/", "tools/", "graphs/")
BANNED = (
    "?.create_task",
    "?.ensure_future",
    "?.run_in_executor",
    "asyncio.TaskGroup",
    "asyncio.as_completed",
    "asyncio.create_task",
    "asyncio.ensure_future",
    "asyncio.gather",
    "asyncio.sleep",
    "asyncio.to_thread",
    "asyncio.wait",
    "asyncio.wait_for",
    "concurrent",
    "datetime.date.today",
    "datetime.datetime.now",
    "datetime.datetime.today",
    "datetime.datetime.utcnow",
    "multiprocessing",
    "numpy.random",
    "os.environ",
    "os.environb",
    "os.getenv",
    "os.getrandom",
    "os.urandom",
    "random",
    "secrets",
    "threading",
    "time",
    "uuid",
)
# Types only: whoever holds a generator was handed it by `ctx.rng`.
ALLOWED = (
    "numpy.random.Generator",
    "numpy.random.Philox",
    "numpy.random.SeedSequence",
    "numpy.random.BitGenerator",
)


def banned(uses):
    """The uses that break the rule; naming `numpy.random` on the way to an allowed type does not."""
    allowed_lines = {line for line, name in uses if name.startswith(ALLOWED)}
    return [
        (line, name)
        for line, name in uses
        if any(name == word or name.startswith(f"{word}.") for word in BANNED)
        and not name.startswith(ALLOWED)
        and not (name == "numpy.random" and line in allowed_lines)
    ]


@pytest.mark.parametrize(
    "code",
    [
        "import time",
        "import time as t",
        "from time import monotonic",
        "import random; random.random()",
        "from random import Random",
        "import uuid",
        "import os; os.environ['HOME']",
        "from os import environ as e",
        "import os as system; system.getenv('HOME')",
        "import asyncio; asyncio.gather()",
        "from asyncio import create_task",
        "import asyncio\nasync def f():\n    async with asyncio.TaskGroup() as group:\n        group.create_task(f())",
        "import asyncio; asyncio.get_running_loop().create_task(f())",
        "import datetime; datetime.datetime.now()",
        "from datetime import datetime; datetime.now()",
        "from datetime import date; date.today()",
        "import numpy as np; np.random.rand()",
        "import numpy; numpy.random.default_rng()",
        "from numpy.random import default_rng",
        "from numpy import random",
        "from concurrent.futures import ThreadPoolExecutor",
        "def f():\n    import secrets",
    ],
)
def test_a_door_beside_the_context_is_found(names_in, code):
    assert banned(names_in(code))


@pytest.mark.parametrize(
    "code",
    [
        "import os; os.path.join('a', 'b')",
        "async def f(ctx): return await ctx.now(), ctx.rng('x').random(), await ctx.wall()",
        "from datetime import UTC, datetime; datetime.fromtimestamp(0, UTC)",
        "import numpy as np\ndef f(rng: np.random.Generator): return rng.random()",
        "from numpy.random import Generator",
        "time = 3; random = time; state.time",
    ],
)
def test_what_merely_looks_like_one_is_not(names_in, code):
    assert banned(names_in(code)) == []


def test_outside_the_kernel_everything_comes_through_the_context(names):
    found = {
        path: banned(uses)
        for path, uses in names.items()
        if path.startswith(OUTSIDE_THE_KERNEL) and banned(uses)
    }
    assert found == {}
