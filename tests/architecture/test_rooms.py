"""Each folder under graphs/ is a room: a leaf that no other room imports, nor anything that rooms share.

A plain module under graphs/ is there for all rooms. Together with the floors this rules out every path from
one room to another, however long.
"""

import pytest


def breaches(names, rooms):
    """Which module under graphs/ imports from which room that is not its own."""
    found = []
    for path, uses in names.items():
        if path.startswith("graphs/"):
            own = path.split("/")[1]
            others = {f"worldloom.graphs.{room}" for room in rooms if room != own}
            used = {".".join(name.split(".")[:3]) for _, name in uses}
            found += [(path, room) for room in sorted(used & others)]
    return found


def test_no_room_is_imported_by_another_or_by_what_they_share(names):
    rooms = {path.split("/")[1] for path in names if path.startswith("graphs/") and path.count("/") > 1}
    assert rooms, "no room was found under graphs/"
    assert breaches(names, rooms) == []


@pytest.mark.parametrize(
    ("path", "code", "found"),
    [
        ("graphs/a/graph.py", "import worldloom.graphs.b.graph", ["worldloom.graphs.b"]),
        ("graphs/a/graph.py", "from worldloom.graphs.b import state", ["worldloom.graphs.b"]),
        ("graphs/a/graph.py", "from worldloom import graphs as g\ng.b.graph.build()", ["worldloom.graphs.b"]),
        ("graphs/node.py", "from worldloom.graphs import a", ["worldloom.graphs.a"]),
        ("graphs/a/graph.py", "from worldloom.graphs import node\nimport worldloom.graphs.a.state", []),
        ("graphs/b/graph.py", "from worldloom.graphs.node import house_node", []),
    ],
)
def test_an_import_between_rooms_is_found(names_in, path, code, found):
    assert [room for _, room in breaches({path: names_in(code)}, {"a", "b"})] == found
