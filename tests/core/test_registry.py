"""Rooms are found by folder, entry point and project; listing them imports nothing of them."""

import subprocess
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint

import pytest

from worldloom.core import registry as registry_module
from worldloom.core.errors import DocumentError, UsageError
from worldloom.core.project import Project
from worldloom.core.registry import Registry, Room

CARD = "role: agent\nname: {name}\nsummary: A room for tests.\nfactory: {factory}\n"


def room(role="agent", name="x", kind=None, place="here", **more):
    values = {"factory": "m:f", "body": None, "scorer": None, "extras": (), "package": None} | more
    return Room(role=role, name=name, summary="s", kind=kind, place=place, **values)


def folder(tmp_path, name, factory=".code:build", code="def build():\n    return 'built'\n"):
    place = tmp_path / name
    place.mkdir()
    (place / "room.yaml").write_text(CARD.format(name=name, factory=factory))
    (place / "code.py").write_text(code)
    return place


def project(tmp_path, *rooms):
    return Project(tmp_path / "worldloom.yaml", {}, rooms)


def test_the_rooms_of_the_house_are_found_without_importing_them():
    code = (
        "import sys\n"
        "from worldloom.core.registry import Registry\n"
        "rooms = Registry.discover().rooms()\n"
        "assert any(room.role == 'world' and room.name == 'aaw' for room in rooms), rooms\n"
        "loaded = {name.split('.')[0] for name in sys.modules} | set(sys.modules)\n"
        "assert not loaded & {'worldloom.worlds.aaw', 'langgraph', 'numpy', 'torch', 'litellm'}, loaded\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_room_is_imported_when_it_is_used(tmp_path):
    folder(tmp_path, "mine")
    found = Registry.discover(project(tmp_path, "mine")).get("agent", "mine")
    assert found.load()() == "built"


def test_a_plain_folder_may_import_its_own_modules(tmp_path):
    place = folder(tmp_path, "mine", code="from .part import build\n")
    (place / "part.py").write_text("def build():\n    return 'from a part'\n")
    assert Registry.discover(project(tmp_path, "mine")).get("agent", "mine").load()() == "from a part"


def test_two_folders_with_modules_of_one_name_do_not_mix(tmp_path):
    folder(tmp_path, "one", code="def build():\n    return 1\n")
    folder(tmp_path, "two", code="def build():\n    return 2\n")
    rooms = Registry.discover(project(tmp_path, "one", "two"))
    assert (rooms.get("agent", "one").load()(), rooms.get("agent", "two").load()()) == (1, 2)


def test_a_package_is_a_room_without_being_imported(tmp_path, monkeypatch):
    place = folder(tmp_path, "packaged_room")
    (place / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    found = Registry.discover(project(tmp_path / "elsewhere", "packaged_room")).get("agent", "packaged_room")
    assert found.package == "packaged_room"
    with pytest.raises(RuntimeError, match="imported"):
        found.load()


def test_entry_points_name_packages(tmp_path, monkeypatch):
    place = folder(tmp_path, "entered_room")
    (place / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("entered", "entered_room", "worldloom.rooms")
    monkeypatch.setattr(
        registry_module, "entry_points", lambda group: [point] if group == "worldloom.rooms" else []
    )
    assert Registry.discover().get("agent", "entered_room").load()() == "built"


def test_an_entry_that_leads_nowhere_says_who_named_it(tmp_path):
    with pytest.raises(
        UsageError, match=r"worldloom\.yaml: rooms: 'nowhere' is neither a folder .* nor a package"
    ):
        Registry.discover(project(tmp_path, "nowhere"))


def test_two_rooms_of_one_name_are_told_with_both_places(tmp_path):
    folder(tmp_path, "one")
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "room.yaml").write_text(CARD.format(name="one", factory="m:f"))
    with pytest.raises(UsageError) as caught:
        Registry.discover(project(tmp_path, "one", "two"))
    assert str(tmp_path / "one" / "room.yaml") in str(caught.value)
    assert str(tmp_path / "two" / "room.yaml") in str(caught.value)


def test_one_name_may_have_several_roles():
    assert len(Registry([room("agent"), room("graph", kind="k")]).rooms()) == 2


def test_two_worlds_cannot_define_one_kind():
    with pytest.raises(UsageError, match=r"two worlds define the kind 'k': here and there"):
        Registry([room("world", "a", "k"), room("world", "b", "k", place="there")])


def test_an_unknown_name_is_told_with_the_list_and_the_nearest():
    rooms = Registry([room(name="random"), room(name="literal"), room("world", "market", "market")])
    with pytest.raises(
        UsageError, match=r"no agent 'radnom', did you mean 'random'\?\n  allowed: literal, random"
    ):
        rooms.get("agent", "radnom")
    with pytest.raises(UsageError, match=r"no kind 'markt', did you mean 'market'\?"):
        rooms.world_of("markt")
    with pytest.raises(UsageError, match="none is there yet"):
        rooms.get("graph", "x")


def test_the_graph_of_a_kind_is_the_one_called_like_it_or_the_only_one():
    only, named, other = room("graph", "solo", "a"), room("graph", "b", "b"), room("graph", "c", "b")
    rooms = Registry([only, named, other, room("graph", "d", "e"), room("graph", "f", "e")])
    assert rooms.graph_of("a") is only
    assert rooms.graph_of("b") is named
    with pytest.raises(UsageError, match="several graphs play the kind 'e'"):
        rooms.graph_of("e")
    with pytest.raises(UsageError, match="no graph plays the kind 'z'"):
        rooms.graph_of("z")


@pytest.mark.parametrize(
    ("card", "line", "said"),
    [
        ("role: wrld\nname: x\nsummary: s\nfactory: m:f\n", 1, 'the text "wrld"'),
        ("role: world\nname: x\nsummary: s\nfactory: m:f\nkind: x\n", 1, "`body` is missing"),
        ("role: graph\nname: x\nsummary: s\nfactory: m:f\n", 1, "`kind` is missing"),
        ("role: agent\nname: x\nsummary: s\nfactory: m:f\nbody: m:B\n", 5, "the key 'body'"),
        ("role: agent\nname: x\nsummary: s\nfactory: m.f\n", 4, "the text 'm.f'"),
        ("role: agent\nname: x\nsummary: s\nfactory: ..m:f\n", 4, "the text '..m:f'"),
        ("role: agent\nname: x\nsummry: s\nfactory: m:f\n", 3, "unknown key 'summry'"),
        ("role: agent\nname: x\nsummary: s\nfactory: m:f\nview: m:v\n", 5, "the key 'view'"),
    ],
)
def test_a_faulty_card_is_told_with_its_place(tmp_path, card, line, said):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "room.yaml").write_text(card)
    with pytest.raises(DocumentError) as caught:
        Registry.discover(project(tmp_path, "x"))
    (problem,) = caught.value.problems
    assert problem.line == line
    assert problem.found == said


def test_what_cannot_be_imported_is_told_with_what_it_needs():
    broken = room(name="x", factory="no_such_module_at_all:f", extras=("video",))
    with pytest.raises(UsageError, match=r"cannot be imported: No module named .*worldloom\[video\]"):
        broken.load()
    with pytest.raises(UsageError, match=r"has no 'dumbs', did you mean 'dumps'\?"):
        replace(broken, factory="json:dumbs").load()
    with pytest.raises(UsageError, match="has no scorer"):
        broken.load("scorer")
