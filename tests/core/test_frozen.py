"""Read-only JSON refuses every change and is JSON in all other ways."""

import copy
import json
import pickle

import pytest
from pydantic import JsonValue, TypeAdapter

from worldloom.core.canonical import canonical
from worldloom.core.frozen import FrozenDict, FrozenList, freeze, thaw

VALUE = {"a": [1, {"b": [2.5]}], "c": {"d": None}, "e": "x"}


@pytest.mark.parametrize("plain", [{"a": [1]}, [1, [2]]])
def test_every_method_that_changes_a_dict_or_list_is_refused(plain):
    arguments = {
        "__setitem__": (0, 1), "__delitem__": (0,), "__ior__": ({},), "__iadd__": ([],), "__imul__": (2,),
        "append": (1,), "extend": ([],), "insert": (0, 1), "remove": (1,), "setdefault": ("x", 1), "update": ({},),
        "pop": (), "popitem": (), "clear": (), "sort": (), "reverse": (),
    }  # fmt: skip
    reading = set(dir(tuple if isinstance(plain, list) else type(freeze({}).items())))
    reading |= {"copy", "fromkeys", "get", "items", "keys", "values", "__reversed__", "__or__", "__ror__"}
    changing = [name for name in dir(plain) if name in arguments]
    unknown = set(dir(plain)) - reading - set(arguments) - {"__getitem__", "__init__", "__class_getitem__"}
    assert unknown == set(), "a method that might change it"
    for name in changing:
        frozen = freeze(plain)
        with pytest.raises(TypeError, match="read-only"):
            getattr(frozen, name)(*arguments[name])
        assert frozen == plain


def test_it_is_read_only_all_the_way_down_and_is_made_once():
    frozen = freeze(VALUE)
    assert type(frozen["a"]) is FrozenList and type(frozen["a"][1]) is FrozenDict
    assert type(frozen["a"][1]["b"]) is FrozenList and type(frozen["c"]) is FrozenDict
    assert freeze(frozen) is frozen and VALUE["a"] is not frozen["a"]


def test_it_is_json_for_everybody():
    frozen = freeze(VALUE)
    assert frozen == VALUE and canonical(frozen) == canonical(VALUE)
    assert json.dumps(frozen, indent=1) == json.dumps(VALUE, indent=1)
    assert TypeAdapter(JsonValue).validate_python(frozen) == VALUE
    assert TypeAdapter(JsonValue).dump_json(frozen) == TypeAdapter(JsonValue).dump_json(VALUE)


@pytest.mark.parametrize("copied", [thaw, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_a_copy_is_an_ordinary_value(copied):
    made = copied(freeze(VALUE))
    made["a"][1]["b"].append(3)
    made["c"]["d"] = 1
    assert type(made) is dict and VALUE["a"][1]["b"] == [2.5]
