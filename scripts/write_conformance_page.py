"""Write the generated parts of docs/conformance.md: `python scripts/write_conformance_page.py`."""

import json
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "conformance.md"
EXCEPTIONS = ROOT / "tests" / "tools" / "bfcl" / "exceptions.json"

BEGIN = "<!-- exceptions: written by scripts/write_conformance_page.py -->\n"
END = "<!-- exceptions: end -->\n"


def exceptions_table() -> str:
    """The right calls that are refused, counted by what they do and by choice."""
    exceptions = json.loads(EXCEPTIONS.read_text("utf-8"))
    counts = Counter((item["reason"], item["choice"]) for item in exceptions)
    reasons = Counter(item["reason"] for item in exceptions)
    rows = [
        f"| {reason} | {counts[reason, 'first']} | {counts[reason, 'alternative']} |\n"
        for reason, _ in reasons.most_common()
    ]
    choices = Counter(item["choice"] for item in exceptions)
    total = f"| **all** | **{choices['first']}** | **{choices['alternative']}** |\n"
    return "".join(["| the call … | first choice | alternative |\n| --- | --- | --- |\n", *rows, total])


def page() -> str:
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{exceptions_table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
