"""Tables for people."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from ._lines import one_line

_WIDE = 10_000
_GAP = "  "
_LEAST_WIDTH = 16
"""With less room than this the last column has a line of its own."""
_INDENT = "    "


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under their columns; in a terminal the last column gives way, nothing else is ever cut."""
    cells = [[one_line(cell, _WIDE) for cell in row] for row in (columns, *rows)]
    widths = [max(map(cell_len, column)) for column in list(zip(*cells, strict=True))[:-1]]
    heads = [_GAP.join(set_cell_size(cell, width) for cell, width in zip(row, widths, strict=False)) for row in cells]
    lasts = [row[-1] for row in cells]
    if not sys.stdout.isatty():
        lines = [f"{head}{_GAP}{last}" for head, last in zip(heads, lasts, strict=True)]
    else:
        lines = _fitted(heads, lasts, shutil.get_terminal_size().columns)
    for line in lines:
        print(line.rstrip())


def _fitted(heads: Sequence[str], lasts: Sequence[str], width: int) -> list[str]:
    room = width - cell_len(heads[0]) - len(_GAP)
    needed = max(map(cell_len, lasts))
    if room >= min(needed, _LEAST_WIDTH):
        return [f"{head}{_GAP}{_cut(last, room)}" for head, last in zip(heads, lasts, strict=True)]
    lines: list[str] = []
    for head, last in zip(heads, lasts, strict=True):
        lines += [head, f"{_INDENT}{_cut(last, width - len(_INDENT))}"] if last else [head]
    return lines


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"
