"""The texts that are shipped, as Markdown, and how Markdown becomes HTML: without any HTML of its own."""

from importlib import resources

from ecsuite.runtime.errors import missing_extra

TEXTS = ("consent", "instructions", "debriefing", "waited", "left")
"""Settings that name Markdown files."""


def shipped_texts(protocol: str) -> dict[str, str]:
    """The texts of a protocol's game, by setting of a study: `chain_consent.md`, or `consent.md` where that is not."""
    folder = resources.files("ecsuite.people").joinpath("pages")
    texts = {}
    for key in TEXTS:
        own = folder.joinpath(f"{protocol}_{key}.md")
        texts[key] = (own if own.is_file() else folder.joinpath(f"{key}.md")).read_text("utf-8")
    return texts


def as_html(markdown: str) -> str:
    """Markdown as HTML; HTML in it is shown as text.

    Raises:
        ConfigError: If the extra is not installed.
    """
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise missing_extra("a study with people needs markdown-it-py", "people") from None
    return str(MarkdownIt("commonmark", {"html": False}).render(markdown))
