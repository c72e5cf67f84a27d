"""The page about security counts the attacks that are tried."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "boundary" / "attacks" / "corpus.toml"


def test_the_table_has_every_class_with_the_number_of_its_cases() -> None:
    cases = [case for surface in tomllib.loads(CORPUS.read_text("utf-8")).values() for case in surface]
    page = (ROOT / "docs" / "security.md").read_text("utf-8")

    table = {name: int(number) for name, number in re.findall(r"^\| ([a-z ]+) \| (\d+) \|", page, re.M)}

    assert table == Counter(case["class"] for case in cases)


def test_no_two_cases_have_the_same_id() -> None:
    cases = [case for surface in tomllib.loads(CORPUS.read_text("utf-8")).values() for case in surface]

    assert len({case["id"] for case in cases}) == len(cases) >= 60
