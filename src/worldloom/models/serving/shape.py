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

KV_BYTES = 2
"""Bytes of one number in the cache: bfloat16 or float16."""

_WIDE = ("float32", "torch.float32")


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
    inner = config.get("text_config")
    text: Mapping[str, Any] = inner if isinstance(inner, dict) else config
    try:
        heads = _whole(text, "num_attention_heads", "n_head")
        hidden = _whole(text, "hidden_size", "n_embd")
        layers = _whole(text, "num_hidden_layers", "n_layer")
        latent = int(text.get("kv_lora_rank") or 0)
        kv_heads = 1 if latent else int(text.get("num_key_value_heads") or heads)
        head = int(text.get("head_dim") or hidden // heads)
        width = latent + int(text.get("qk_rope_head_dim") or 0) if latent else 2 * kv_heads * head
        windows = _windows(text, layers)
        context = text.get("max_position_embeddings") or text.get("n_positions")
        return Shape(
            model_type=str(config.get("model_type") or ""),
            weights=_loaded(config, text, stored),
            layers=tuple((width * KV_BYTES, window or None) for window in windows if window != _NO_CACHE),
            heads=heads,
            kv_heads=kv_heads,
            hidden=hidden,
            inner=_inner(text, hidden),
            vocabulary=int(text.get("vocab_size") or 0),
            context=int(context) if context else None,
        )
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise UsageError(
            f"{place} is no config of a language model that can be planned for: {error}"
        ) from None


_EVERYTHING, _NO_CACHE = 0, -1


def _windows(text: Mapping[str, Any], layers: int) -> Sequence[int]:
    """The window of each layer in tokens; 0 where it sees everything, -1 where it keeps no growing cache."""
    sliding = int(text.get("sliding_window") or 0)
    if text.get("use_sliding_window") is False:
        sliding = 0
    types = text.get("layer_types")
    if isinstance(types, list) and types:
        chunk = int(text.get("attention_chunk_size") or 0)
        return [_window(str(kind), sliding, chunk) for kind in types]
    every = int(text.get("full_attention_interval") or text.get("sliding_window_pattern") or 0)
    if every and "full_attention_interval" in text:
        return [_EVERYTHING if (index + 1) % every == 0 else _NO_CACHE for index in range(layers)]
    if every and sliding:
        return [_EVERYTHING if (index + 1) % every == 0 else sliding for index in range(layers)]
    first = int(text.get("max_window_layers") or 0) if "use_sliding_window" in text else 0
    return [_EVERYTHING if index < first else sliding for index in range(layers)]


def _window(kind: str, sliding: int, chunk: int) -> int:
    """The window of a layer by the name of its kind; an unknown kind is taken to see everything."""
    if any(word in kind for word in ("linear", "mamba", "conv", "recurrent")):
        return _NO_CACHE
    return sliding if "sliding" in kind else chunk if "chunked" in kind else _EVERYTHING


def _inner(text: Mapping[str, Any], hidden: int) -> int:
    """Width of the feed-forward part that one token passes: all of its experts together."""
    dense = int(text.get("intermediate_size") or text.get("n_inner") or 4 * hidden)
    experts = int(text.get("num_experts_per_tok") or text.get("num_experts_per_token") or 0)
    return max(dense, experts * int(text.get("moe_intermediate_size") or 0))


def _loaded(config: Mapping[str, Any], text: Mapping[str, Any], stored: int) -> int:
    """Bytes once loaded: vLLM keeps float32 weights in two bytes."""
    kind = str(
        text.get("dtype") or text.get("torch_dtype") or config.get("dtype") or config.get("torch_dtype")
    )
    return stored // 2 if kind in _WIDE and not config.get("quantization_config") else stored


def _whole(text: Mapping[str, Any], *names: str) -> int:
    for name in names:
        value = text.get(name)
        if isinstance(value, int) and value > 0:
            return value
    raise KeyError(names[0])
