"""What a docstring says about a function and its parameters, in whatever style it is written."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from griffe import DocstringSection


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionText:
    """The words of a docstring, taken apart."""

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict[str, str])


def read_docstring(docstring: str | None, parameters: Collection[str]) -> FunctionText:
    """The parts of a Google, NumPy or reST docstring; the style that explains most of `parameters` is the right one."""
    text = inspect.cleandoc(docstring or "")
    if "\n" not in text and not text.startswith(":"):
        return FunctionText(description=text)
    # griffe takes a while to import, and most modules that mention tools define none
    import griffe

    parsers = (griffe.parse_google, griffe.parse_numpy, griffe.parse_sphinx)
    with griffe.logger.disable():
        readings = [parser(griffe.Docstring(text, lineno=1)) for parser in parsers]
    best = max(readings, key=lambda sections: _understood(sections, parameters))
    documented = {name: words for name, words in _parameters(best).items() if name in parameters}
    return FunctionText(description=_description(best), parameters=documented)


def _understood(sections: list[DocstringSection], parameters: Collection[str]) -> tuple[int, int]:
    return len(_parameters(sections).keys() & set(parameters)), sum(s.kind.value != "text" for s in sections)


def _parameters(sections: list[DocstringSection]) -> dict[str, str]:
    return {
        item.name.lstrip("*"): " ".join(item.description.split())
        for section in sections
        if section.kind.value in ("parameters", "other parameters")
        for item in section.value
        if item.description
    }


def _description(sections: list[DocstringSection]) -> str:
    parts: list[str] = []
    for section in sections:
        if section.kind.value == "text":
            parts.append(section.value)
        elif section.kind.value == "admonition":
            # a warning is part of what a reader must know
            parts.append(f"{section.title}: {section.value.contents}")
    return "\n\n".join(parts)
