"""The code of README and of the pages in docs/ works: it is run, in order, in an empty folder for each page.

By default that of pages whose code differs from what ran last, which `pages_that_ran.json` records; that of all others
is `slow`. Every command of every page is parsed by default. `RECORD_PAGES=1 pytest -n 0 -m "slow or not slow"` with
this file runs all code, and records that of each page that passes.
"""

import ast
import functools
import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from doc_pages import INDENTED, PAGES, ROOT, RUN, SHOWN, Block, blocks, tokens
from doc_shell import Shell
from ecsuite.cli import COMMANDS, Commands

ALONE = ("docs/cookbook.md", "docs/index.md")
RECORD = Path(__file__).with_name("pages_that_ran.json")
RAN = json.loads(RECORD.read_text())


def name(page):
    return str(page.relative_to(ROOT))


def code(page):
    parts = [(block.language, block.setup, block.text) for block in blocks(page) if block.is_run]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest() if parts else ""


def pages_with_code():
    for page in PAGES:
        if (digest := code(page)) and name(page) not in ALONE:
            marks = [pytest.mark.slow] if RAN.get(name(page)) == digest else []
            yield pytest.param(page, id=name(page), marks=marks)


@pytest.fixture(scope="session")
def shell(tmp_path_factory):
    shell = Shell(tmp_path_factory.mktemp("shell"))
    yield shell
    shell.close()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", list(pages_with_code()))
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
    if os.environ.get("RECORD_PAGES"):
        RAN[name(page)] = code(page)
        kept = {name(page): RAN[name(page)] for page in PAGES if name(page) in RAN}
        RECORD.write_text(json.dumps(kept, indent=1) + "\n")


def test_pages_that_are_gone_are_not_recorded():
    assert set(RAN) <= {name(page) for page in PAGES}


def all_blocks():
    return [(page, block) for page in PAGES for block in blocks(page)]


def test_languages_are_known():
    for page, block in all_blocks():
        known = (*RUN, *SHOWN, INDENTED) if page == ROOT / "README.md" else (*RUN, *SHOWN)
        assert block.language in known, f"{page.name}:{block.line}"


def test_commands_exist():
    for page, block in all_blocks():
        if block.language in (INDENTED, "sh") and block.file is None:
            for command, *arguments in commands_of(block):
                if command == "corpus" or any("$" in word for word in arguments):
                    continue  # the title of a score; what only a shell knows
                parse(command, arguments, f"{page.name}:{block.line}")


def parse(command, arguments, place):
    if arguments and f"{command} {arguments[0]}" in COMMANDS:
        command, arguments = f"{command} {arguments[0]}", arguments[1:]
    assert command in COMMANDS, f"{place}: {command}"
    made(command).make_context(command, list(arguments))


made = functools.cache(functools.partial(Commands().get_command, None))


def test_what_the_list_of_commands_says_can_be_typed():
    for token in tokens(ROOT / "docs" / "which_command.md"):
        for inner in token.children or ():
            if inner.type == "code_inline" and "COMMAND" not in inner.content:
                for command, *arguments in commands_of(Block(line=0, language="sh", text=inner.content)):
                    parse(command, arguments, inner.content)


OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
AFTER = re.compile(r"(?<![\w./-])(?<!import )ecsuite (?=[a-z])")
CLAUSE = re.compile(r"[;)`|]|\. |&&")
PROSE = set("and are authors corpus does gives installed is prints reads that trains treats wrote".split())


@functools.cache
def options_of(command):
    if COMMANDS[command].place is None:
        return all_options()
    return {"--help"}.union(*((*each.opts, *each.secondary_opts) for each in made(command).params))


@functools.cache
def all_options():
    of_commands = (options_of(each) for each, entry in COMMANDS.items() if entry.place is not None)
    return {"--install-completion", "--show-completion"}.union(*of_commands)


def faults_of(text):
    """Commands in a text that do not exist, and options that they do not have."""
    for part in AFTER.split(text)[1:]:
        words = [re.match(r"[\w-]*", word)[0] for word in part.split()[:2]]
        names = [" ".join(words), words[0]]
        command = next((each for each in names if each in COMMANDS), None)
        if command is None:
            if words[0] not in PROSE:
                yield f"ecsuite {part:.40}: no such command"
            continue
        for option in OPTION.findall(CLAUSE.split(part)[0]):
            if option not in options_of(command):
                yield f"ecsuite {command} has no {option}"


def test_commands_in_a_line_exist():
    for page in PAGES:
        for code in code_in_lines(page):
            assert not [*faults_of(code)], f"{page.name}: {code}"


def test_options_in_a_line_exist():
    files = [*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "tests" / "attack").glob("*.py")]
    scripts = "".join(file.read_text() for file in files)
    of_scripts = set(re.findall(r'"(--[a-z][\w-]*)"', scripts))
    for page in PAGES:
        for code in code_in_lines(page) if page.name != "from_egg.md" else ():
            is_ours = re.match(r"--|ecsuite ", code)  # another program may stand before them
            for option in OPTION.findall(code) if is_ours else ():
                is_known = option in all_options() | of_scripts or "_" in option
                assert is_known, f"{page.name}: {code}: no command has {option}"


def code_in_lines(page):
    inner = [each for token in tokens(page) for each in token.children or ()]
    return [each.content for each in inner if each.type == "code_inline"]


def messages(file):
    """The texts of a module that are no documentation, with spaces for what is put into them; each with its line."""
    tree = ast.parse(file.read_text())
    documented = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            pieces = [part.value if isinstance(part, ast.Constant) else "X" for part in node.values]
            yield node.lineno, "".join(pieces)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node not in parts and node not in documented:
                yield node.lineno, node.value


def test_commands_that_the_program_advises_exist():
    packages = sorted({path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"})
    modules = [file for name in packages for file in sorted((ROOT / name).rglob("*.py"))]
    assert len(modules) > 300
    for file in (*modules, ROOT / "api.py", ROOT / "cli.py"):
        for line, text in messages(file):
            text = " ".join(text.split())
            found = [*faults_of(text)]
            # The arguments of other programs are single words, and of those, Slurm is advised of.
            if " " in text and "ecsuite" not in text and "sbatch" not in text and "SBATCH" not in text:
                found += [f"no command has {each}" for each in set(OPTION.findall(text)) - all_options()]
            assert not found, f"{file.relative_to(ROOT)}:{line}: {found[0]}"
    shipped = [*(ROOT / "configs").rglob("*.yaml"), *(ROOT / "examples").glob("*.*")]
    for file in shipped:
        for line in file.read_text().splitlines():
            assert not [*faults_of(line)], f"{file.relative_to(ROOT)}: {line}"


def test_python_yaml_and_json_can_be_read():
    for page, block in all_blocks():
        if block.language == "python":
            compile(block.text, f"{page.name}:{block.line}", "exec")
        elif block.language == "yaml":
            assert yaml.safe_load(block.text), f"{page.name}:{block.line}"
        elif block.language == "json":
            assert json.loads(block.text), f"{page.name}:{block.line}"


def commands_of(block: Block) -> Iterator[list[str]]:
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
