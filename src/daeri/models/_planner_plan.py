"""Which tools a goal needs, in which order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from daeri.text import find_numbers
from daeri.tools import ToolIndex

from ._planner_arguments import Filled, fill
from ._planner_arithmetic import reckon, wants_arithmetic, written_expression
from ._planner_schema import expression_parameter, looks_up, parameters, without_examples, written_about
from ._planner_words import (
    actions_in,
    akin,
    changing_words,
    content_words,
    is_generic,
    is_question,
    known,
    vocabulary_of,
)
from ._port import ToolSpec

_JOINTS = re.compile(
    r"(?<=해서)\s+|(?<=하여)\s+|(?<=하고)\s+|(?<=찾아서)\s+|(?<=읽고)\s+|(?<=읽어서)\s+|(?<=보고)\s+|\s*그리고\s+"
    r"|(?<=[한은])\s+(?:뒤|후|다음)(?:에)?\s+|,?\s+(?:and then|then|and)\s+|;\s+|(?<=[.?!])\s+(?=\S)",
    re.I,
)
_PROTECTED = re.compile(r"[\"“][^\"”]*[\"”]|(?<!\w)'[^']*'|(?<=\S):\s.*$", re.S)
_UNFILLED = 0.5
"""How much a tool counts that can't be called yet, against one that can."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """A tool, and the part of the goal that is about it."""

    tool: ToolSpec
    text: str
    reckons: bool = False
    """Calculates, also with what earlier steps found."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Steps in their order."""

    steps: tuple[Step, ...]
    uncalculated: bool = False
    """A calculation is asked for, and no tool offered can do it."""
    guessed: bool = False
    """No tool fits the words; the goal is a question, so it is looked up where anything can be."""


def make_plan(goal: str, tools: Sequence[ToolSpec]) -> Plan:
    """The steps for a goal; none when no tool fits it well enough. The same goal and tools give the same plan."""
    chooser = _Chooser(goal, tools)
    steps: list[Step] = []
    start = 0
    for begin, end in _clauses(goal):
        step = chooser.choose(goal[begin if steps else start : end], after=steps)
        if step is not None and not (steps and step.tool is steps[-1].tool):
            steps.append(step)
            start = begin if len(steps) > 1 else 0
        elif steps and (steps[-1].reckons or not wants_arithmetic(goal[begin:end])):
            steps[-1] = replace(steps[-1], text=goal[start:end])
    if not steps and (step := chooser.choose(goal, after=())):
        steps = [step]
    lacking = len(steps) == 1 and not steps[0].reckons and not fill(steps[0].tool, steps[0].text, ()).calls
    if (not steps or lacking) and is_question(goal):
        open_ended = [Step(tool=tool, text=goal) for tool in tools if looks_up(tool) and fill(tool, goal, ()).calls]
        if open_ended or not steps:
            return replace(chooser.with_operands(open_ended[:1]), guessed=True)
    return chooser.with_operands(steps)


class _Chooser:
    def __init__(self, goal: str, tools: Sequence[ToolSpec]) -> None:
        self._goal = goal
        self._reckoner = next((tool for tool in tools if expression_parameter(tool)), None)
        self._tools = [tool for tool in tools if tool is not self._reckoner]
        self._index = ToolIndex(self._tools)
        self._known = {tool.name: vocabulary_of(without_examples(written_about(tool))) for tool in self._tools}

    def choose(self, text: str, *, after: Sequence[Step]) -> Step | None:
        """The step that a part of the goal asks for."""
        if self._reckoner and self._can_reckon(text, after):
            return Step(tool=self._reckoner, text=text if find_numbers(text) else self._goal, reckons=True)
        tool = self._best(text, after)
        return None if tool is None else Step(tool=tool, text=text)

    def with_operands(self, steps: list[Step]) -> Plan:
        """The plan of these steps, with a look-up before a calculation that has too few numbers of its own."""
        goal = self._goal
        if steps and steps[0].reckons and reckon(steps[0].text, ()) is None and (tool := self._best(goal, ())):
            steps = [Step(tool=tool, text=_before_numbers(goal)), *steps]
        elif len(steps) == 1 and not steps[0].reckons and self._reckoner and self._calculates_with(steps[0]):
            steps = [*steps, Step(tool=self._reckoner, text=goal, reckons=True)]
        asked = (
            wants_arithmetic(goal)
            and bool(find_numbers(goal))
            and bool(re.search("calculat|계산|multipl|곱", goal, re.I))
        )
        return Plan(steps=tuple(steps), uncalculated=asked and self._reckoner is None)

    def _can_reckon(self, text: str, after: Sequence[Step]) -> bool:
        if written_expression(text):
            return not re.sub(r"[\W\d]", "", text) or wants_arithmetic(text)
        numbers = find_numbers(self._goal if after else text)
        return wants_arithmetic(text) and bool(numbers) and (bool(after) or self._is_sum(text))

    def _is_sum(self, text: str) -> bool:
        return reckon(text, ()) is not None or re.search("calculat|계산", text, re.I) is not None

    def _calculates_with(self, step: Step) -> bool:
        numbers = {kind for schema in parameters(step.tool).values() if isinstance(kind := schema.get("type"), str)}
        return wants_arithmetic(step.text) and bool(find_numbers(step.text)) and not numbers & {"integer", "number"}

    def _best(self, text: str, after: Sequence[Step]) -> ToolSpec | None:
        ranked = [
            (score * (_UNFILLED if not self._fill(tool, text).calls and not after else 1.0), -at, tool)
            for at, (tool, score) in enumerate(self._index.search(" ".join(content_words(text)), len(self._tools)))
            if self._is_meant(tool, text, after)
        ]
        return max(ranked, key=lambda entry: entry[:2])[2] if ranked else None

    def _is_meant(self, tool: ToolSpec, text: str, after: Sequence[Step]) -> bool:
        """Whether enough words are shared with a tool; a change to the world must be asked for by name."""
        changing = [] if tool.read_only else changing_words(tool.name, tool.description)
        spoken = content_words(text)
        if changing and not (
            actions_in(text) & {*changing} or any(akin(word, verb) for word in spoken for verb in changing)
        ):
            return False
        shared = [word for word in spoken if known(word, self._known[tool.name])]
        telling = [word for word in shared if not is_generic(word) and not word.isdigit()]
        if after:
            return bool(telling) and (len(shared) > 1 or shared[0] == spoken[0])
        if telling and (len(telling) > 1 or self._is_named(telling[0], tool)):
            return True
        return bool(shared) and bool(self._fill(tool, text).calls)

    def _is_named(self, word: str, tool: ToolSpec) -> bool:
        return known(word, vocabulary_of(f"{tool.name} {tool.description}"))

    def _fill(self, tool: ToolSpec, text: str) -> Filled:
        return fill(tool, text, ())


def _clauses(goal: str) -> list[tuple[int, int]]:
    """Where the parts of a goal begin and end; quotations stay whole."""
    protected = [found.span() for found in _PROTECTED.finditer(goal)]
    cuts = [
        found.span()
        for found in _JOINTS.finditer(goal)
        if not any(start <= found.start() < end for start, end in protected)
    ]
    starts = [0, *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), len(goal)]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if goal[start:end].strip()]


def _before_numbers(goal: str) -> str:
    for one in reversed(find_numbers(goal)):
        goal = goal[: one.start] + "," + goal[one.end :]
    return goal
