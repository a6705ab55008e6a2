"""From JSON to YAML that `parse` reads as the same value.

PyYAML writes for readers of YAML 1.1; text that YAML 1.2 would take for a number is quoted here.
"""

from collections.abc import Mapping

import yaml

from worldloom.core.canonical import Json
from worldloom.core.yamlio.decoding import forbidden
from worldloom.core.yamlio.scalars import NotJson, resolve


def write(value: Mapping[str, Json]) -> str:
    """The text of a document, in block style, keys in their order; without comments and anchors."""
    return yaml.dump(dict(value), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    plain = _is_text(text) and not forbidden(text)
    style = '"' if not plain else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


def _is_text(plain: str) -> bool:
    try:
        return isinstance(resolve(plain), str)
    except NotJson:
        return False


_Dumper.add_representer(str, _text)
