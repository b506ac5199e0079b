"""The code of README and of the pages in docs/ works: it is run, in order, in an empty folder for each page."""

import json
import shlex
from collections.abc import Iterator

import pytest
import yaml
from doc_pages import INDENTED, PAGES, ROOT, RUN, SHOWN, Block, blocks
from doc_shell import Shell

from ecsuite.cli import COMMANDS, Commands


def name(page):
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="session")
def shell(tmp_path_factory):
    """The process that runs commands, one for all pages."""
    shell = Shell(tmp_path_factory.mktemp("shell"))
    yield shell
    shell.close()


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(block.is_run for block in blocks(page))], ids=name
)
def test_blocks_are_run(page, shell, tmp_path):
    with shell.session(tmp_path) as session:
        for block in filter(lambda block: block.is_run, blocks(page)):
            if block.setup:
                shell.run(block.setup, tmp_path)
            if block.file is not None:
                (tmp_path / block.file).write_text(block.text)
            elif block.language == "sh":
                shell.run(block.text, tmp_path)
            else:
                session.run(block.text, f"{page.name}:{block.line}")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_languages_are_known(page):
    """Only README, whose first commands stand as plain text, has blocks without a fence."""
    known = (*RUN, *SHOWN, INDENTED) if page == ROOT / "README.md" else (*RUN, *SHOWN)
    assert not [block.line for block in blocks(page) if block.language not in known]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_that_are_not_run_exist(page):
    """With the options that they are given."""
    for block in blocks(page):
        if not block.is_run and block.language in (INDENTED, "sh"):
            for command, *arguments in commands_of(block):
                if command == "corpus":  # the title of a score
                    continue
                assert command in COMMANDS, f"{page.name}:{block.line}: {command}"
                Commands().get_command(None, command).make_context(command, arguments)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_what_is_not_run_can_be_read(page):
    for block in blocks(page):
        if block.language == "python" and not block.is_run:
            compile(block.text, f"{page.name}:{block.line}", "exec")
        elif block.language == "yaml":
            assert yaml.safe_load(block.text), f"{page.name}:{block.line}"
        elif block.language == "json":
            assert json.loads(block.text), f"{page.name}:{block.line}"


def commands_of(block: Block) -> Iterator[list[str]]:
    """The command lines of `ecsuite` in a block of a shell."""
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split, words.commenters = True, "#"
        try:
            parts = list(words)
        except ValueError:  # not a shell's: a table that a command prints
            continue
        while parts:
            end = next((place for place, part in enumerate(parts) if set(part) <= set("&|;<>()")), len(parts))
            if parts[0].rpartition("/")[2] == "ecsuite" and end > 1:
                yield parts[1:end]
            parts = parts[end + 1 :]
