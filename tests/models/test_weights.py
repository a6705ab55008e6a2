"""Weights are found, pulled whole or not at all, and never used unchecked. No pip is run here, but a stand-in."""

import contextlib
import hashlib
import shutil
import stat
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from worldloom.core.errors import UsageError
from worldloom.models import weights
from worldloom.models.weights import CATALOGUE, Weights, cache_folder, ensure, find, pull, verify

CONTENT = b"GGUF" + bytes(range(256)) * 40
TINY = Weights(
    name="tiny",
    title="Tiny",
    package="no-such-package",
    version="1.0",
    member="no_such_package/tiny.gguf",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    licence="MIT",
)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for the package index: pip is replaced by a script that copies from it."""
    folder = tmp_path / "index"
    folder.mkdir()
    script = tmp_path / "python"
    script.write_text(
        f"#!{sys.executable}\nimport pathlib, shutil, sys\n"
        "assert sys.argv[1:4] == ['-m', 'pip', 'download'] and '--no-deps' in sys.argv\n"
        "dest = sys.argv[sys.argv.index('--dest') + 1]\n"
        f"wheels = list(pathlib.Path({str(folder)!r}).glob('*.whl'))\n"
        "[shutil.copy(wheel, dest) for wheel in wheels]\n"
        "if not wheels:\n    print('ERROR: No matching distribution found for ' + sys.argv[-1])\n    sys.exit(1)\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(weights.sys, "executable", str(script))
    return folder


def publish(index: Path, content: bytes, member: str = TINY.member) -> None:
    with zipfile.ZipFile(index / "no_such_package-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(member, content)


def test_the_catalogue_pins_what_it_pulls() -> None:
    for name, entry in CATALOGUE.items():
        assert entry.name == name
        assert len(entry.sha256) == 64
        assert entry.requirement == f"{entry.package}=={entry.version}"


def test_what_is_missing_is_pulled_once_and_nothing_else_is_left(index: Path, tmp_path: Path) -> None:
    publish(index, CONTENT)
    cache = tmp_path / "cache"
    assert find(TINY, cache) is None
    told: list[tuple[int, int]] = []
    path = ensure(TINY, cache, lambda done, all_: told.append((done, all_)))
    assert told[-1] == (TINY.size, TINY.size)
    assert path.read_bytes() == CONTENT
    assert verify(TINY, path)
    assert [item.name for item in cache.iterdir()] == ["tiny.gguf"]
    (index / "no_such_package-1.0-py3-none-any.whl").unlink()
    assert ensure(TINY, cache) == path


def test_a_file_of_the_wrong_size_is_pulled_again_with_a_message(
    index: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    publish(index, CONTENT)
    (tmp_path / "tiny.gguf").write_bytes(CONTENT[:-1])
    assert ensure(TINY, tmp_path).read_bytes() == CONTENT
    assert "pulled again" in caplog.text


def test_a_file_of_the_right_size_with_other_bytes_fails_verification(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(CONTENT[:-1] + b"?")
    assert find(TINY, tmp_path) == path
    assert not verify(TINY, path)


@pytest.mark.parametrize("content", [CONTENT[:-1], CONTENT[:-1] + b"?", b""])
def test_other_bytes_than_the_pinned_ones_never_reach_the_cache(
    index: Path, tmp_path: Path, content: bytes
) -> None:
    publish(index, content)
    with pytest.raises(UsageError, match="than the one that is pinned"):
        pull(TINY, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_package_without_the_file_is_refused(index: Path, tmp_path: Path) -> None:
    publish(index, CONTENT, "no_such_package/other.gguf")
    with pytest.raises(UsageError, match=r"does not hold no_such_package/tiny\.gguf"):
        pull(TINY, tmp_path)


def test_a_wheel_that_is_no_wheel_is_refused(index: Path, tmp_path: Path) -> None:
    (index / "no_such_package-1.0-py3-none-any.whl").write_bytes(b"<html>")
    with pytest.raises(UsageError, match="does not hold"):
        pull(TINY, tmp_path)


def test_what_pip_says_when_it_fails_is_passed_on(index: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"No matching distribution found for no-such-package==1\.0"):
        pull(TINY, tmp_path)


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (["WARNING: x", "ERROR: no disk", "hint: y"], "ERROR: no disk"),
        (["error: incomplete-download", "", "× Not enough bytes", "hint: y"], "× Not enough bytes"),
        (["Traceback", "  File x"], "  File x"),
        ([], "it said nothing"),
    ],
)
def test_of_what_pip_says_the_line_that_says_why_is_shown(log: list[str], reason: str) -> None:
    assert weights._reason(log) == reason


def test_a_disk_without_room_is_named_before_anything_is_fetched(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda folder: shutil._ntuple_diskusage(9, 8, 1))  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match=r"are needed on the way.*WORLDLOOM_CACHE"):
        pull(TINY, tmp_path / "cache")


def test_a_damaged_wheel_is_refused_whatever_is_wrong_inside(index: Path, tmp_path: Path) -> None:
    wheel = index / "no_such_package-1.0-py3-none-any.whl"
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA):
        with zipfile.ZipFile(wheel, "w", method) as archive:
            archive.writestr(TINY.member, CONTENT)
        whole = wheel.read_bytes()
        for at in range(0, len(whole), max(1, len(whole) // 100)):
            wheel.write_bytes(whole[:at] + b"\xff" * 9 + whole[at + 9 :])
            with contextlib.suppress(UsageError, OSError):  # `pull` says either as one error
                weights._extract(TINY, wheel, tmp_path / "loose")
                assert (tmp_path / "loose").read_bytes() == CONTENT


def test_without_pip_a_person_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"-m ensurepip.*uv pip install --no-deps no-such-package==1\.0"):
        ensure(TINY, tmp_path)


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="set WORLDLOOM_CACHE to another folder"):
        pull(TINY, tmp_path / "file" / "models")


def test_the_installed_package_is_found_without_being_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "fake_weights"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('not to be imported')")
    (package / "tiny.gguf").write_bytes(CONTENT)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert find(replace(TINY, member="fake_weights/tiny.gguf"), tmp_path) == package / "tiny.gguf"


def test_the_cache_folder_follows_the_environment(tmp_path: Path) -> None:
    assert cache_folder({"WORLDLOOM_CACHE": str(tmp_path)}) == tmp_path / "models"
    if sys.platform == "linux":
        assert cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "worldloom" / "models"
        assert cache_folder({}) == Path.home() / ".cache" / "worldloom" / "models"
