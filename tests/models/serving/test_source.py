"""A model is found in a folder, in the hub's cache on this machine, else at the hub; what is missing is said."""

import json
from types import SimpleNamespace

import pytest

from worldloom.core.errors import UsageError
from worldloom.models.serving.source import Source, shape, source_of

CONFIG = {"model_type": "t", "hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 4}


def model(folder, **files):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    for name, size in (files or {"model": 10}).items():
        (folder / f"{name}.safetensors").write_bytes(b"x" * size)
    return folder


def test_a_folder_is_served_under_its_name_or_another(tmp_path):
    folder = model(tmp_path / "mine")
    assert source_of(str(folder)) == Source("mine", str(folder))
    assert source_of(str(folder), "other") == Source("other", str(folder))
    assert source_of("Qwen/Qwen3-8B") == Source("Qwen/Qwen3-8B", "Qwen/Qwen3-8B")


@pytest.mark.parametrize("name", ["mine", "/no/folder", "./x/y", "a/b/c", "a/", "~x/y"])
def test_what_is_no_folder_and_no_name_at_the_hub_is_refused(name):
    with pytest.raises(UsageError, match="OWNER/NAME"):
        source_of(name)


def test_a_gguf_file_is_refused_with_what_can_be_done(tmp_path):
    file = tmp_path / "m.gguf"
    file.write_bytes(b"GGUF")
    with pytest.raises(UsageError, match=r"docs/serving\.md.*embedded:") as caught:
        source_of(str(file))
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("files", "stored"),
    [({"a": 10, "b": 5}, 15), ({"model": 10, "consolidated": 9}, 10), ({"consolidated": 9}, 9)],
)
def test_weights_are_counted_once(tmp_path, files, stored):
    assert shape(source_of(str(model(tmp_path / "m", **files)))).weights == stored


def test_the_index_says_the_size_where_there_is_one(tmp_path):
    folder = model(tmp_path / "m")
    (folder / "model.safetensors.index.json").write_text('{"metadata": {"total_size": 1234}}')
    assert shape(source_of(str(folder))).weights == 1234


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / "config.json").unlink(), "config.json: there is no such file"),
        (lambda folder: (folder / "config.json").write_text("{"), "is no JSON that can be used"),
        (lambda folder: (folder / "config.json").write_text("[]"), "holds a list; allowed: a JSON object"),
        (lambda folder: (folder / "model.safetensors").unlink(), "holds no weights"),
    ],
)
def test_a_folder_that_is_no_model_is_refused_by_what_it_lacks(tmp_path, spoil, said):
    folder = model(tmp_path / "m")
    spoil(folder)
    with pytest.raises(UsageError, match=said):
        shape(source_of(str(folder)))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("[" * 100_000, "holds too many levels inside one another"),
        ('{"a":' * 100_000, "holds too many levels inside one another"),
        ('{"hidden_size": ' + "9" * 5000 + "}", "a number of 5,000 digits; allowed: at most 1,000"),
        ('{"hidden_size": 1' + "0" * 400 + "}", "num_attention_heads is nothing"),
        ("\xff", "is no JSON that can be used"),
    ],
)
def test_a_config_that_python_cannot_read_is_refused_by_name(tmp_path, config, said):
    folder = model(tmp_path / "m")
    (folder / "config.json").write_bytes(config.encode("latin-1"))
    with pytest.raises(UsageError, match=said) as refused:
        shape(source_of(str(folder)))
    assert str(folder / "config.json") in str(refused.value)


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ("[1]", ".json holds a list; allowed: a JSON object"),
        ('{"metadata": [1]}', ": metadata is a list; allowed: a mapping with total_size"),
        *(
            (
                f'{{"metadata": {{"total_size": {size}}}}}',
                rf": metadata\.total_size is {said}; allowed: a whole .*",
            )
            for size, said in [
                ("-5", "the number -5"),
                ("true", "the truth value true"),
                ("1.5", "the number 1.5"),
                ("1e999", "the number Infinity"),
                ("NaN", "the number NaN"),
                ("1" + "0" * 400, "the number 10+…"),
                ('"much"', 'the text "much"'),
                ("{}", "a mapping"),
            ]
        ),
    ],
)
def test_an_index_that_cannot_be_is_refused_by_name_and_key(tmp_path, index, said):
    folder = model(tmp_path / "m")
    file = folder / "model.safetensors.index.json"
    file.write_text(index)
    with pytest.raises(UsageError, match=said) as refused:
        shape(source_of(str(folder)))
    assert str(file) in str(refused.value)


def test_an_index_that_says_no_size_leaves_it_to_the_files_and_only_files_count(tmp_path):
    folder = model(tmp_path / "m", a=10)
    (folder / "b.safetensors").mkdir()
    (folder / "c.safetensors").symlink_to("nowhere")
    for metadata in ("null", "{}", '{"total_size": null}'):
        (folder / "model.safetensors.index.json").write_text(f'{{"metadata": {metadata}}}')
        assert shape(source_of(str(folder))).weights == 10


@pytest.mark.parametrize("variable", ["HF_HUB_CACHE", "HF_HOME"])
def test_the_hubs_cache_on_this_machine_is_read_first(tmp_path, variable):
    hub = tmp_path / "hub"
    stored = hub / "models--o--m"
    model(stored / "snapshots" / "abc", model=77)
    (stored / "refs").mkdir()
    (stored / "refs" / "main").write_text("abc\n")
    environ = {variable: str(hub if variable == "HF_HUB_CACHE" else tmp_path)}
    assert shape(source_of("o/m"), environ).weights == 77


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """The hub's own package, its two calls answered from here."""
    package = pytest.importorskip("huggingface_hub")
    asked = []

    class Api:
        def model_info(self, name, files_metadata):
            asked.append((name, files_metadata))
            sizes = {"a.safetensors": 30, "b.safetensors": 12, "original/c.safetensors": 99, "d.bin": 99}
            return SimpleNamespace(
                siblings=[SimpleNamespace(rfilename=name, size=size) for name, size in sizes.items()]
            )

    monkeypatch.setattr(package, "HfApi", Api)
    monkeypatch.setattr(package, "hf_hub_download", lambda name, file: str(model(tmp_path / "got") / file))
    return SimpleNamespace(asked=asked, api=Api)


def test_the_hub_is_asked_for_sizes_and_config_only(hub, tmp_path):
    assert shape(source_of("o/m"), {"HF_HOME": str(tmp_path)}).weights == 42
    assert hub.asked == [("o/m", True)]


def test_a_hub_that_does_not_answer_is_an_error_that_says_where_was_looked(hub, tmp_path, monkeypatch):
    def fail(self, name, files_metadata):
        raise ConnectionError("offline mode is enabled\nmore")

    monkeypatch.setattr(hub.api, "model_info", fail)
    with pytest.raises(UsageError, match=r"it is not in the hub's cache .*: offline mode is enabled$"):
        shape(source_of("o/m"), {"HF_HOME": str(tmp_path)})
