"""Pages of documentation in their parts: blocks of code, links and headings.

A block is fenced and names its language. `sh` blocks are run by a shell and `python` blocks by one interpreter, in
their order, in one empty folder for each page. A comment before a block changes that:

    <!-- not run: it needs a GPU -->    the block is not run; its commands are parsed
    <!-- setup: ecsuite … -->           is run before the block, and not shown

A block whose first line is `# NAME.py` or `# NAME.yaml` alone is written to that file instead. Other languages (`text`,
`yaml`, `csv`, …) are shown only.
"""

import functools
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
MADE = (ROOT / "docs" / "claims", ROOT / "docs" / "reference")
"""Folders of pages that a build of the documentation writes."""
PAGES = [
    ROOT / "README.md", ROOT / "examples" / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent not in MADE),
]  # fmt: skip
RUN = ("sh", "python")
SHOWN = ("text", "yaml", "json", "csv", "bibtex", "latex", "diff", "{toctree}")
INDENTED = "indented"
"""The language of a block without a fence."""
_COMMENT = re.compile(r"<!--\s*(setup|not run):\s*(.*?)\s*-->", re.DOTALL)
_FILE = re.compile(r"# ([\w-]+\.(?:py|yaml))\s*$")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A block of code."""

    line: int  # of its first line in the page, from 1
    language: str  # of the fence
    text: str
    setup: str = ""  # commands that are run before it
    not_run: str = ""  # why it is not run; empty: it is run

    @property
    def is_run(self) -> bool:
        return (self.language in RUN and not self.not_run) or self.file is not None

    @property
    def file(self) -> str | None:
        found = _FILE.match(self.text.split("\n", 1)[0])
        return found[1] if found else None


@functools.cache
def tokens(page: Path, *, reads_lines: bool = True) -> list[Token]:
    """The page as CommonMark with tables; what is in its lines takes half of the time."""
    parser = MarkdownIt("commonmark").enable("table")
    return (parser if reads_lines else parser.disable("inline")).parse(page.read_text())


def blocks(page: Path) -> list[Block]:
    found, before = [], {}
    for token in tokens(page, reads_lines=False):
        if token.type == "html_block":
            before |= {name.replace(" ", "_"): text for name, text in _COMMENT.findall(token.content)}
        elif token.type in ("fence", "code_block"):
            language = token.info.strip() if token.type == "fence" else INDENTED
            start = token.map[0] + (2 if token.type == "fence" else 1)
            found.append(Block(line=start, language=language, text=token.content, **before))
            before = {}
    return found


def links(page: Path) -> list[tuple[int, str]]:
    found = []
    for token in tokens(page):
        inner = [each for each in token.children or () if each.type in ("link_open", "image")]
        found += [(token.map[0] + 1, str(each.attrs.get("href") or each.attrs.get("src"))) for each in inner]
    return found


def anchors(page: Path) -> set[str]:
    parts = tokens(page)
    titles = [after.content for token, after in pairwise(parts) if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
