"""A model that must not be asked: it stands, in a replay, for one whose answers are all in the record."""

from worldloom.models.model import Completion, Request


class SilentModel:
    """Has the identity of a model and opens nothing."""

    def __init__(self, id: str) -> None:
        self.id = id

    async def complete(self, request: Request) -> Completion:
        """See `Model.complete`; that it is called is a fault of the replay."""
        raise AssertionError("a model was asked in a replay")

    async def context_length(self) -> int | None:
        """See `Model.context_length`."""
        return None

    async def aclose(self) -> None:
        """Nothing to free."""
