"""Search tokens of Korean and English text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from daeri.errors import DefinitionError

_RUN = re.compile(
    r"(?P<hangul>[가-힣]+)|(?P<cjk>[\u3040-\u30ff\u3400-\u9fff]+)|(?P<word>[^\W_가-힣\u3040-\u30ff\u3400-\u9fff]+)"
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

# Longest first. A verb ending goes once, then one particle.
# fmt: off
_VERB_ENDINGS = (
    "해주시겠어요", "되었습니다", "하시겠어요", "해주실래요", "해주십시오", "됐습니다", "있습니까", "있습니다",
    "하십시오", "해보세요", "해주세요", "해줄래요", "했습니다", "되나요", "되는지", "됩니까", "됩니다",
    "이었다", "이에요", "인가요", "입니까", "입니다", "있나요", "있는지", "있어요", "하는지", "하려고",
    "하려면", "하면서", "하세요", "합니까", "합니다", "해줘요", "했나요", "했는지", "했어요", "까요", "나요",
    "돼요", "되는", "되다", "된다", "받아", "시켜", "예요", "이고", "이며", "이면", "인가", "인지", "있는",
    "하게", "하고", "하기", "하는", "하다", "하면", "하여", "하자", "하지", "할까", "할지", "해서", "해야",
    "해요", "해줘", "했다", "했던", "해",
)
_PARTICLES = (
    "에서부터", "으로부터", "까지는", "까지의", "께서는", "부터는", "에게는", "에게서", "에서는", "에서도",
    "에서의", "으로는", "으로도", "으로의", "이라고", "이라는", "과의", "까지", "께서", "대로", "들은", "들을",
    "들의", "들이", "라고", "라는", "로는", "로도", "로의", "마다", "마저", "만큼", "밖에", "보다", "부터",
    "에게", "에는", "에도", "에만", "에서", "와의", "으로", "이나", "이랑", "조차", "처럼", "한테", "가", "과",
    "나", "는", "도", "들", "랑", "로", "를", "만", "에", "와", "은", "을", "의", "이",
)
# fmt: on
_AFTER_CONSONANT = frozenset({"은", "을", "이", "과", "으로", "이나", "이랑", "이라고", "이라는"})
_AFTER_VOWEL = frozenset({"는", "를", "가", "와", "나", "랑", "라고", "라는"})
_KEPT_TAGS = ("N", "V", "M", "SL", "SN", "SH", "XR")
"""Parts of speech that mean something to a search: nouns, verbs, modifiers, foreign words, numbers, roots."""


def tokenize(text: str, *, morphemes: bool = False) -> list[str]:
    """Search tokens in the order of the text.

    Latin words are lower-cased and split at punctuation, underscores and camelCase, plurals cut; Korean words lose
    their particles and common verb endings, and longer ones are followed by their character pairs.

    Args:
        text: Any text.
        morphemes: Analyse Korean with `kiwipiepy` instead, which costs some hundred megabytes of memory.

    Raises:
        DefinitionError: `morphemes` without the package that does it.
    """
    plain = unicodedata.normalize("NFKC", text)
    if morphemes:
        return [token.form.lower() for token in _analyser().tokenize(plain) if token.tag.startswith(_KEPT_TAGS)]
    return [token for run in _runs(plain) for token in _tokens_of(run)]


def words(text: str) -> list[str]:
    """Like `tokenize`, but whole words only: each Korean word once, as its stem."""
    plain = unicodedata.normalize("NFKC", text)
    return [token for run in _runs(plain) for token in _words_of(run)]


def korean_stem(word: str) -> str:
    """A Korean word without its verb ending and particle; at least two syllables stay, but for `을` and `를`."""
    for ending in _VERB_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 2:
            word = word[: -len(ending)]
            break
    for particle in _PARTICLES:
        stem = word[: -len(particle)]
        if word.endswith(particle) and len(stem) >= (1 if particle in "을를" else 2) and _agrees(stem, particle):
            return stem
    return word


def _agrees(stem: str, particle: str) -> bool:
    closed = (ord(stem[-1]) - ord("가")) % 28 != 0
    if particle in _AFTER_CONSONANT:
        return closed
    return not (particle in _AFTER_VOWEL and closed)


def _runs(text: str) -> Iterator[re.Match[str]]:
    """The runs of one script; a particle behind a Latin word or a number (`Excel로`) is left out."""
    end = -1
    for run in _RUN.finditer(text):
        if not (run["hangul"] in _PARTICLES and run.start() == end):
            yield run
        end = run.end()


def _tokens_of(run: re.Match[str]) -> Iterator[str]:
    for word in _words_of(run):
        yield word
        if not run["word"] and len(word) > 2:
            yield from (word[at : at + 2] for at in range(len(word) - 1))


def _words_of(run: re.Match[str]) -> Iterator[str]:
    if run["hangul"]:
        yield korean_stem(run["hangul"])
    elif run["cjk"]:
        yield run["cjk"]
    else:
        parts = [part for part in _CAMEL.split(run["word"]) if part]
        if len(parts) > 1:
            yield run["word"].lower()
        yield from (_singular(part.lower()) for part in parts)


def _singular(word: str) -> str:
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "shes", "ches", "xes")) else word[:-1]


class _Morpheme(Protocol):
    form: str
    tag: str


class _Analyser(Protocol):
    def tokenize(self, text: str) -> Iterable[_Morpheme]: ...


@cache
def _analyser() -> _Analyser:
    try:
        module = import_module("kiwipiepy")
    except ImportError as missing:
        raise DefinitionError(
            "tokenizer `morphemes`", "the package kiwipiepy is not installed", 'Run: pip install "daeri[ko]"'
        ) from missing
    return cast("_Analyser", module.Kiwi())
