"""Cedar files as their policies, each with its place: the parser itself says nothing of lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from daeri.errors import DefinitionError

_TOKEN = re.compile(r"""//[^\n]*|"(?:\\.|[^"\\])*"|;|[^;"/]+|.""", re.DOTALL)
_NOTHING = re.compile(r"(?:\s|//[^\n]*)*")
_AT_END = "unexpected end of input"


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyText:
    """One policy as it is written."""

    file: Path
    line: int
    """Where it begins, counted from 1."""
    text: str

    def fault(self, problem: str, fix: str = "", *, line: int | None = None) -> DefinitionError:
        """What is wrong with it, and where."""
        return DefinitionError(f"{self.file}:{self.line if line is None else line}", problem, fix)


def cedar_files(folder: Path) -> Sequence[Path]:
    """The policy files of a folder, by name; none when there is no folder."""
    return sorted(folder.glob("*.cedar"))


def read_policies(files: Sequence[Path]) -> Sequence[PolicyText]:
    """All policies of the files, in their order.

    Raises:
        DefinitionError: a file can't be read.
    """
    return [policy for file in files for policy in _policies_of(file)]


def line_of_error(policy: PolicyText, problem: str, parse: Callable[[str], str | None]) -> int:
    """The line of a syntax error: the first one with which the text is no longer just unfinished.

    Args:
        policy: What does not parse.
        problem: What the parser says about the whole.
        parse: What the parser says about a text.
    """
    lines = policy.text.splitlines(keepends=True)
    if problem.startswith(("unexpected", "invalid token")):
        for count in range(1, len(lines)):
            said = parse("".join(lines[:count]))
            if said is not None and said != _AT_END:
                return policy.line + count - 1
        return policy.line + len(lines) - 1
    return policy.line


def _policies_of(file: Path) -> Iterator[PolicyText]:
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DefinitionError(str(file), f"can't be read: {error}", "Save it as UTF-8 text.") from error
    ends = [token.end() for token in _TOKEN.finditer(text) if token[0] == ";"]
    begin = 0
    for end in [*ends, len(text)]:
        blank = _NOTHING.match(text, begin)
        begin = blank.end() if blank else begin
        if begin < end:
            yield PolicyText(file=file, line=text.count("\n", 0, begin) + 1, text=text[begin:end].rstrip())
        begin = max(begin, end)
