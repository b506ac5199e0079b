"""The texts that are shipped, as Markdown, and how Markdown becomes HTML: without any HTML of its own."""

from importlib import resources

from ecsuite.runtime.errors import missing_extra


def _shipped(prefix: str) -> dict[str, str]:
    """The texts whose files begin with a prefix, by setting of a study."""
    folder = resources.files("ecsuite.people").joinpath("pages")
    keys = ("consent", "instructions", "debriefing")
    return {key: folder.joinpath(f"{prefix}{key}.md").read_text("utf-8") for key in keys}


DEFAULT_TEXTS, AGENTS_TEXTS = _shipped(""), _shipped("agents_")
"""Of the game Secret Spy Codes, and of the game with trained agents."""


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
