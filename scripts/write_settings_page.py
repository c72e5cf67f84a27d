"""Write docs/settings.md from the settings themselves: `python scripts/write_settings_page.py`."""

from pathlib import Path

from daeri.settings import settings_table

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"

HEAD = """\
# Look up a setting

Settings come from, the strongest first: the command line, the environment, `.env`, `daeri.toml`, the default.
`daeri.toml` is looked for in the working directory and above it; its folder is the project, and paths in it are
relative to that folder. A wrong setting stops the start with its name, its value and the fix; `daeri doctor` shows
where each value comes from.

| in `daeri.toml` | in the environment | default | meaning |
| --- | --- | --- | --- |
"""


def page() -> str:
    rows = (
        f"| `{row.name}` | `{row.env}` | {f'`{row.default}`' if row.default else ''} | {row.description} |"
        for row in settings_table()
    )
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
