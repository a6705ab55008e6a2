"""Read-only JSON: what is handed to a seat is shared between its episodes, so nobody may change it.

Mappings and lists become kinds of `dict` and `list` whose changing methods refuse, so `json.dumps`, pydantic and
`isinstance(value, dict)` take them as they are (`MappingProxyType` and tuples fail all three). `thaw` and every copy
give ordinary ones. This guards against slips; code that goes round it with `dict.update(view.context, …)` finds that
it has changed a copy which no world reads.
"""

from collections.abc import Mapping
from typing import Any, NoReturn


def _refuse(self: object, *_: object, **__: object) -> NoReturn:
    raise TypeError(
        "this value is read-only, since it is shared; change a copy: worldloom.core.frozen.thaw(…)"
    )


class FrozenDict(dict[str, Any]):
    """A mapping that cannot be changed."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        return dict, (dict(self),)


class FrozenList(list[Any]):
    """A list that cannot be changed."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> tuple[type, tuple[list[Any]]]:
        return list, (list(self),)


def freeze(value: Any) -> Any:
    """A read-only copy of a JSON value, all the way down; one that is read-only already is handed back."""
    if isinstance(value, FrozenDict | FrozenList):
        return value
    if isinstance(value, Mapping):
        return FrozenDict({key: freeze(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return FrozenList([freeze(item) for item in value])
    return value


def thaw(value: Any) -> Any:
    """An ordinary copy of a JSON value, all the way down."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [thaw(item) for item in value]
    return value
