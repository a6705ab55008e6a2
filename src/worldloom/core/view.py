"""View: everything a seat may see, and nothing else.

An agent's prompt is built from a View alone, so what must stay hidden has no way into it. It is read-only all the way
down. A world freezes what it shows once, when it is built: `freeze` hands back what is frozen already.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from worldloom.core.action import ActionSpec, Feedback
from worldloom.core.canonical import Json
from worldloom.core.frozen import freeze


@dataclass(frozen=True, slots=True)
class View:
    """What one seat sees before it acts.

    Attributes:
        task: the request, in the user's words.
        context: open facts such as date and place.
        places: what can be acted on: name -> description lines shown to the seat.
        actions: what can be done now.
        feedback: the answer to the seat's last action; None before the first.
        step: number of actions this seat has taken.
    """

    task: str
    context: Mapping[str, Json]
    places: Mapping[str, str]
    actions: tuple[ActionSpec, ...]
    feedback: Feedback | None = None
    step: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "context", freeze(self.context))
        object.__setattr__(self, "places", freeze(self.places))
