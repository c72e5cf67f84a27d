"""Tables for people."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ._lines import one_line

_WIDE = 10_000


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under their columns; in a terminal the last column gives way, elsewhere nothing is cut."""
    in_terminal = sys.stdout.isatty()
    table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns[:-1]:
        table.add_column(column, no_wrap=True)
    table.add_column(columns[-1], no_wrap=True, overflow="ellipsis", ratio=1 if in_terminal else None)
    for row in rows:
        table.add_row(*(Text(one_line(cell, _WIDE)) for cell in row))
    console = Console(width=None if in_terminal else _WIDE, highlight=False)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        print(line.rstrip())
