"""The toolkit `files`: reading text files below the configured roots."""

from __future__ import annotations

from typing import NoReturn

from typing_extensions import TypedDict

from ._decode import Decoded, decode
from ._fault import Fault
from ._roots import Place, Roots, listing, read_head

MAX_BYTES = 1_000_000
"""Bytes of a file that are read; what lies beyond is cut with a mark."""


class FileText(TypedDict):
    """A text file, or the lines of it that were asked for."""

    path: str
    encoding: str
    lines: int
    """Lines of the file, as far as it was read."""
    first_line: int
    last_line: int
    cut: bool
    text: str


def read_text(roots: Roots, path: str, first_line: int, last_line: int | None) -> FileText:
    """The lines `first_line` to `last_line` (counted from 1, both included) of the file that `path` means.

    Raises:
        Fault: no such file inside the roots, or none that holds text.
    """
    place = roots.find(path)
    if place is None:
        _refuse_missing(roots, path)
    decoded, size, cut = _decoded(place)
    lines = decoded.text.splitlines(keepends=True)
    last = len(lines) if last_line is None else min(last_line, len(lines))
    first = max(first_line, 1)
    if first > max(last, 1):
        raise Fault(
            "files.no_such_lines",
            f"{place.name!r} has {len(lines):,} lines; lines {first_line} to {last_line or 'the end'} don't exist",
            path=place.name,
            lines=len(lines),
        )
    text = "".join(lines[first - 1 : last])
    if cut and last == len(lines):
        text += f"\n[... {size - MAX_BYTES:,} of {size:,} bytes cut: only the head of this file is read ...]\n"
    return FileText(
        path=place.name,
        encoding=decoded.encoding,
        lines=len(lines),
        first_line=first,
        last_line=last,
        cut=cut,
        text=text,
    )


def _decoded(place: Place) -> tuple[Decoded, int, bool]:
    try:
        head = read_head(place, MAX_BYTES)
        if head is None:
            _refuse_folder(place)
    except OSError as error:
        reason = error.strerror or "it can't be opened"
        raise Fault("files.unreadable", f"{place.name!r} can't be read: {reason}", path=place.name) from None
    data, size = head
    cut = size > len(data)
    decoded = decode(data, complete=not cut)
    if decoded is None:
        raise Fault(
            "files.not_text",
            f"{place.name!r} holds no text in UTF-8, UTF-16 or CP949 ({size:,} bytes); it can't be read with this tool",
            path=place.name,
        )
    return decoded, size, cut


def _refuse_missing(roots: Roots, path: str) -> NoReturn:
    close = roots.closest(path)
    hint = f"did you mean: {', '.join(close)}?" if close else "no file inside the readable folders has a similar name."
    raise Fault("files.not_found", f"no readable file {path!r}; {hint}", path=path)


def _refuse_folder(place: Place) -> NoReturn:
    try:
        names = listing(place)
    except NotADirectoryError:
        what = "a device or pipe, not a file"
    else:
        what = f"a folder, not a file; {'it contains ' + ', '.join(names) if names else 'it is empty'}"
    raise Fault("files.not_a_file", f"{place.name!r} is {what}", path=place.name)
