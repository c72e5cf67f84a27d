"""Which language the command line speaks, known before anything else is loaded."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import cast, get_args

from daeri.text import Locale, locale_from_environment


def shell_locale(arguments: Sequence[str] | None = None, environment: Mapping[str, str] | None = None) -> Locale:
    """`--lang` among the arguments, else the language of the shell."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    given = [word.removeprefix("--lang=") for word in words if word.startswith("--lang=")]
    given += [after for word, after in pairwise(words) if word == "--lang"]
    chosen = [value for value in given if value in get_args(Locale)]
    if chosen:
        return cast("Locale", chosen[-1])
    return locale_from_environment(os.environ if environment is None else environment)
