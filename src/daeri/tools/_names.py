"""Tool names: which are valid, which an allow-list lets through, and which one was probably meant."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Collection, Iterable

from daeri.errors import DefinitionError

MAX_NAME_LENGTH = 128
_NAME = re.compile(r"[\w-]+(\.[\w-]+)*")


def check_name(name: str) -> None:
    """Words of letters, digits, `_` and `-`, joined by dots: `calculator`, `files.read`, `급여.조회`.

    Raises:
        DefinitionError: anything else, or more than 128 characters.
    """
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_LENGTH:
        raise DefinitionError(
            f"tool {name[:MAX_NAME_LENGTH]!r}",
            "the name is not valid",
            f"Use words of letters, digits, `_` and `-` joined by dots, at most {MAX_NAME_LENGTH} characters.",
        )
    if not unicodedata.is_normalized("NFC", name):
        # two spellings that look the same must not be two tools
        raise DefinitionError(
            f"tool {name!r}", "the name is not in Unicode form NFC", "Normalise it before you use it."
        )


def allows(allowed: Collection[str] | None, name: str) -> bool:
    """Whether an allow-list lets a tool through; `None` lets all through, an entry is a name, `server.*` or `*`."""
    if allowed is None:
        return True
    return any(
        entry in ("*", name) or (entry.endswith(".*") and name.startswith(entry.removesuffix("*"))) for entry in allowed
    )


def closest_names(name: str, names: Iterable[str], limit: int = 3) -> tuple[str, ...]:
    """The names that look most like `name`, best first; also those that share its last word."""
    if len(name) > MAX_NAME_LENGTH:
        # comparing takes time by its length, and a name of ours is never like it
        return ()
    pool = sorted(set(names))
    folded = {candidate.casefold(): candidate for candidate in pool}
    near = [folded[match] for match in difflib.get_close_matches(name.casefold(), folded, n=limit, cutoff=0.6)]
    last = name.casefold().rpartition(".")[2]
    same_word = [candidate for candidate in pool if candidate.casefold().rpartition(".")[2] == last]
    return tuple(dict.fromkeys([*near, *same_word]))[:limit]
