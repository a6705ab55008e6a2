"""What is written as YAML is read as the same value, whatever text it holds."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from worldloom.core.canonical import canonical
from worldloom.core.registry import Registry
from worldloom.core.scenario import parse_scenario
from worldloom.core.suite import library_suite, load_scenarios
from worldloom.core.yamlio import parse, write
from worldloom.core.yamlio.decoding import unrecordable

ODD = st.sampled_from(
    "0o7|0x1F|1e3|off|yes|~|null| a|a |a: b|- x|#c|1_000|12:30|.inf|-.5|+1|2026-07-03|{|[|a\n|\na|a\n\n b|  x\ny|"
    " \n|\t|a\tb\nc|---|--- a\n...\n|%d|é\u2028x\ny|\ufeffa|😀\nb|=x|!t|&a|*a|@|`|'|\"".split("|")
)
TEXT = ODD | st.text(max_size=20) | st.lists(ODD, max_size=3).map("".join)
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXT
    | st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0)
)  # fmt: skip
KEYS = st.sampled_from(["a", "off", "1", "1e3", "null", "a.b", "a: b", "'", "2026-07-03", "é"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)
)


def texts(value):
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in texts(each)]


@settings(max_examples=300, deadline=None)
@given(VALUES)
def test_what_is_written_is_read_as_it_was(value):
    assume(not any(unrecordable(text) for text in texts(value)))
    again = parse(write({"a": value}), "f.yaml").value
    assert canonical(again) == canonical({"a": value})


def test_scenarios_of_the_library_keep_their_digest():
    registry = Registry.discover()
    for one in load_scenarios(library_suite("everyday"), registry):
        assert parse_scenario(write(one.document.value), "f.yaml", registry).digest == one.digest
