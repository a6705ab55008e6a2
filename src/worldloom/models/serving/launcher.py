"""Launcher: a small program that starts a server and outlives whoever asked for it just long enough to end it.

    python launcher.py GRACE_S COMMAND ...

vLLM spawns an engine and workers that survive a `kill -9` of their parent and keep the memory. So the launcher holds
a pipe as its stdin whose other end only worldloom has: when worldloom dies, however it dies, the pipe closes. It
adopts whatever the server leaves behind (PR_SET_CHILD_SUBREAPER), and ends with the server's exit code only after
the last of its descendants is gone. If the launcher itself is killed, the server gets SIGTERM (PR_SET_PDEATHSIG).
It is run as a file and imports the standard library only. Without /proc (macOS) it knows its process group only.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time

_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36
_LOOK_S = 0.05


def descendants(root: int) -> list[int]:
    """Processes below one, zombies included: they may still hold memory; none where there is no /proc."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else []:
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found, left = [], [root]
    while left:
        below = children.get(left.pop(), [])
        found += below
        left += below
    return found


def main(grace_s: float, command: list[str]) -> int:
    """Run the command until it ends, stdin closes or SIGTERM comes; returns its exit code."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None) if sys.platform == "linux" else None
    if prctl is not None:
        prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, lambda _number, _frame: None)

    def in_the_child() -> None:
        if prctl is not None:
            prctl(_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)

    try:
        # No threads run here, so code between fork and exec is safe.
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=in_the_child)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror or error}\n")
        return 127
    code = _watch(server, woken)
    _end_all(server, grace_s)
    code = server.wait() if code is None else code
    return code if code >= 0 else 128 - code


def _watch(server: "subprocess.Popen[bytes]", woken: int) -> int | None:
    """Wait for the end of the server, of stdin, or for a signal; returns the exit code in the first case."""
    while True:
        ready, _, _ = select.select([0, woken], [], [])
        signals = os.read(woken, 512) if woken in ready else b""
        code = server.poll()
        if code is not None:
            return code
        if 0 in ready or signal.SIGTERM in signals or signal.SIGINT in signals:
            return None


def _end_all(server: "subprocess.Popen[bytes]", grace_s: float) -> None:
    """Ask the server to end, then kill all that is left of it, also what it has orphaned."""
    if server.poll() is None:
        server.terminate()
    me, deadline = os.getpid(), time.monotonic() + grace_s
    asked = False
    while left := descendants(me):
        if server.poll() is not None:  # it is gone, and what it has left behind has become ours
            if not asked:
                asked = True
                _signal(left, signal.SIGTERM)
            _reap()
        if time.monotonic() > deadline:
            _signal(left, signal.SIGKILL)
        time.sleep(_LOOK_S)
    if not os.path.isdir("/proc/self"):
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(grace_s)
        os.killpg(0, signal.SIGKILL)


def _signal(processes: list[int], number: int) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


if __name__ == "__main__":
    raise SystemExit(main(float(sys.argv[1]), sys.argv[2:]))
