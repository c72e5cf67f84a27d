"""The toolkit `knowledge`: looking up stored facts by their name."""

from __future__ import annotations

import difflib
import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NoReturn, TypeAlias

from typing_extensions import TypedDict

from ._facts import Fact, load_facts
from ._fault import Fault
from ._stamp import Stamp, stamp

_SUGGESTED = 5
_HANGUL = re.compile("[가-힣]")


class FoundFact(TypedDict):
    """A stored fact, and where it stands."""

    key: str
    value: str
    source: str


class Knowledge:
    """The facts of some files, read again when a file changes."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = tuple(files)
        self._lock = threading.Lock()
        self._read: dict[Path, tuple[Stamp, list[Fact]]] = {}

    def facts(self) -> list[Fact]:
        """All facts, in the order of the files.

        Raises:
            Fault: a file can't be read or understood.
        """
        with self._lock:
            return [fact for file in self._files for fact in self._facts_of(file)]

    def lookup(self, key: str) -> FoundFact:
        """The one fact that `key` names.

        Tried in turn: the key as written; without regard to case and spaces; an alias; a name that contains the key
        or is contained in it. The first that hits decides.

        Raises:
            Fault: nothing is named like that, or several things are.
        """
        facts = self.facts()
        for tier in _TIERS:
            hits = tier(facts, key)
            if len({(hit.key, hit.value) for hit in hits}) > 1:
                _refuse_ambiguous(key, hits)
            if hits:
                return FoundFact(key=hits[0].key, value=hits[0].value, source=hits[0].source)
        _refuse_missing(key, facts)

    def _facts_of(self, file: Path) -> list[Fact]:
        try:
            now = stamp(file)
            held = self._read.get(file)
            if held is None or held[0] != now:
                held = self._read[file] = (now, load_facts(file))
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise Fault("knowledge.unreadable", f"the facts of {file.name!r} can't be read: {reason}") from None
        return held[1]


_Tier: TypeAlias = Callable[[list[Fact], str], list[Fact]]


def _as_written(facts: list[Fact], key: str) -> list[Fact]:
    return [fact for fact in facts if fact.key == key]


def _folded_key(facts: list[Fact], key: str) -> list[Fact]:
    return [fact for fact in facts if _folded(fact.key) == _folded(key)]


def _folded_alias(facts: list[Fact], key: str) -> list[Fact]:
    return [fact for fact in facts if _folded(key) in {_folded(alias) for alias in fact.aliases}]


def _contained(facts: list[Fact], key: str) -> list[Fact]:
    """Facts whose longest name stands in the key ("the unit price now"); else those that have the key in a name."""
    named = [(name, fact) for fact in facts for name in (fact.key, *fact.aliases)]
    inside = [(name, fact) for name, fact in named if _contains(key, name)]
    longest = [
        fact
        for name, fact in inside
        if not any(_folded(other) != _folded(name) and _contains(other, name) for other, _ in inside)
    ]
    return longest or [fact for name, fact in named if _contains(name, key)]


_TIERS: tuple[_Tier, ...] = (_as_written, _folded_key, _folded_alias, _contained)


def _contains(text: str, name: str) -> bool:
    if len(_folded(name)) < 2:
        return False
    if _HANGUL.search(name):
        return _folded(name) in _folded(text)
    # "rate" is a word of "exchange rate", and none of "corporate"
    return re.search(rf"(?<![a-z0-9]){re.escape(_spaced(name))}(?![a-z0-9])", _spaced(text)) is not None


def _spaced(text: str) -> str:
    return " ".join(re.split(r"[\s_\-]+", unicodedata.normalize("NFKC", text).casefold())).strip()


def _folded(text: str) -> str:
    return _spaced(text).replace(" ", "")


def _refuse_ambiguous(key: str, hits: Iterable[Fact]) -> NoReturn:
    keys = sorted({hit.key for hit in hits})
    if len(keys) == 1:
        places = ", ".join(hit.source for hit in hits)
        diagnostic = f"{keys[0]!r} has different values in {places}; correct the files"
    else:
        diagnostic = f"{key!r} names several facts; did you mean: {', '.join(keys)}?"
    raise Fault("knowledge.ambiguous", diagnostic, name=key, names=", ".join(keys))


def _refuse_missing(key: str, facts: list[Fact]) -> NoReturn:
    keys_by_name = {_folded(name): fact.key for fact in facts for name in (fact.key, *fact.aliases)}
    names = difflib.get_close_matches(_folded(key), keys_by_name, n=_SUGGESTED, cutoff=0.4)
    close = list(dict.fromkeys(keys_by_name[name] for name in names))
    if close:
        hint = f"did you mean: {', '.join(close)}?"
    else:
        hint = f"known facts: {', '.join(sorted({fact.key for fact in facts})[:20]) or 'none'}"
    raise Fault("knowledge.not_found", f"no fact is named {key!r}; {hint}", name=key)
