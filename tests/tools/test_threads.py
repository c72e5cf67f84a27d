import asyncio
import subprocess
import sys
import threading

import pytest

from daeri.tools import PythonTools, ToolContext, tool


async def test_no_more_functions_run_at_once_than_allowed(context: ToolContext) -> None:
    both = threading.Barrier(2, timeout=30)
    lock = threading.Lock()
    running: list[int] = []
    most: list[int] = []

    @tool
    def meet(number: int) -> int:
        with lock:
            running.append(number)
            most.append(len(running))
        both.wait()
        with lock:
            running.remove(number)
        return number

    provider = PythonTools("python", [meet], max_threads=2)
    calls = [provider.invoke("meet", {"number": number}, context) for number in range(6)]
    assert await asyncio.gather(*calls) == list(range(6))
    assert max(most) == 2
    await provider.aclose()


async def test_work_that_is_cancelled_before_it_begins_never_begins(context: ToolContext) -> None:
    begun = asyncio.Event()
    release = threading.Event()
    ran: list[str] = []
    loop = asyncio.get_running_loop()

    @tool
    def work(name: str) -> None:
        ran.append(name)
        loop.call_soon_threadsafe(begun.set)
        release.wait(30)

    provider = PythonTools("python", [work], max_threads=1)
    first = asyncio.create_task(provider.invoke("work", {"name": "first"}, context))
    await begun.wait()
    second = asyncio.create_task(provider.invoke("work", {"name": "second"}, context))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    release.set()
    await first
    await provider.invoke("work", {"name": "third"}, context)
    assert ran == ["first", "third"]
    await provider.aclose()


@pytest.mark.parametrize("error", [StopIteration("over"), SystemExit(1), KeyError("k"), asyncio.CancelledError()])
async def test_whatever_a_function_raises_arrives_as_an_ordinary_error(
    error: BaseException, context: ToolContext
) -> None:
    @tool
    def fail() -> None:
        raise error

    provider = PythonTools("python", [fail])
    with pytest.raises((RuntimeError, KeyError)):
        await provider.invoke("fail", {}, context)
    await provider.aclose()


async def test_a_closed_provider_takes_no_more_work(context: ToolContext) -> None:
    @tool
    def work() -> None: ...

    provider = PythonTools("python", [work])
    await provider.invoke("work", {}, context)
    await provider.aclose()
    with pytest.raises(RuntimeError, match="closed"):
        await provider.invoke("work", {}, context)


STUCK = """
import asyncio, threading
from daeri.identity import Principal
from daeri.tools import PythonTools, ToolContext, tool

begun = threading.Event()

@tool
def stuck() -> None:
    begun.set()
    threading.Event().wait()

async def main():
    context = ToolContext(call_id="c", principal=Principal(tenant="t", subject="s"), locale="en", report=print)
    task = asyncio.create_task(PythonTools("python", [stuck]).invoke("stuck", {}, context))
    await asyncio.to_thread(begun.wait)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled")

asyncio.run(main())
"""


def test_a_function_that_never_returns_does_not_keep_the_process_alive() -> None:
    done = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "cancelled\n"
