"""How Sphinx makes the site of this folder: `sphinx-build -W docs build/docs`, with the extra `docs`."""

import re
import sys
from pathlib import Path
from typing import Any

from ecsuite.version import __version__

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import claims  # a script beside the package, which makes a page of each claim
import reference_pages
from docutils import nodes
from sphinx.addnodes import toctree

project = "ecsuite"
author = "the authors of ecsuite"
release = version = __version__
extensions = ["myst_parser"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = f"ecsuite {release}"
html_copy_source = False
html_css_files = ["pages.css"]
html_static_path = ["_static"]
html_show_sourcelink = False


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", lambda app: claims.write_pages(Path(app.srcdir) / "claims"))
    app.connect("builder-inited", lambda app: reference_pages.write_pages(Path(app.srcdir) / "reference"))
    app.connect("source-read", link_claims)
    app.connect("source-read", link_other_files)
    app.connect("build-finished", write_llms)


def link_claims(app: Any, page: str, source: list[str]) -> None:
    """Make the links of the list of claims, to files, links to their pages, and add these to the contents."""
    if page != "claims":
        return
    text, names = source[0], claims.shipped_claims()
    text = re.sub(r"\]\(\.\./(?:configs|benchmarks/results)/claims/(\w+)\.\w+\)", r"](claims/\1.md)", text)
    contents = "\n".join(["```{toctree}", ":hidden:", *(f"claims/{name}" for name in names), "```"])
    source[0] = f"{text}\n\n{contents}\n"


def link_other_files(app: Any, page: str, source: list[str]) -> None:
    """Make a link to a page outside of this folder, such as an example, a link to its file."""
    folder = Path(app.srcdir, page).parent

    def replaced(found: re.Match[str]) -> str:
        is_here = (folder / found[1]).resolve().is_relative_to(Path(app.srcdir).resolve())
        return found[0] if is_here else f"](path:{found[1]})"

    source[0] = re.sub(r"\]\((\.\./[^)#]+\.md)\)", replaced, source[0])


def write_llms(app: Any, error: Exception | None) -> None:
    """Write `llms.txt` (llmstxt.org): a link to each page of the contents, with its first sentence."""
    if error or app.builder.format != "html":
        return
    start = app.config.root_doc
    lines = [f"# {app.config.project}", "", f"> {first_sentence(app.env.get_doctree(start))}"]
    for contents in app.env.get_doctree(start).findall(toctree):
        lines += ["", f"## {contents['caption']}", ""]
        for _, page in contents["entries"]:
            link = f"[{app.env.titles[page].astext()}]({app.builder.get_target_uri(page)})"
            lines.append(f"- {link}: {first_sentence(app.env.get_doctree(page))}")
    Path(app.outdir, "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def first_sentence(page: Any) -> str:
    """First sentence of the first paragraph of a page, on one line."""
    text = " ".join(next(page.findall(nodes.paragraph)).astext().split())
    return re.split(r"(?<=[.?!])\s+(?=[A-Za-z])", text, maxsplit=1)[0].rstrip(":")
