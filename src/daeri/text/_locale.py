"""Korean or English: which one a person is spoken to in."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Literal

Locale = Literal["ko", "en"]

_HANGUL = re.compile("[\uac00-\ud7a3\u1100-\u11ff\u3130-\u318f]")


def detect_locale(text: str, default: Locale = "en") -> Locale:
    """`ko` for a text with Hangul in it, `en` for one with Latin letters only, else `default`."""
    if _HANGUL.search(text):
        return "ko"
    return "en" if re.search("[A-Za-z]", text) else default


def locale_from_environment(environment: Mapping[str, str] | None = None) -> Locale:
    """The language of the shell: `DAERI_LANG`, else `LC_ALL`, `LC_MESSAGES`, `LANG`; English for all but Korean."""
    env = os.environ if environment is None else environment
    for name in ("DAERI_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        if value := env.get(name):
            return "ko" if value.lower().startswith("ko") else "en"
    return "en"
