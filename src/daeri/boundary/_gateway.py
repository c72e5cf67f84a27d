"""Carries an allowed call out, within its time, and turns whatever goes wrong into data."""

from __future__ import annotations

import asyncio

from daeri.errors import Failure, ToolError
from daeri.text import Json, JsonObject, cut_middle
from daeri.tools import ArgumentsError, ResultError, Tool, ToolContext, ToolProvider

_CANCEL_GRACE_S = 1.0
"""How long a cancelled tool may take to clean up before its call is answered without it."""
_MAX_DIAGNOSTIC_CHARS = 2_000


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
            return work.result()
        await self._stop(work)
        return Failure(kind="timeout", diagnostic=f"{tool.name} did not finish within {tool.timeout_s:g} s")

    async def aclose(self) -> None:
        """Cancel what still runs after its call was answered, and wait for it a little."""
        for task in self._stragglers:
            task.cancel()
        if self._stragglers:
            await asyncio.wait(self._stragglers, timeout=_CANCEL_GRACE_S)

    async def _stop(self, work: asyncio.Task[Json | Failure]) -> None:
        work.cancel()
        _, running = await asyncio.wait({work}, timeout=_CANCEL_GRACE_S)
        if running:
            # it ignores its cancellation: its call is answered all the same, and the task stays ours until shutdown
            self._stragglers.add(work)
            work.add_done_callback(self._stragglers.discard)


async def _invoke(provider: ToolProvider, tool: Tool, arguments: JsonObject, context: ToolContext) -> Json | Failure:
    try:
        return await provider.invoke(tool.name, arguments, context)
    except asyncio.CancelledError:
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise
        return Failure(kind="tool_error", diagnostic=f"{tool.name} cancelled itself")
    except ArgumentsError as error:
        return Failure(kind="invalid_arguments", diagnostic=_short(error.diagnostic), path=error.problem.path)
    except ResultError as error:
        return Failure(kind="contract_violation", diagnostic=_short(error.diagnostic))
    except ToolError as error:
        return Failure(kind="tool_error", diagnostic=_short(error.diagnostic), user_message=error.user_message)
    except (Exception, SystemExit) as error:  # a tool that calls sys.exit() must not end the process
        return Failure(kind="tool_error", diagnostic=_short(f"{tool.name} raised {type(error).__name__}: {error}"))


def _short(text: str) -> str:
    return cut_middle(text, _MAX_DIAGNOSTIC_CHARS).text
