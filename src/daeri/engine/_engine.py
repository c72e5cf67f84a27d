"""Starts runs and keeps hold of those under way."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import cast

from pydantic_core import to_jsonable_python

from daeri.boundary import Boundary, principal_json
from daeri.identity import Principal
from daeri.models import Model, ModelChoice, ToolSpec
from daeri.text import JsonObject, Locale, detect_locale, scrub_text
from daeri.tools import Tool, strict_schema

from ._agent import Agent, Limits
from ._calls import Caller
from ._events import RunStarted
from ._loop import Loop, Task, run_ended
from ._model_turn import RetryPolicy
from ._ports import RunRow, RunStore
from ._recorder import Feed, Recorder
from ._run import Run


class Engine:
    """Runs agents; it reaches tools only through the boundary that it is given."""

    def __init__(
        self,
        *,
        boundary: Boundary,
        store: RunStore,
        retry: RetryPolicy | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._boundary = boundary
        self._store = store
        self._retry = retry or RetryPolicy()
        self._clock = clock
        self._running: set[Run] = set()

    async def start(
        self,
        goal: str,
        *,
        agent: Agent,
        model: Model,
        principal: Principal,
        choice: ModelChoice | None = None,
        limits: Limits | None = None,
        locale: Locale | None = None,
    ) -> Run:
        """Begin a run; it is on record when this returns.

        `limits` are the agent's unless given; `locale` is that of the goal unless given; `choice` says why this model.

        Raises:
            StoreError: the run could not be written down, so it does not begin.
        """
        goal = scrub_text(goal)
        language = locale or detect_locale(goal)
        row = RunRow(
            run_id=secrets.token_hex(8),
            tenant=principal.tenant,
            subject=principal.subject,
            agent=agent.name,
            model=model.name,
            goal=goal,
            state="running",
            created_at=self._clock(),
        )
        feed = Feed()
        recorder = Recorder(run_id=row.run_id, tenant=row.tenant, store=self._store, clock=self._clock, feed=feed)
        acting = principal.acting_as(agent.name, agent.scopes)
        allowed = None if "*" in agent.tools else frozenset(agent.tools)
        tools = self._boundary.visible_tools(acting, allowed)
        task = Task(
            goal=goal,
            agent=agent,
            model=model,
            limits=limits or agent.limits,
            locale=language,
            specs=[spec_of(tool) for tool in tools],
            caller=Caller(
                run_id=row.run_id,
                agent=agent.name,
                principal=acting,
                allowed_tools=allowed,
                read_only=frozenset(tool.name for tool in tools if tool.annotations.read_only),
                locale=language,
                max_output_chars=(limits or agent.limits).max_tool_output_chars,
            ),
        )
        await _begin(recorder, row, _started(task, acting, tools, choice))
        loop = Loop(task, boundary=self._boundary, recorder=recorder, retry=self._retry)
        run = Run(row, loop, recorder=recorder, feed=feed, locale=language, choice=choice)
        self._running.add(run)
        run.when_done(self._running.discard)
        await run.begun()
        return run

    async def aclose(self) -> None:
        """Cancel the runs under way and wait until their journals say so."""
        for run in list(self._running):
            await run.stop()


def spec_of(tool: Tool) -> ToolSpec:
    """A tool as it is offered to a model."""
    schema = strict_schema(tool.input_schema) if tool.strict else tool.input_schema
    return ToolSpec(
        name=tool.name,
        description=tool.description,
        input_schema=schema,
        strict=tool.strict,
        read_only=tool.annotations.read_only,
    )


async def _begin(recorder: Recorder, row: RunRow, started: RunStarted) -> None:
    try:
        await recorder.begin(row, started)
    except asyncio.CancelledError:
        if recorder.begun:  # nobody will drive it, so nobody else can end it
            await recorder.write(run_ended(recorder, "cancelled", "cancelled"), state="cancelled")
        raise


def _started(task: Task, principal: Principal, tools: Sequence[Tool], choice: ModelChoice | None) -> RunStarted:
    return RunStarted(
        goal=task.goal,
        agent=task.agent.name,
        instructions=task.agent.instructions,
        model=task.model.name,
        model_choice=choice.why if choice else "configured",
        principal=principal_json(principal),
        locale=task.locale,
        limits=cast("JsonObject", to_jsonable_python(asdict(task.limits))),
        tools={tool.name: tool.definition_hash for tool in tools},
    )
