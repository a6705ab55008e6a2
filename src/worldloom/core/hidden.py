"""Hidden[T]: what an agent must not see, typed so that it cannot slip into a prompt.

State, rules, rubric, reference paths and what else gives a scenario away is wrapped. Text formatting, JSON
and iteration refuse to work on the wrapper; whoever may look says so with `reveal()`.
"""

from typing import Any, Generic, NoReturn, TypeVar, get_args

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

T_co = TypeVar("T_co", covariant=True)


class Hidden(Generic[T_co]):
    """A value that must be asked for. As a field of a pydantic model it validates what it holds as `T`.

    Equal if the contents are equal. `repr` says `<hidden>`; `str`, `format`, truth and serialisation raise
    `TypeError`, as do `len`, `in` and iteration, which it does not have.
    """

    __slots__ = ("_content",)

    def __init__(self, content: T_co) -> None:
        self._content = content

    def reveal(self) -> T_co:
        """The content, for code that may see it: worlds, scorers, reports; never what builds a prompt."""
        return self._content

    def __eq__(self, other: object) -> bool:
        return self._content == other._content if isinstance(other, Hidden) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._content)

    def __repr__(self) -> str:
        return "<hidden>"

    def __str__(self) -> str:
        raise _refusal("turned into text")

    def __format__(self, spec: str) -> str:
        raise _refusal("turned into text")

    def __bool__(self) -> bool:
        raise _refusal("used as a truth value")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        (inner,) = get_args(source) or (Any,)
        hide = core_schema.no_info_after_validator_function(cls, handler.generate_schema(inner))
        # Not a validator around the inner one: that would leave JSON's rules (a list makes a tuple) for Python's.
        return core_schema.json_or_python_schema(
            json_schema=hide,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(cls), hide]),
            serialization=core_schema.plain_serializer_function_ser_schema(_serialise),
        )


def _serialise(_: object) -> NoReturn:
    raise _refusal("serialised")


def _refusal(what: str) -> TypeError:
    return TypeError(f"a hidden value cannot be {what}: call reveal() where it may be seen")
