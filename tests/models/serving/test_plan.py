"""A plan is arithmetic: the bytes are those that the config means, and what fits is what there is room for."""

import pytest

from worldloom.core.errors import UsageError
from worldloom.models.serving.machine import GIB, Gpu, Machine
from worldloom.models.serving.plan import Wish, plan, sequences
from worldloom.models.serving.shape import shape_of

# Qwen3-8B, as published.
QWEN3_8B = {
    "model_type": "qwen3",
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "max_position_embeddings": 40960,
    "vocab_size": 151936,
    "torch_dtype": "bfloat16",
}
SIZE = 16_381_470_720
SMALL = {"hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 4, "vocab_size": 100}


def gpus(number, gib=80, free=1.0):
    return tuple(Gpu("A100", gib * GIB, int(gib * GIB * free)) for _ in range(number))


def shape(stored=1000, **config):
    return shape_of({**SMALL, **config}, stored, "config.json")


@pytest.mark.parametrize(
    ("config", "tokens", "size"),
    [
        pytest.param({}, 10, 4 * 2 * 8 * 8 * 2 * 10, id="every head has its own keys"),
        pytest.param({"num_key_value_heads": 2}, 10, 4 * 2 * 2 * 8 * 2 * 10, id="grouped queries"),
        pytest.param({"num_key_value_heads": 2, "head_dim": 16}, 1, 4 * 2 * 2 * 16 * 2, id="wider heads"),
        pytest.param({"kv_lora_rank": 512, "qk_rope_head_dim": 64}, 3, 4 * 576 * 2 * 3, id="latent"),
        pytest.param({"sliding_window": 5}, 100, 4 * 256 * 5, id="all layers slide"),
        pytest.param(
            {"sliding_window": 5, "use_sliding_window": False}, 100, 4 * 256 * 100, id="switched off"
        ),
        pytest.param(
            {"sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"] * 2},
            100,
            2 * 256 * 5 + 2 * 256 * 100,
            id="every other layer slides",
        ),
        pytest.param(
            {"sliding_window": 5, "sliding_window_pattern": 4},
            100,
            3 * 256 * 5 + 256 * 100,
            id="three of four slide",
        ),
        pytest.param(
            {"layer_types": ["linear_attention"] * 3 + ["full_attention"]},
            100,
            256 * 100,
            id="linear attention",
        ),
        pytest.param({"full_attention_interval": 2}, 100, 2 * 256 * 100, id="every second layer attends"),
        pytest.param(
            {"attention_chunk_size": 7, "layer_types": ["chunked_attention"] * 3 + ["new_attention"]},
            100,
            3 * 256 * 7 + 256 * 100,
            id="chunks, and a kind that nobody knows",
        ),
        pytest.param(
            {"sliding_window": 5, "use_sliding_window": True, "max_window_layers": 3},
            100,
            256 * 305,
            id="late",
        ),
    ],
)
def test_the_cache_is_as_large_as_the_attention_of_the_config_makes_it(config, tokens, size):
    assert shape(**config).kv_bytes(tokens) == size


def test_heads_are_split_over_gpus_as_far_as_there_are_any_and_latent_ones_never():
    assert shape(num_key_value_heads=2).kv_bytes(10, 2) == shape(num_key_value_heads=2).kv_bytes(10) // 2
    assert shape(num_key_value_heads=2).kv_bytes(10, 8) == shape(num_key_value_heads=2).kv_bytes(10) // 2
    latent = shape(kv_lora_rank=512)
    assert latent.kv_bytes(10, 4) == latent.kv_bytes(10)


@pytest.mark.parametrize(
    ("config", "loaded"),
    [
        ({"torch_dtype": "bfloat16"}, 1000),
        ({"dtype": "float32"}, 500),
        ({"dtype": "float32", "quantization_config": {"bits": 4}}, 1000),
    ],
)
def test_weights_are_as_large_as_on_disk_and_float32_is_halved(config, loaded):
    assert shape(**config).weights == loaded


def test_the_text_part_of_a_model_that_also_sees_is_planned():
    seeing = shape_of({"model_type": "x_vl", "text_config": SMALL}, 1, "config.json")
    assert (seeing.model_type, seeing.kv_bytes(1)) == ("x_vl", shape().kv_bytes(1))


NUMBERS = (
    "num_attention_heads",
    "hidden_size",
    "num_hidden_layers",
    "num_key_value_heads",
    "head_dim",
    "kv_lora_rank",
    "sliding_window",
    "full_attention_interval",
    "vocab_size",
    "max_position_embeddings",
    "intermediate_size",
    "num_experts_per_tok",
)
NO_NUMBERS = (-1, 2.5, True, "8", [8], float("inf"), float("nan"), 10**400, 2 * 10**9)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"num_attention_heads": None}, "num_attention_heads is nothing"),
        (
            {"num_attention_heads": 0},
            "num_attention_heads is the number 0; allowed: a whole number from 1 to",
        ),
        (
            {"num_attention_heads": 65},
            "hidden_size is 64; allowed: at least num_attention_heads, which is 65",
        ),
        ({"text_config": [1]}, "text_config is a list; allowed: a mapping"),
        ({"model_type": {"a": 1}}, "model_type is a mapping; allowed: text"),
        *(({"layer_types": value}, "layer_types is ") for value in (7, "x", [7], ["x"] * 10_001)),
        *(({key: value}, f"{key} is .*; allowed: a whole number") for key in NUMBERS for value in NO_NUMBERS),
    ],
)
def test_a_config_that_cannot_be_is_refused_with_its_place_and_key(config, said):
    with pytest.raises(
        UsageError, match=rf"config\.json is no config of a language model .*: {said}"
    ) as refused:
        shape(**config)
    assert len(str(refused.value)) < 250


def test_a_whole_number_may_be_written_with_a_point():
    assert shape(hidden_size=64.0) == shape()


def test_an_8b_model_fits_on_one_large_gpu_with_all_of_its_context():
    qwen = shape_of(QWEN3_8B, SIZE, "config.json")
    assert qwen.kv_bytes(1) == 147_456
    made = plan(qwen, Machine(0, gpus(2)))
    assert (made.fits, made.split, made.context, made.used) == (True, 1, 40960, 0.9)
    assert made.weights + made.computing + made.cache == made.has == int(72 * GIB)
    assert 75 < sequences(made, qwen, 4096) < 100


def test_a_model_is_split_over_as_few_gpus_as_do():
    large = shape_of(QWEN3_8B, 9 * SIZE, "config.json")
    made = plan(large, Machine(0, gpus(8)))
    assert (made.fits, made.split) == (True, 2)
    alone = plan(large, Machine(0, gpus(1)))
    assert (alone.fits, alone.enough, alone.context) == (False, 2, 0)
    assert alone.needs > alone.has


def test_what_others_use_of_a_gpu_is_left_to_them():
    made = plan(shape_of(QWEN3_8B, SIZE, "config.json"), Machine(0, gpus(1, free=0.6)))
    assert 0.57 <= made.used <= 0.58
    assert made.fits


def test_servers_that_share_a_machine_share_its_memory():
    qwen = shape_of(QWEN3_8B, SIZE, "config.json")
    assert plan(qwen, Machine(0, gpus(1)), Wish(sharing=3)).used == 0.3
    on_cpu = plan(qwen, Machine(100 * GIB), Wish(sharing=2))
    assert on_cpu.has == 45 * GIB


def test_a_context_that_does_not_fit_is_refused_and_the_one_that_does_is_named():
    qwen = shape_of(QWEN3_8B, SIZE, "config.json")
    made = plan(qwen, Machine(0, gpus(1, gib=24)), Wish(context=40960))
    assert not made.fits
    assert 2048 < made.context < 40960
    assert plan(qwen, Machine(0, gpus(1, gib=24)), Wish(context=made.context)).fits
    assert not plan(qwen, Machine(0, gpus(1, gib=24)), Wish(context=made.context + 1)).fits


def test_a_context_beyond_what_the_model_was_made_for_does_not_fit():
    made = plan(shape_of(QWEN3_8B, SIZE, "config.json"), Machine(0, gpus(8)), Wish(context=50_000))
    assert (made.fits, made.context, made.made_for) == (False, 40960, 40960)


def test_on_a_cpu_the_cache_is_whole_gib_and_the_context_is_modest():
    made = plan(shape_of(QWEN3_8B, SIZE, "config.json"), Machine(64 * GIB, gpus(1)), cpu=True)
    assert (made.device, made.fits, made.context, made.cache) == ("cpu", True, 8192, 9 * GIB)
    tight = plan(shape_of(QWEN3_8B, SIZE, "config.json"), Machine(23 * GIB))
    assert (tight.fits, tight.cache) == (True, GIB)
    assert 2048 <= tight.context < 8192
    assert not plan(shape_of(QWEN3_8B, SIZE, "config.json"), Machine(16 * GIB)).fits
