"""Arguments made from the goal and from earlier results, by the schema of the tool."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain

from daeri.text import Json, JsonObject, NumberMention, find_numbers, korean_stem, words

from ._planner_arithmetic import Reckoning, reckon
from ._planner_facts import Fact
from ._planner_goal import Source, Span
from ._planner_schema import (
    ASKS_FOR_TOPIC,
    described,
    expression_parameter,
    fits,
    parameters,
    plain_schema,
    required,
    strings,
    takes_any_words,
    valid,
    without_examples,
    written_about,
)
from ._planner_words import akin, changing_words, vocabulary_of
from ._port import ToolSpec

_FREE_TEXT = re.compile(
    r"(?:^|_)(?:text|content|contents|body|message|title|subject|reason|comment|note|description|summary|sentence)$"
)
_PATH = re.compile(r"(?:^|_)(?:path|file|filename)$|파일", re.I)
_ID = re.compile(r"(?:^|_)(?:id|number|no|code|sku|room)$|번호|사번|품번", re.I)
_NOT = re.compile(r"\bnot\b|without|exclud|except|제외|빼고|없이|말고|않", re.I)
_AN_END = re.compile(r"origin|destination|depart|arriv|(?:^|_)(?:from|to|source|target)\b|출발|도착", re.I)
_EXACT = re.compile(r"(?:^|_)(?:key|term|item|name|keyword)$")
_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.I)
_LISTED = re.compile(r"(?<=[가-힣]{2})[와과]\s+|\s+(?:and|및|그리고)\s+|,\s*")
TEXT_FIELDS = ("text", "content", "body", "message")


@dataclass(frozen=True, kw_only=True)
class Filled:
    """What could be filled in for a tool."""

    calls: tuple[JsonObject, ...] = ()
    """The arguments of each call: of one, unless several things are to be looked up one by one."""
    missing: tuple[str, ...] = ()
    """Required parameters that neither the goal nor a result gives; then there are no calls."""
    unit: str = ""
    """The unit of what will be calculated."""


def fill(tool: ToolSpec, text: str, facts: Sequence[Fact]) -> Filled:
    """Arguments for a tool from a part of the goal and from results; what can't be found is named, never invented."""
    filler = _Filler(tool, text, facts)
    arguments = filler.fill()
    needed = {name: value for name, value in arguments.items() if name in required(tool)}
    if missing := tuple(name for name in required(tool) if name not in needed):
        return Filled(missing=missing)
    for chosen in (arguments, needed):
        if fits(tool, chosen):
            several = [one for one in _one_by_one(chosen, filler.listing) if fits(tool, one)]
            return Filled(calls=tuple(several) or (chosen,), unit=filler.unit)
    return Filled(missing=tuple(needed))


def _one_by_one(arguments: JsonObject, listing: str) -> list[JsonObject]:
    names = _LISTED.split(str(arguments.get(listing, "")))
    return (
        [{**arguments, listing: korean_stem(_ARTICLE.sub("", name.strip()))} for name in names]
        if len(names) > 1
        else []
    )


class _Filler:
    def __init__(self, tool: ToolSpec, text: str, facts: Sequence[Fact]) -> None:
        self._tool = tool
        self._source = Source(text=text)
        self._facts = [fact for fact in facts if not fact.failed]
        self._required = required(tool)
        self._found: dict[str, Json] = {}
        self.unit = ""
        self.listing = ""
        """The parameter that may name more than one thing to look up."""

    def fill(self) -> dict[str, Json]:
        # what is told by its form goes first, so that free words get only what is left
        stages = (self._by_form, self._by_number, self._by_words)
        for stage in stages:
            for name, schema in parameters(self._tool).items():
                if name not in self._found and (value := stage(name, schema)) is not None:
                    self._found[name] = value
        return {name: self._found[name] for name in parameters(self._tool) if name in self._found}

    def _by_form(self, name: str, schema: JsonObject) -> Json:
        if "const" in schema:
            return schema["const"]
        if options := strings(schema.get("enum")):
            return self._source.take(self._source.first(_mentions_of(options, described(schema), self._source.text)))
        if schema.get("type") == "array" and isinstance(items := schema.get("items"), Mapping):
            item = self._by_form(name, plain_schema(items, self._tool.input_schema))
            return None if item is None else [item]
        if schema.get("type") != "string":
            return None
        if name == expression_parameter(self._tool):
            return self._expression()
        pieces = self._pieces(name, schema)
        return None if pieces is None else self._source.take(self._source.first(pieces))

    def _pieces(self, name: str, schema: JsonObject) -> Iterator[tuple[str, Span]] | None:
        source, about = self._source, f"{name} {described(schema)}"
        kind = schema.get("format")
        forms = {"date": source.dates, "email": source.emails, "uri": source.urls}
        if isinstance(kind, str) and kind in forms:
            return forms[kind]()
        if isinstance(pattern := schema.get("pattern"), str):
            return source.matching(pattern)
        if _FREE_TEXT.search(name):
            return chain(source.quoted(), source.after_colon())
        if _PATH.search(about):
            return chain(source.quoted(), source.paths())
        if _is_id(name, schema):
            return source.identifiers()
        return source.quoted() if takes_any_words(schema) else None

    def _by_number(self, name: str, schema: JsonObject) -> Json:
        kind = schema.get("type")
        if kind == "boolean":
            return self._flag(name, schema)
        if kind not in {"integer", "number"}:
            return None
        about = vocabulary_of(f"{name} {described(schema)}")
        if about & {"year", "연도"} and (year := self._source.take(self._source.first(self._source.years()))):
            return int(year)
        free = [one for one in find_numbers(self._source.text) if self._source.free((one.start, one.start + 1))]
        named = [one for one in free if self._near(one, about)]
        if not named and name not in self._required:
            return None
        for mention in named or free:
            value = _number(mention.value, kind == "integer")
            if value is not None and valid(schema, value):
                self._source.used.append((mention.start, mention.end))
                return value
        return None

    def _by_words(self, name: str, schema: JsonObject) -> Json:
        if name not in self._required:
            return None
        if schema.get("type") == "string" and "enum" not in schema and name != expression_parameter(self._tool):
            if (value := self._from_results(name)) is not None:
                return value
            if not _FREE_TEXT.search(name) and not _is_id(name, schema) and takes_any_words(schema):
                return self._words(name, schema)
        elif (value := self._from_results(name)) is not None and valid(schema, value):
            return value
        return schema.get("default")

    def _words(self, name: str, schema: JsonObject) -> str | None:
        source, about = self._source, f"{name} {described(schema)}"
        if _PATH.search(about):
            return None
        if ASKS_FOR_TOPIC.search(name) or ASKS_FOR_TOPIC.search(described(schema)):
            self.listing = name if _EXACT.search(name) else ""
            asked = " ".join((self._tool.name, *changing_words(self._tool.name, self._tool.description)))
            return source.take(source.topic(vocabulary_of(asked)))
        everything = vocabulary_of(without_examples(written_about(self._tool)))
        if _AN_END.search(about) and (end := source.first(source.ends())):
            return source.take(end)
        spoken = re.split(r"[._-]+", name)[-1]
        named = source.first(chain(source.proper_names(), source.after_name(spoken, everything)))
        return source.take(named or source.topic(everything))

    def _from_results(self, name: str) -> Json:
        names = TEXT_FIELDS if name in TEXT_FIELDS else (name,)
        for fact in reversed(self._facts):
            for field in names:
                if (value := fact.field(field)) is not None:
                    return value
        return None

    def _expression(self) -> str | None:
        looked_up = [number for fact in self._facts if (number := fact.number()) is not None]
        reckoning: Reckoning | None = reckon(self._source.text, looked_up)
        if reckoning is None:
            return None
        self.unit = reckoning.unit
        return reckoning.expression

    def _flag(self, name: str, schema: JsonObject) -> bool | None:
        about = {word for word in vocabulary_of(f"{name} {described(schema)}") if len(word) > 3 or not word.isascii()}
        spoken = [
            word.span()
            for word in re.finditer(r"\w+", self._source.text)
            if any(akin(part, other) for part in words(word[0]) for other in about)
        ]
        self._source.used += spoken
        if not spoken:
            return None
        return not _NOT.search(self._source.text)

    def _near(self, mention: NumberMention, about: frozenset[str]) -> bool:
        following = words(self._source.text[mention.end : mention.end + 30])[:1]
        preceding = words(self._source.text[max(mention.start - 30, 0) : mention.start])[-1:] if mention.unit else []
        spoken = [*words(mention.text), *following, *preceding]
        if mention.unit:
            spoken += [mention.unit, f"{mention.unit}수"]
        return any(word in about for word in spoken)


def _is_id(name: str, schema: JsonObject) -> bool:
    return bool(_ID.search(name) or _ID.search(described(schema))) and takes_any_words(schema)


def _mentions_of(options: Sequence[str], description: str, text: str) -> Iterator[tuple[str, Span]]:
    """Places where a text names one of the options, by itself or by what the description calls it; in text order."""
    hits: list[tuple[int, int, str]] = []
    for option in options:
        for name in _names_of(option, description, options):
            hits += [(at, -end, option) for at, end in _places(name, text)]
    return ((option, (at, -end)) for at, end, option in sorted(hits))


def _names_of(option: str, description: str, options: Sequence[str]) -> list[str]:
    gloss = re.search(rf"(?<![\w]){re.escape(option)}\s*(?:[:=]|\()\s*([^,;)\n]+)", description)
    glosses = re.findall(r"[A-Za-z]{3,}|[가-힣]+", gloss[1]) if gloss else []
    return [option, *(name for name in glosses if name not in options)]


def _places(name: str, text: str) -> Iterator[Span]:
    if re.search("[가-힣]", name):
        for run in re.finditer("[가-힣]+", text):
            if korean_stem(run[0]) == name or (len(name) > 1 and run[0].startswith(name)):
                yield run.start(), run.start() + len(name)
            elif (
                run[0].startswith(name)
                and len(name) == 1
                and run[0][1:] in {"은", "을", "이", "으로", "과", "의", "에서"}
            ):
                yield run.start(), run.start() + 1
    else:
        spoken = re.escape(name).replace("_", "[ _-]")
        for found in re.finditer(rf"(?<![A-Za-z]){spoken}(?:s|es)?(?![A-Za-z])", text, re.I):
            yield found.span()


def _number(value: Decimal, whole: bool) -> int | float | None:
    if value == value.to_integral_value() and abs(value) < 10**15:
        return int(value)
    return None if whole else float(value)
