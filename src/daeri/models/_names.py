"""Tool names as model APIs accept them: letters, digits, `_` and `-`, at most 64 of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from itertools import count

_LIMIT = 64
_ACCEPTED = re.compile(rf"[a-zA-Z0-9_-]{{1,{_LIMIT}}}")
_REFUSED = re.compile(r"[^a-zA-Z0-9_-]+")
_HASH_CHARS = 8
# With these in it, a name could not be told from the written form of another one once dots are written as `__`.
_AMBIGUOUS = re.compile(r"__|_\.|\._")


class ToolNames:
    """The names of one request, mapped to what goes over the wire and back.

    `knowledge.lookup` is written `knowledge__lookup`; what can't be written so, keeps its readable part and gets a
    hash: `단가.조회` → `tool-1f0c9a3e`. A written name depends on the name alone, so that prompts cached by a provider
    stay valid when tools come and go; only a clash of hashes makes one of the two names move.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._written: dict[str, str] = {}
        self._own: dict[str, str] = {}
        # Names that need no hash go first: nothing may take their place.
        for name in sorted(set(names), key=lambda name: (_exact(name) is None, name)):
            written = next(form for form in _forms(name) if form not in self._own)
            self._written[name] = written
            self._own[written] = name

    def written(self, name: str) -> str:
        """The form of `name` that goes over the wire.

        Raises:
            KeyError: a name that this request was not built with.
        """
        return self._written[name]

    def own(self, written: str) -> str:
        """The tool's own name, or `written` itself when nobody offered it."""
        return self._own.get(written, written)


def _forms(name: str) -> Iterable[str]:
    if exact := _exact(name):
        yield exact
    readable = _REFUSED.sub("_", name.replace(".", "__")).strip("_-")[: _LIMIT - _HASH_CHARS - 1] or "tool"
    for salt in count():
        seed = f"{name}\n{salt}" if salt else name
        # surrogatepass: a name is mapped before anybody has scrubbed it
        yield f"{readable}-{hashlib.sha256(seed.encode('utf-8', 'surrogatepass')).hexdigest()[:_HASH_CHARS]}"


def _exact(name: str) -> str | None:
    """The written form that can be read back without knowing the name, if there is one."""
    if _AMBIGUOUS.search(name):
        return None
    written = name.replace(".", "__")
    return written if _ACCEPTED.fullmatch(written) else None
