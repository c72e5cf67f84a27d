"""Carries an allowed call out, within its time, and turns whatever goes wrong into data."""

from __future__ import annotations

import asyncio

from daeri.errors import Failure, ToolError
from daeri.text import Json, JsonObject, cut_middle, scrub_text
from daeri.tools import ArgumentsError, ResultError, Tool, ToolContext, ToolProvider

_CANCEL_GRACE_S = 1.0
"""How long a cancelled tool may take to clean up before its call is answered without it."""
_MAX_TEXT_CHARS = 2_000
"""Of what a tool says about its failure."""


class Gateway:
    """Runs tools; reachable only from the boundary."""

    def __init__(self) -> None:
        self._stragglers: set[asyncio.Task[Json | Failure]] = set()

    async def carry_out(
        self, provider: ToolProvider, tool: Tool, arguments: JsonObject, context: ToolContext
    ) -> Json | Failure:
        """The tool's result, or why there is none. Cancelling it cancels the tool."""
        work = asyncio.ensure_future(_invoke(provider, tool, arguments, context))
        try:
            done, _ = await asyncio.wait({work}, timeout=tool.timeout_s)
        except asyncio.CancelledError:
            await self._stop(work)
            raise
        if done:
            return _cancelled_itself(tool) if work.cancelled() else work.result()
        await self._stop(work)
        return Failure(kind="timeout", diagnostic=f"{tool.name} did not finish within {tool.timeout_s:g} s")

    async def aclose(self) -> None:
        """Cancel what still runs after its call was answered, and wait for it a little."""
        for task in self._stragglers:
            task.cancel()
        if self._stragglers:
            await asyncio.wait(self._stragglers, timeout=_CANCEL_GRACE_S)

    async def _stop(self, work: asyncio.Task[Json | Failure]) -> None:
        # known before the wait, which a further cancel may interrupt: if it ignores its cancellation its call is
        # answered all the same, and the task stays ours until shutdown
        self._stragglers.add(work)
        work.add_done_callback(self._stragglers.discard)
        work.cancel()
        await asyncio.wait({work}, timeout=_CANCEL_GRACE_S)


async def _invoke(provider: ToolProvider, tool: Tool, arguments: JsonObject, context: ToolContext) -> Json | Failure:
    try:
        return await provider.invoke(tool.name, arguments, context)
    except asyncio.CancelledError:
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise
        return _cancelled_itself(tool)
    except KeyboardInterrupt:  # the person at the keyboard, not the tool
        raise
    except BaseException as error:  # a tool that calls sys.exit() must not end the process
        return _failure_of(tool, error)


def _failure_of(tool: Tool, error: BaseException) -> Failure:
    if isinstance(error, ToolError):
        # a subclass may have forgotten to call ToolError.__init__
        diagnostic = _words(getattr(error, "diagnostic", error))
        if isinstance(error, ArgumentsError):
            return Failure(kind="invalid_arguments", diagnostic=diagnostic, path=error.problem.path)
        if isinstance(error, ResultError):
            return Failure(kind="contract_violation", diagnostic=diagnostic)
        said = getattr(error, "user_message", None)
        return Failure(kind="tool_error", diagnostic=diagnostic, user_message=_words(said) if said else None)
    return Failure(kind="tool_error", diagnostic=_words(f"{tool.name} raised {type(error).__name__}: {_words(error)}"))


def _cancelled_itself(tool: Tool) -> Failure:
    return Failure(kind="tool_error", diagnostic=f"{tool.name} cancelled itself")


def _words(said: object) -> str:
    try:
        text = str(said)
    except Exception as error:  # an exception's own code makes its text, and that may fail like anything else
        text = f"(its text can't be read: {type(error).__name__})"
    return scrub_text(cut_middle(text, _MAX_TEXT_CHARS).text)
