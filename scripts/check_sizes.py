"""Fail on a module over 500 lines or a function over 60: `check_sizes.py PATH ...`."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_MODULE_LINES = 500
MAX_FUNCTION_LINES = 60


def too_large(file: Path) -> Iterator[str]:
    text = file.read_text("utf-8")
    if (lines := text.count("\n")) > MAX_MODULE_LINES:
        yield f"{file}: {lines} lines; a module has at most {MAX_MODULE_LINES}"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MAX_FUNCTION_LINES:
                place = f"{file}:{node.lineno}: {node.name}"
                yield f"{place} has {lines} lines; a function has at most {MAX_FUNCTION_LINES}"


def main(paths: list[str]) -> int:
    problems = [line for path in paths for file in sorted(Path(path).rglob("*.py")) for line in too_large(file)]
    print("\n".join(problems) or "sizes: all within bounds")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
