"""Families of models and the parsers of vLLM that read their tool calls and their reasoning.

The first row that fits holds. Names are tried before the `model_type` of the config: many families share a type,
`llama` above all. A model of no family is served without parsers: wrong ones lose text. Parser names are those of
vLLM 0.32.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """One family.

    Attributes:
        name: what people call it.
        pattern: regular expression that the lower-case name of a model matches somewhere.
        tools: vLLM's `--tool-call-parser`; None if the family makes no tool calls that vLLM could read.
        reasoning: vLLM's `--reasoning-parser`; None if it does not think aloud.
        types: values of `model_type` that only this family has.
    """

    name: str
    pattern: str
    tools: str | None
    reasoning: str | None
    types: tuple[str, ...] = ()


FAMILIES = (
    Family("gpt-oss", r"gpt[-_]?oss", "openai", "openai_gptoss", ("gpt_oss",)),
    Family("DeepSeek R1 distilled", r"deepseek-r1.*distill", None, "deepseek_r1"),
    Family("DeepSeek R1", r"deepseek-r1", "deepseek_v3", "deepseek_r1"),
    Family("DeepSeek V4", r"deepseek-v4", "deepseek_v4", "deepseek_v4", ("deepseek_v4",)),
    Family("DeepSeek V3.2", r"deepseek-v3\.2", "deepseek_v32", "deepseek_v3", ("deepseek_v32",)),
    Family("DeepSeek V3.1", r"deepseek-v3\.1", "deepseek_v31", "deepseek_v3"),
    Family("DeepSeek V3", r"deepseek-v3", "deepseek_v3", None),
    Family("QwQ", r"\bqwq", "hermes", "deepseek_r1"),
    Family("Qwen3 Coder", r"qwen3-?coder", "qwen3_coder", None),
    Family("Qwen3.5", r"qwen3\.[5-9]", "qwen3_coder", "qwen3", ("qwen3_5", "qwen3_5_moe")),
    Family("Qwen3 Instruct", r"qwen3-.*instruct", "hermes", None),
    Family("Qwen3", r"qwen3", "hermes", "qwen3", ("qwen3", "qwen3_moe")),
    Family("Qwen2.5", r"qwen2", "hermes", None, ("qwen2", "qwen2_moe")),
    Family("Hermes", r"\bhermes", "hermes", None),
    Family("Llama 4", r"llama-?4", "llama4_pythonic", None, ("llama4",)),
    Family("Llama 3", r"llama-?3", "llama3_json", None),
    Family("Magistral", r"magistral", "mistral", "mistral"),
    Family("Mistral", r"mistral|mixtral|devstral", "mistral", None, ("mistral", "mistral3", "mixtral")),
    Family("GLM-4.7 and 5", r"glm-?(4\.[7-9]|5)", "glm47", "glm47"),
    Family("GLM-4.5", r"glm-?4\.[56]", "glm45", "glm45", ("glm4_moe",)),
    Family("Kimi K2", r"kimi-k2", "kimi_k2", "kimi_k2", ("kimi_k2",)),
    Family("MiniMax M2", r"minimax-m2", "minimax_m2", "minimax_m2", ("minimax_m2",)),
    Family("Seed-OSS", r"seed-oss", "seed_oss", "seed_oss", ("seed_oss",)),
    Family("Gemma 4", r"\bgemma-4", "gemma4", "gemma4", ("gemma4",)),
    Family("Granite 4", r"granite-4", "granite4", None),
    Family("Granite 3", r"granite-3", "granite", None, ("granite",)),
    Family("Olmo 3", r"olmo-3", "olmo3", "olmo3", ("olmo3",)),
    Family("Phi-4 mini", r"phi-4-mini", "phi4_mini_json", None),
    Family("SmolLM3", r"smollm3", "hermes", None, ("smollm3",)),
    # Its chat template takes no tools.
    Family("SmolLM2", r"smollm2?\b", None, None),
)
"""The families, the more special ones first."""


def family(name: str, model_type: str = "") -> Family | None:
    """The family of a model, by its name, else by the `model_type` of its config; None if it is of none."""
    folded = name.lower()
    named = (each for each in FAMILIES if re.search(each.pattern, folded))
    typed = (each for each in FAMILIES if model_type in each.types)
    return next(named, None) or next(typed, None)
