"""Tool calls as models write them: identifiers that must be unique, arguments that must be fit to be sent again."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn, cast

from daeri.text import Json, cut_middle, scrub, scrub_text

from ._port import ModelRequest

ARGUMENTS_LIMIT = 200_000
"""Characters of arguments that are kept; what a model writes beyond that is cut."""
MALFORMED = "_malformed_arguments"
"""The one key of the object that stands, in later turns, for arguments which were no JSON object."""

_MALFORMED_SHOWN = 500
_ID_LIMIT = 64


def ids_in(request: ModelRequest) -> set[str]:
    """The call ids that earlier blocks of the request use."""
    return {call.id for block in request.blocks for call in block.reply.calls}


def unique_ids(provider_ids: Sequence[str], taken: Iterable[str]) -> list[str]:
    """One id per call: the provider's, or a new one where that is missing, repeated, taken or too long to be sent."""
    used = set(taken)
    ids: list[str] = []
    for provider_id in provider_ids:
        fit = 0 < len(provider_id) <= _ID_LIMIT and provider_id not in used
        ids.append(provider_id if fit else f"call_{secrets.token_hex(12)}")
        used.add(ids[-1])
    return ids


def recorded_arguments(text: str, limit: int = ARGUMENTS_LIMIT) -> str:
    """Arguments as they are kept: scrubbed, and when too long cut in the middle, which leaves them no valid JSON."""
    return cut_middle(scrub_text(text), limit, note="arguments too long").text


def replayable_arguments(text: str) -> str:
    """Recorded arguments as a later turn may show them to a model API: always the text of a JSON object.

    APIs refuse a history whose arguments don't parse, so anything else becomes an object with the one key
    `_malformed_arguments` that holds the beginning of what the model wrote.
    """
    if not text.strip():
        return "{}"
    try:
        value = cast("Json", json.loads(text, parse_constant=_refuse_constant))
        if isinstance(value, Mapping):
            safe = scrub(value)
            written = json.dumps(safe, ensure_ascii=False, allow_nan=False)
            return text if safe == value else written
    except (ValueError, RecursionError):
        pass
    return json.dumps({MALFORMED: cut_middle(text, _MALFORMED_SHOWN).text}, ensure_ascii=False)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
