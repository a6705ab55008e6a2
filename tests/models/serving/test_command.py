"""The command line of vLLM is a pure function of model, family, plan and installation; what is passed through wins."""

import json
from pathlib import Path

import pytest

from worldloom.models.serving.command import launch, options, wish_of
from worldloom.models.serving.families import family
from worldloom.models.serving.installation import Installation
from worldloom.models.serving.machine import GIB, Gpu, Machine
from worldloom.models.serving.plan import Wish, plan
from worldloom.models.serving.shape import shape_of
from worldloom.models.serving.source import Source

SHAPE = shape_of(
    {"hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 32768},
    1000,
    "x",
)
ONE = Machine(64 * GIB, (Gpu("A100", 80 * GIB, 80 * GIB),))
QWEN = Source("Qwen/Qwen3-8B", "Qwen/Qwen3-8B")
GPU = Installation(Path("/v/bin/vllm"), Path("/v/bin/python"), "0.33.0")
CPU = Installation(Path("/v/bin/vllm"), Path("/v/bin/python"), "0.32.0", cpu=True, script=False)


def started(*passed, source=QWEN, vllm=GPU, machine=ONE, sharing=1):
    fit = plan(SHAPE, machine, wish_of(passed, sharing), cpu=vllm.cpu)
    return launch(source, fit, vllm, 8000, passed)


def test_on_a_gpu_all_flags_are_there():
    found = started()
    structured = '{"backend": "guidance", "disable_any_whitespace": true}'
    assert found.argv == (
        *("/v/bin/vllm", "serve", "Qwen/Qwen3-8B", "--served-model-name", "Qwen/Qwen3-8B"),
        *("--host", "127.0.0.1", "--port", "8000", "--enable-prefix-caching"),
        *("--structured-outputs-config", structured),
        *("--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--reasoning-parser", "qwen3"),
        *("--max-model-len", "32768", "--gpu-memory-utilization", "0.90"),
    )
    assert json.loads(structured)
    assert found.environ == {"VLLM_NO_USAGE_STATS": "1"}
    assert (found.model, found.base_url) == ("hosted_vllm/Qwen/Qwen3-8B", "http://127.0.0.1:8000/v1")


def test_on_a_cpu_the_module_is_started_and_no_prompt_is_cut_into_chunks():
    found = started(vllm=CPU)
    assert found.argv[:5] == (
        "/v/bin/python",
        "-m",
        "vllm.entrypoints.openai.api_server",
        "--model",
        "Qwen/Qwen3-8B",
    )
    assert " --max-model-len 8192 --no-enable-chunked-prefill --max-num-batched-tokens 8192" in " ".join(
        found.argv
    )
    assert "--gpu-memory-utilization" not in found.argv
    assert found.environ["VLLM_CPU_NUM_OF_RESERVED_CPU"] == "0"
    assert found.environ["VLLM_CPU_KVCACHE_SPACE"] == "1"


@pytest.mark.parametrize(("context", "batch"), [("2048", "4096"), ("16384", "16384"), ("16k", "16000")])
def test_on_a_cpu_a_step_takes_the_longest_prompt(context, batch):
    argv = started("--max-model-len", context, vllm=CPU).argv
    assert argv[argv.index("--max-num-batched-tokens") + 1] == batch
    planless = launch(QWEN, None, CPU, 8000, ("--max-model-len", context)).argv
    assert planless[planless.index("--max-num-batched-tokens") + 1] == batch


def test_without_a_plan_a_gpu_is_left_to_vllm_and_a_cpu_gets_a_small_context():
    assert not {"--max-model-len", "--gpu-memory-utilization"} & set(launch(QWEN, None, GPU, 1, ()).argv)
    argv = launch(QWEN, None, CPU, 1, ()).argv
    assert argv[argv.index("--max-model-len") + 1] == "4096"


def test_a_model_that_needs_two_gpus_is_split():
    large = shape_of({"hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 4}, 100 * GIB, "x")
    fit = plan(large, Machine(0, ONE.gpus * 2))
    argv = launch(QWEN, fit, GPU, 8000, ()).argv
    assert argv[argv.index("--tensor-parallel-size") + 1] == "2"


@pytest.mark.parametrize(
    ("passed", "gone"),
    [
        (("--tool-call-parser", "pythonic"), "hermes"),
        (("--max_model_len=4096",), "32768"),
        (("--no-enable-prefix-caching",), "--enable-prefix-caching"),
        (("--structured-outputs-config.backend", "xgrammar"), "--structured-outputs-config"),
        (("--gpu-memory-utilization", "0.5"), "0.90"),
    ],
)
def test_what_is_passed_replaces_our_flag_and_stays_as_it_was(passed, gone):
    argv = started(*passed).argv
    assert argv[-len(passed) :] == passed
    assert gone not in argv


def test_address_and_name_follow_what_is_passed():
    found = started("--port", "9", "--host=0.0.0.0", "--served-model-name", "a", "b")
    assert (found.model, found.base_url) == ("hosted_vllm/a", "http://127.0.0.1:9/v1")
    assert started("--host", "::1").base_url == "http://[::1]:8000/v1"


def test_the_plan_heeds_what_is_passed():
    passed = ("--max-model-len", "8K", "-tp", "4", "--gpu-memory-utilization=0.5", "--seed", "-1")
    assert wish_of(passed, 2) == Wish(context=8192, split=4, used=0.5, sharing=2)
    assert options(passed)["seed"] == ("-1",)
    assert wish_of(("--max-model-len", "auto", "--gpu-memory-utilization", "lots"), 1) == Wish()


@pytest.mark.parametrize(
    ("name", "type", "tools", "reasoning"),
    [
        ("Qwen/Qwen3-8B", "", "hermes", "qwen3"),
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "", "qwen3_coder", None),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3_moe", "hermes", None),
        ("Qwen/Qwen2.5-Coder-7B-Instruct", "qwen2", "hermes", None),
        ("Qwen/QwQ-32B", "qwen2", "hermes", "deepseek_r1"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama", "llama3_json", None),
        ("meta-llama/Meta-Llama-3-8B-Instruct", "llama", "llama3_json", None),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama4", "llama4_pythonic", None),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral", "mistral", None),
        ("mistralai/Magistral-Small-2506", "mistral", "mistral", "mistral"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "qwen2", None, "deepseek_r1"),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek_v3", "deepseek_v3", "deepseek_r1"),
        ("deepseek-ai/DeepSeek-V3.1", "deepseek_v3", "deepseek_v31", "deepseek_v3"),
        ("deepseek-ai/DeepSeek-V3.2", "deepseek_v32", "deepseek_v32", "deepseek_v3"),
        ("openai/gpt-oss-20b", "gpt_oss", "openai", "openai_gptoss"),
        ("zai-org/GLM-4.5-Air", "glm4_moe", "glm45", "glm45"),
        ("zai-org/GLM-4.7", "glm4_moe", "glm47", "glm47"),
        ("HuggingFaceTB/SmolLM2-135M-Instruct", "llama", None, None),
        ("smollm2", "llama", None, None),
        ("HuggingFaceTB/SmolLM3-3B", "smollm3", "hermes", None),
        ("my-own-tune", "qwen3", "hermes", "qwen3"),
        ("my-own-tune", "llama", None, None),
    ],
)
def test_the_parsers_are_those_of_the_family(name, type, tools, reasoning):
    found = family(name, type)
    assert (found.tools if found else None, found.reasoning if found else None) == (tools, reasoning)
