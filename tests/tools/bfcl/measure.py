"""Puts all of BFCL through the registry and the check of arguments: `python tests/tools/bfcl/measure.py` for figures.

With `--freeze` it also writes the list of right calls that are refused, `exceptions.json`.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from daeri.text import Json, JsonObject
from daeri.tools import SchemaProblem, SchemaValidator, ToolRegistry

if TYPE_CHECKING:
    from . import entries, mutants
else:
    if __package__ in (None, ""):
        sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    entries = importlib.import_module("bfcl.entries")
    mutants = importlib.import_module("bfcl.mutants")

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "bfcl" / "bfcl_v4_single_turn.jsonl.gz"
"""In a folder beside the project: the data is not part of it."""
FROZEN = Path(__file__).with_name("exceptions.json")


@dataclass(kw_only=True)
class Report:
    """What came of it."""

    documents: int = 0
    right: Counter[str] = field(default_factory=Counter[str])
    """Right calls, by choice."""
    exceptions: list[dict[str, Json]] = field(default_factory=list[dict[str, Json]])
    """Right calls that are refused."""
    mutants: Counter[str] = field(default_factory=Counter[str])
    """Wrong calls, by kind."""
    accepted: list[str] = field(default_factory=list[str])
    """Wrong calls that are accepted."""
    unclear: list[str] = field(default_factory=list[str])
    """Wrong calls whose refusal misses the place or how to repair them."""

    def share(self, choice: str) -> float:
        """Of the right calls of a choice, those that are accepted."""
        return 1 - sum(item["choice"] == choice for item in self.exceptions) / self.right[choice]


async def measure(data: Path = DATA) -> Report:
    report = Report()
    for entry in entries.read_entries(data):
        registry = ToolRegistry()
        await registry.add(entries.Documents(entry))
        report.documents += len(registry.tools())
        for case in entries.cases_of(entry):
            tool = registry.get(case.tool)
            validator = registry.validators.arguments(tool)
            choice = "first" if case.first_choice else "alternative"
            report.right[choice] += 1
            arguments, problem = _check(validator, case.arguments)
            if problem is not None:
                reason = _reason(problem, arguments)
                report.exceptions.append(
                    {"entry": entry.id, "case": case.number, "choice": choice, "path": problem.path, "reason": reason}
                )
            elif case.first_choice:
                _mutate(report, f"{entry.id}#{case.number}", validator, tool.input_schema, case.arguments)
    return report


def _check(validator: SchemaValidator, arguments: JsonObject) -> tuple[JsonObject, SchemaProblem | None]:
    arguments = validator.normalise(arguments)
    return arguments, validator.problem(arguments)


def _mutate(report: Report, name: str, validator: SchemaValidator, schema: JsonObject, right: JsonObject) -> None:
    for mutant in mutants.mutants_of(schema, right):
        report.mutants[mutant.kind] += 1
        _, problem = _check(validator, mutant.arguments)
        if problem is None:
            report.accepted.append(f"{name} {mutant.kind} {mutant.path}")
        elif problem.path != mutant.path or any(word not in str(problem) for word in mutant.words):
            report.unclear.append(f"{name} {mutant.kind} {mutant.path} {list(mutant.words)}: {problem}")


def _reason(problem: SchemaProblem, arguments: JsonObject) -> str:
    """What about a right call contradicts its own function document."""
    if "missing `" in problem.message:
        return "leaves out a required parameter"
    if "unknown `" in problem.message:
        return "gives a property that is not declared"
    value = _at(arguments, problem.path)
    if value == "":
        return "writes an empty string for no value"
    if value in ("dontcare", "N/A"):
        return "writes a word for no value"
    if problem.expected.startswith("one of ") and isinstance(value, str):
        return "gives a text that is not among the choices"
    return "gives a value of another type"


def _at(value: Json, path: str) -> Json:
    for part in path.split("/")[1:]:
        if isinstance(value, Mapping):
            value = value[part.replace("~1", "/").replace("~0", "~")]
        elif isinstance(value, Sequence) and not isinstance(value, str):
            value = value[int(part)]
    return value


def main() -> None:
    began = time.perf_counter()
    report = asyncio.run(measure())
    print(f"function documents registered: {report.documents}")
    for choice, count in report.right.items():
        refused = sum(item["choice"] == choice for item in report.exceptions)
        print(f"right calls, {choice}: {count - refused} of {count} accepted, {report.share(choice):.2%}")
    print(
        f"mutants: {len(report.accepted)} of {report.mutants.total()} accepted, {len(report.unclear)} refused unclearly"
    )
    for line in report.unclear[:40]:
        print("  ", line)
    print(dict(report.mutants))
    print(f"{time.perf_counter() - began:.1f} s")
    if "--freeze" in sys.argv:
        lines = ",\n".join(json.dumps(item, ensure_ascii=False) for item in report.exceptions)
        FROZEN.write_text(f"[\n{lines}\n]\n", "utf-8")


if __name__ == "__main__":
    main()
