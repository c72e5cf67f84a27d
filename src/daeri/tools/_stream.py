"""Tools that yield their result piece by piece."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from pydantic_core import PydanticSerializationError, to_jsonable_python

MAX_STREAM_CHARS = 25_000_000
"""A stream that goes on beyond this is given up: nobody downstream could hold its result."""


class UnfitStreamError(Exception):
    """What a stream yields is no JSON, not what it promised, or more than any result may be."""


async def collect(
    stream: AsyncGenerator[object], report: Callable[[str], None], *, as_text: bool | None
) -> str | list[object]:
    """Everything that the stream yields, each chunk reported as it comes: strings as they are, the rest as JSON.

    Args:
        stream: The stream; closed in any case.
        report: Told of each chunk.
        as_text: Whether the result is the joined text or the list of chunks. `None`: text if all chunks are strings and
            there are any.

    Raises:
        UnfitStreamError: a chunk can't be written as JSON, is no text where text was promised, or is one too many.
    """
    chunks: list[object] = []
    chars = 0
    async with aclosing(stream):
        async for chunk in stream:
            text = chunk if isinstance(chunk, str) else _json(chunk)
            chars += len(text) + 1
            if chars > MAX_STREAM_CHARS:
                raise UnfitStreamError(f"it goes on after {MAX_STREAM_CHARS:,} characters")
            chunks.append(chunk)
            report(text)
            # a generator that never waits must not keep everybody else, nor its own time limit, from their turn
            await asyncio.sleep(0)
    texts = [chunk for chunk in chunks if isinstance(chunk, str)]
    if as_text and len(texts) < len(chunks):
        raise UnfitStreamError("a chunk is not the text that its annotation promises")
    joined = as_text if as_text is not None else bool(chunks) and len(texts) == len(chunks)
    return "".join(texts) if joined else chunks


def _json(chunk: object) -> str:
    try:
        return json.dumps(to_jsonable_python(chunk, by_alias=True), ensure_ascii=False, allow_nan=False)
    except (PydanticSerializationError, ValueError, TypeError, RecursionError) as error:
        raise UnfitStreamError(str(error)) from error
