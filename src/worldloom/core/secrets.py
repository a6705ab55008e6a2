"""Secrets: which environment variables hold them, by their names."""

import os
import re
from collections.abc import Mapping

_NAME = re.compile(r"((^|_)KEY|API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|(^|_)CREDENTIALS?)$", re.IGNORECASE)
_WORD = re.compile("[A-Za-z_-]{0,15}")
_SHORTEST = 8


def secrets_of(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Name -> value, without spaces around it, of the environment variables that hold secrets.

    A value under 8 characters, or one that is a single word (`changeme`, `password`), is taken for a dummy: replaced
    wherever it stands, it would change innocent text.
    """
    variables = os.environ if environment is None else environment
    found = {name: value.strip() for name, value in variables.items() if _NAME.search(name)}
    return {
        name: value for name, value in found.items() if len(value) >= _SHORTEST and not _WORD.fullmatch(value)
    }
