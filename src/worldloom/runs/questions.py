"""Questions: what the waiting episodes of a run ask people, and what people have answered.

An answer goes to the one question under whose key it stands, and only if that still asks the same. It is kept at once,
also while the run is being played; the episode hears it when a resume goes on with it.
"""

import contextlib
import sqlite3
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from worldloom.core.canonical import Json, canonical, parse
from worldloom.core.errors import RecordError, UsageError, offer
from worldloom.core.key import follows, place_before, read_key, show_key
from worldloom.core.surrogates import mend
from worldloom.runs.effect import ASK
from worldloom.runs.ending import WAITING
from worldloom.runs.episode import STOPPED
from worldloom.runs.redact import redactor
from worldloom.runs.rows import EpisodeRow
from worldloom.runs.store import RunStore
from worldloom.runs.writer import told


@dataclass(frozen=True, slots=True)
class Question:
    """A question for which an episode waits.

    Attributes:
        episode: its number in the run.
        at: key of the answer to come, in its readable form.
        choices: one of these is the answer; empty for any text.
        answer: given already, and not heard by the episode yet; None if nobody has answered.
    """

    episode: int
    scenario: str
    at: str
    question: str
    choices: tuple[str, ...]
    answer: str | None


def questions(store: RunStore) -> list[Question]:
    """All questions for which episodes wait, in the order of the plan and of their keys."""
    return [
        Question(row.row, row.scenario, show_key(key), asked["question"], tuple(asked["choices"]), answer)
        for row in store.episodes()
        for key, (asked, answer) in _open(store, row).items()
    ]


def unheard(store: RunStore, row: EpisodeRow) -> bool:
    """Whether a person has answered one of the questions for which an episode waits."""
    return any(answer is not None for _, answer in _open(store, row).values())


def put_answer(store: RunStore, question: Question, answer: str) -> None:
    """Keep a person's answer; one that was given before and not heard yet is replaced.

    Raises:
        UsageError: it is none of the choices, or the episode does not wait for it any more.
        RecordError: it cannot be written.
    """
    if question.choices and answer not in question.choices:
        raise UsageError(f"{answer!r} is no answer to {question.question!r}{offer(answer, question.choices)}")
    said = str(parse(redactor()(canonical(mend(answer)))))
    asked: dict[str, Json] = {"question": question.question, "choices": list(question.choices)}
    key, digest = read_key(question.at), sha256(canonical(asked)).hexdigest()
    try:
        with contextlib.closing(sqlite3.connect(store.path, timeout=30, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            kept = connection.execute(_KEEP, (question.episode, key, digest, said, STOPPED, WAITING)).rowcount
            connection.execute("COMMIT")
    except sqlite3.Error as failure:
        raise RecordError(f"cannot keep the answer in {store.path}: {told(failure)}") from failure
    if not kept:
        raise UsageError(f"episode {question.episode} does not wait for an answer at {question.at} any more")


_KEEP = """\
INSERT OR REPLACE INTO answers SELECT ?1, ?2, ?3, ?4
WHERE EXISTS (SELECT 1 FROM events WHERE episode = ?1 AND scoring = '' AND key = ?2 AND type = ?5)
AND EXISTS (SELECT 1 FROM episodes WHERE row = ?1 AND status = ?6)"""


def _open(store: RunStore, row: EpisodeRow) -> dict[bytes, tuple[dict[str, Any], str | None]]:
    """Key of the answer to come -> what is asked, and what has been answered to just that.

    What comes after a question that is open, asks nothing yet: it may never be asked.
    """
    if row.status != WAITING:
        return {}
    events, answers = store.events(row.row), store.answers(row.row)
    stops = [
        key
        for key, event in events.items()
        if event.type == STOPPED and event.body["at"] == ASK and event.body["reason"] == WAITING
    ]
    found = {}
    for key in stops:
        if not any(follows(key, earlier) for earlier in stops):
            asked = events[place_before(key)].body
            digest, answer = answers.get(key, ("", ""))
            found[key] = (asked, answer if digest == sha256(canonical(asked)).hexdigest() else None)
    return found
