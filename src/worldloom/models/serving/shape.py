"""Shape: what of a model's config decides how much memory it takes: weights, and keys and values for each token.

Covered: grouped-query attention, latent attention (MLA), layers with a sliding window, layers without a cache that
grows (linear attention, Mamba), quantised weights by their size on disk. Keys and values are taken to be as wide
as the type that the model computes in, two bytes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worldloom.core.errors import UsageError
from worldloom.core.yamlio.wording import quoted

KV_BYTES = 2
"""Bytes of one number in the cache: bfloat16 or float16."""

_WIDE = ("float32", "torch.float32")
# Bounds far above all that is known: what is beyond them is a fault of the file, and its plan would be nonsense.
_MOST = 10_000_000  # of heads, widths and tokens that are known; vocabularies have some 300,000
_MOST_LAYERS = 10_000  # of which each is looked at; the deepest models have some 200
_MOST_TOKENS = 1_000_000_000  # of a context or a window; the longest has some 10,000,000


@dataclass(frozen=True, slots=True)
class Shape:
    """A model as far as memory goes.

    Attributes:
        model_type: as the config says.
        weights: bytes of its weights once loaded.
        layers: bytes of cache that each attention layer takes for a token, with the window of that layer in
            tokens, None where it sees everything; layers whose cache does not grow are left out.
        heads: heads of attention.
        kv_heads: heads whose keys and values are kept; 1 for latent attention, which cannot be split.
        hidden, inner: widths of a layer and of its feed-forward part, as one token passes it.
        vocabulary: tokens that it knows.
        context: tokens that it was made for; None if the config does not say.
    """

    model_type: str
    weights: int
    layers: tuple[tuple[int, int | None], ...]
    heads: int
    kv_heads: int
    hidden: int
    inner: int
    vocabulary: int
    context: int | None

    def kv_bytes(self, tokens: int, split: int = 1) -> int:
        """Bytes of cache on one device for a sequence; `split` is the number of devices that share its heads."""
        parts = min(split, self.kv_heads)
        return math.ceil(
            sum(each * min(tokens, window or tokens) for each, window in self.layers) / max(1, parts)
        )


def shape_of(config: Mapping[str, Any], stored: int, place: str) -> Shape:
    """The shape that a config.json describes.

    Args:
        config: what the file holds.
        stored: bytes of the weights on disk.
        place: the file, for the error.

    Raises:
        UsageError: it is no config of a language model.
    """
    try:
        text = _text(config)
        heads = whole(text, "num_attention_heads", "n_head", least=1)
        hidden = whole(text, "hidden_size", "n_embd", least=1)
        layers = whole(text, "num_hidden_layers", "n_layer", least=1, most=_MOST_LAYERS)
        latent = whole(text, "kv_lora_rank")
        kv_heads = 1 if latent else whole(text, "num_key_value_heads") or heads
        width = (
            latent + whole(text, "qk_rope_head_dim") if latent else 2 * kv_heads * _head(text, hidden, heads)
        )
        windows = _windows(text, layers)
        return Shape(
            model_type=_model_type(config),
            weights=_loaded(config, text, stored),
            layers=tuple((width * KV_BYTES, window or None) for window in windows if window != _NO_CACHE),
            heads=heads,
            kv_heads=kv_heads,
            hidden=hidden,
            inner=_inner(text, hidden),
            vocabulary=whole(text, "vocab_size"),
            context=whole(text, "max_position_embeddings", "n_positions", most=_MOST_TOKENS) or None,
        )
    except ValueError as error:
        raise UsageError(
            f"{place} is no config of a language model that can be planned for: {error}"
        ) from None


def whole(found: Mapping[str, Any], *names: str, least: int = 0, most: int = _MOST) -> int:
    """The whole number under the first of the names that holds anything; `4.0` is one to JSON. 0 if none does.

    Raises:
        ValueError: it is none, or out of bounds; names the key, what was found and what is allowed.
    """
    name = next((name for name in names if found.get(name) is not None), names[0])
    value = found.get(name)
    if value is None and least == 0:
        return 0
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
        raise ValueError(f"{name} is {quoted(value)}; allowed: a whole number from {least} to {most:,}")
    return number


def _text(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a config that describes the language model."""
    text = config.get("text_config")
    if text is not None and not isinstance(text, dict):
        raise ValueError(f"text_config is {quoted(text)}; allowed: a mapping")
    return config if text is None else text


def _model_type(config: Mapping[str, Any]) -> str:
    kind = config.get("model_type")
    if kind is not None and not isinstance(kind, str):
        raise ValueError(f"model_type is {quoted(kind)}; allowed: text")
    return kind or ""


def _head(text: Mapping[str, Any], hidden: int, heads: int) -> int:
    """Width of a head of attention."""
    width = whole(text, "head_dim") or hidden // heads
    if not width:
        raise ValueError(f"hidden_size is {hidden}; allowed: at least num_attention_heads, which is {heads}")
    return width


_EVERYTHING, _NO_CACHE = 0, -1


def _windows(text: Mapping[str, Any], layers: int) -> Sequence[int]:
    """The window of each layer in tokens; 0 where it sees everything, -1 where it keeps no growing cache."""
    sliding = whole(text, "sliding_window", most=_MOST_TOKENS)
    if text.get("use_sliding_window") is False:
        sliding = 0
    types = text.get("layer_types")
    if types:
        if not (
            isinstance(types, list) and len(types) <= _MOST_LAYERS and all(isinstance(x, str) for x in types)
        ):
            raise ValueError(
                f"layer_types is {quoted(types)}; allowed: a list of texts, at most {_MOST_LAYERS:,}"
            )
        chunk = whole(text, "attention_chunk_size", most=_MOST_TOKENS)
        return [_window(kind, sliding, chunk) for kind in types]
    every = whole(text, "full_attention_interval", "sliding_window_pattern")
    if every and "full_attention_interval" in text:
        return [_EVERYTHING if (index + 1) % every == 0 else _NO_CACHE for index in range(layers)]
    if every and sliding:
        return [_EVERYTHING if (index + 1) % every == 0 else sliding for index in range(layers)]
    first = whole(text, "max_window_layers") if "use_sliding_window" in text else 0
    return [_EVERYTHING if index < first else sliding for index in range(layers)]


def _window(kind: str, sliding: int, chunk: int) -> int:
    """The window of a layer by the name of its kind; an unknown kind is taken to see everything."""
    if any(word in kind for word in ("linear", "mamba", "conv", "recurrent")):
        return _NO_CACHE
    return sliding if "sliding" in kind else chunk if "chunked" in kind else _EVERYTHING


def _inner(text: Mapping[str, Any], hidden: int) -> int:
    """Width of the feed-forward part that one token passes: all of its experts together."""
    dense = whole(text, "intermediate_size", "n_inner") or 4 * hidden
    experts = whole(text, "num_experts_per_tok", "num_experts_per_token")
    return max(dense, experts * whole(text, "moe_intermediate_size"))


def _loaded(config: Mapping[str, Any], text: Mapping[str, Any], stored: int) -> int:
    """Bytes once loaded: vLLM keeps float32 weights in two bytes."""
    kind = str(
        text.get("dtype") or text.get("torch_dtype") or config.get("dtype") or config.get("torch_dtype")
    )
    return stored // 2 if kind in _WIDE and not config.get("quantization_config") else stored
