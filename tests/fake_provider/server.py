"""A provider on a real loopback port that does what it was told, request by request.

Each wire format is one module with `PATH`, `whole`, `events`, `error` and `END`; `FORMATS` lists them.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager
from queue import SimpleQueue
from types import ModuleType
from typing import Any, cast

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from . import chat
from .scenario import FakeCall, FakeUsage, Hang, Refusal, Reply, Scenario, Seen

FORMATS: tuple[ModuleType, ...] = (chat,)


class FakeProvider:
    """The queue of what to do, the list of what came in."""

    # The words of a scenario, at hand for tests that get this object from a fixture.
    Reply, Refusal, Hang, Call, Usage = Reply, Refusal, Hang, FakeCall, FakeUsage

    def __init__(self, port: int = 0) -> None:
        self._socket = socket.create_server(("127.0.0.1", port))
        self._queue: deque[Scenario] = deque()
        self._arrived: SimpleQueue[Seen] = SimpleQueue()
        self.seen: list[Seen] = []
        self.models: list[str] | None = ["fake-model"]
        """`None`: a server that answers, but is no model server."""

    @property
    def port(self) -> int:
        return cast("int", self._socket.getsockname()[1])

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def will(self, *scenarios: Scenario) -> None:
        """Do these in order, one per request."""
        self._queue.extend(scenarios)

    def next_request(self, timeout: float = 10) -> Seen:
        """Wait for the next request that nobody has waited for yet."""
        return self._arrived.get(timeout=timeout)

    def reset(self) -> None:
        self._queue.clear()
        self._arrived = SimpleQueue()
        self.seen.clear()
        self.models = ["fake-model"]

    def app(self) -> Starlette:
        turns = [Route(form.PATH, self._endpoint(form), methods=["POST"]) for form in FORMATS]
        return Starlette(routes=[*turns, Route("/v1/models", self._list_models)])

    def server(self) -> uvicorn.Server:
        return uvicorn.Server(
            uvicorn.Config(self.app(), log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
        )

    def serve(self) -> None:
        self.server().run(sockets=[self._socket])

    @contextmanager
    def in_thread(self) -> Generator[FakeProvider]:
        server = self.server()
        thread = threading.Thread(target=server.run, kwargs={"sockets": [self._socket]}, name="fake-provider")
        thread.start()
        try:
            yield self
        finally:
            server.should_exit = True
            thread.join()

    async def _list_models(self, request: Request) -> Response:
        if self.models is None:
            return JSONResponse({"data": "hello"})
        return JSONResponse({"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]})

    def _endpoint(self, form: ModuleType) -> Callable[[Request], Any]:
        async def turn(request: Request) -> Response:
            seen = Seen(path=request.url.path, headers=dict(request.headers), body=await request.json())
            self.seen.append(seen)
            self._arrived.put(seen)
            unplanned = Refusal(status=400, message="the fake provider has nothing left to do")
            scenario = self._queue.popleft() if self._queue else unplanned
            match scenario:
                case Hang():
                    return _Stream(seen, _silence(), stop_at=0)
                case Refusal(in_stream=False):
                    body = json.dumps(form.error(scenario)).replace("{authorization}", seen.headers["authorization"])
                    headers = scenario.headers | {"content-type": "application/json"}
                    return Response(body, scenario.status, headers=headers)
                case Refusal():
                    begun = [*form.events(Reply(text="so far so good"), "fake-model")][:3]
                    return _Stream(seen, _sse([*begun, form.error(scenario)], end=form.END))
                case Reply():
                    return _reply(form, scenario, seen)

        return turn


def _reply(form: ModuleType, reply: Reply, seen: Seen) -> Response:
    model = str(seen.body.get("model"))
    if not seen.body.get("stream"):
        return JSONResponse(form.whole(reply, model))
    events = [*form.events(reply, model)]
    if reply.cut_after is None:
        return _Stream(seen, _sse(events, end=form.END), stop_at=reply.stop_at)
    return _Stream(seen, _sse(events[: reply.cut_after], end=""), torn=not reply.clean_cut)


async def _sse(events: list[dict[str, Any]], *, end: str) -> AsyncIterator[str]:
    for event in events:
        # json.dumps writes a lone surrogate as an escape: a server written in C or Go does the same.
        yield f"data: {json.dumps(event)}\n\n"
    if end:
        yield end


async def _silence() -> AsyncIterator[str]:
    yield ""


class _Stream(Response):
    """Server-sent events that can wait for the client to go away, or break off."""

    def __init__(
        self, seen: Seen, events: AsyncIterator[str], *, stop_at: int | None = None, torn: bool = False
    ) -> None:
        super().__init__(media_type="text/event-stream")
        self._seen = seen
        self._events = events
        self._stop_at = stop_at
        self._torn = torn

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del self.headers["content-length"]
        if self._stop_at != 0:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        at = 0
        async for event in self._events:
            if at == self._stop_at:
                await self._wait_for_goodbye(receive)
                return
            await send({"type": "http.response.body", "body": event.encode(), "more_body": True})
            # One network write per event, as from a model that thinks between them.
            await asyncio.sleep(0)
            at += 1
        if self._torn:
            raise ConnectionAbortedError("cut on purpose")
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _wait_for_goodbye(self, receive: Receive) -> None:
        self._seen.reached.set()
        while (await receive())["type"] != "http.disconnect":
            pass
        self._seen.gone.set()
