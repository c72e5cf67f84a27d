"""The embedded planner: a model that is none, for a first run without a key, tests and outages."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from decimal import Decimal
from itertools import count

from daeri.text import JsonObject, detect_locale

from ._planner_answer import about_itself, answer, failure, missing, not_reckoned, not_understood
from ._planner_arguments import fill
from ._planner_arithmetic import left_out
from ._planner_facts import Fact, facts_of
from ._planner_plan import Plan, Step, make_plan
from ._planner_schema import looks_up
from ._planner_words import akin, content_words, is_small_talk
from ._port import ModelCall, ModelEvent, ModelReply, ModelRequest, TextDelta, ToolSpec

_MODEL = "daeri offline planner"
_CLOSE = 0.8
_COST = re.compile(r"\bcost\b", re.I)
_LONGEST_GOAL = 4000
"""Characters of a goal that are read; the planner understands sentences, not documents."""


class EmbeddedPlanner:
    """Picks tools by their words, fills arguments by their schemas, and answers from results; it knows nothing else.

    The same request always gives the same reply.
    """

    @property
    def name(self) -> str:
        """As it is chosen in settings."""
        return "planner"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """One turn: calls, or a text."""
        reply = _turn(request)
        if reply.text:
            yield TextDelta(text=reply.text)
        yield reply

    async def close(self) -> None:
        """Nothing to give back."""


def _turn(request: ModelRequest) -> ModelReply:
    goal, locale = request.goal[:_LONGEST_GOAL], request.locale
    facts = facts_of(request)
    if not facts and is_small_talk(goal):
        return _say(about_itself(request.tools, locale))
    newest = facts[len(facts) - len(request.blocks[-1].answers) :] if request.blocks else []
    if failed := next((fact for fact in newest if fact.failed), None):
        return _after_failure(request, facts, failed, goal)
    plan = make_plan(goal, request.tools)
    step = _next_step(plan, facts)
    if dropped := _left_out(goal, plan, step, facts):
        return _say(not_reckoned(dropped, facts, locale))
    if step is not None:
        filled = fill(step.tool, step.text, facts)
        if not filled.calls:
            return _say(missing(step.tool, filled.missing, facts, locale))
        return _call(step.tool, filled.calls, request)
    if not facts:
        return _say(not_understood(request.tools, locale))
    return _say(answer(facts, newest or facts[-1:], _unit(plan, facts), plan, locale))


def _next_step(plan: Plan, facts: Sequence[Fact]) -> Step | None:
    """The first step that has no answer yet; what another tool found in its place counts as one."""
    planned = {step.tool.name for step in plan.steps}
    done, stood_in_for = Counter[str](), ""
    for fact in facts:
        if fact.failed:
            stood_in_for = fact.tool
        else:
            done[fact.tool if fact.tool in planned else stood_in_for] += 1
    return next((step for step in plan.steps if not done[step.tool.name]), None)


def _left_out(goal: str, plan: Plan, step: Step | None, facts: Sequence[Fact]) -> list[str]:
    """What a calculation would drop, before it is made; all of it, where an answer would come without."""
    found = [fact for fact in facts if not fact.failed]
    looked_up = [number for fact in found if (number := fact.number())]
    asked_with = " ".join(str(value) for fact in found for value in fact.arguments.values())
    if step is None:
        done = not found or plan.uncalculated or any(one.reckons for one in plan.steps)
        return [] if done else left_out(goal, "", looked_up, asked_with)
    calls = fill(step.tool, step.text, facts).calls if step.reckons else ()
    return left_out(goal, " ".join(map(str, calls[0].values())), looked_up, asked_with) if calls else []


def _unit(plan: Plan, facts: Sequence[Fact]) -> str | None:
    """The unit of the number that was calculated last; `None` when the last call was no calculation."""
    step = next((step for step in plan.steps if step.reckons and step.tool.name == facts[-1].tool), None)
    return None if step is None else fill(step.tool, step.text, facts[:-1]).unit


def _after_failure(request: ModelRequest, facts: Sequence[Fact], failed: Fact, goal: str) -> ModelReply:
    """One more try where there is an obvious one; else what failed, as the call says it."""
    if sum(fact.failed for fact in facts) == 1:
        tool = next((tool for tool in request.tools if tool.name == failed.tool), None)
        if tool is not None and (other := _corrected(failed, goal)):
            return _call(tool, [other], request)
        if tool is not None and looks_up(tool) and (search := _another_place(request.tools, facts)):
            filled = fill(search, goal, facts)
            if filled.calls:
                return _call(search, filled.calls, request)
    return _say(failure(failed, facts, request.locale))


def _another_place(tools: Sequence[ToolSpec], facts: Sequence[Fact]) -> ToolSpec | None:
    """A tool not yet asked that looks things up as well."""
    asked = {fact.tool for fact in facts}
    return next((tool for tool in tools if tool.name not in asked and looks_up(tool)), None)


def _corrected(failed: Fact, goal: str) -> JsonObject | None:
    """The same arguments with the one wrong string replaced by the suggestion closest to it, if one is close at all."""
    wrong = [(name, value) for name, value in failed.arguments.items() if isinstance(value, str)]
    if len(wrong) != 1:
        return None
    name, value = wrong[0]
    suggestions = [one for one in failed.alternatives() if one and _close(one, value)]
    if not suggestions:
        return None
    spoken = [one for one in suggestions if detect_locale(one) == detect_locale(goal)] or suggestions
    best = max(spoken, key=lambda one: difflib.SequenceMatcher(None, one.lower(), value.lower()).ratio())
    return None if best == value else {**failed.arguments, name: best}


def _close(suggestion: str, value: str) -> bool:
    """Whether a name is one slip of the pen from another, or shares most of its words."""
    if difflib.SequenceMatcher(None, suggestion.lower(), value.lower()).ratio() >= _CLOSE:
        return True
    asked = content_words(_COST.sub("price", value))
    return sum(any(akin(word, other) for other in content_words(suggestion)) for word in asked) * 2 > len(asked)


def _say(text: str) -> ModelReply:
    return ModelReply(text=text, finish="stop", cost=Decimal(0), model=_MODEL)


def _call(tool: ToolSpec, argument_sets: Sequence[JsonObject], request: ModelRequest) -> ModelReply:
    taken = {call.id for block in request.blocks for call in block.reply.calls}
    fresh = (name for number in count(1) if (name := f"planner_{number}") not in taken)
    calls = tuple(
        ModelCall(id=next(fresh), name=tool.name, arguments=json.dumps(arguments, ensure_ascii=False))
        for arguments in argument_sets
    )
    return ModelReply(calls=calls, finish="calls", cost=Decimal(0), model=_MODEL)
