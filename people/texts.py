"""The texts that are shipped, as Markdown, and how Markdown becomes HTML: without any HTML of its own."""

from importlib import resources

from ecsuite.config import missing_extra

DEFAULT_TEXTS = {
    key: resources.files("ecsuite.people").joinpath("pages", f"{key}.md").read_text("utf-8")
    for key in ("consent", "instructions", "debriefing")
}
"""By setting of a study."""
AGENTS_INSTRUCTIONS = resources.files("ecsuite.people").joinpath("pages", "agents.md").read_text("utf-8")
"""Instructions of the games with agents."""


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
