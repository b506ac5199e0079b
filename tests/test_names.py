"""Names and words that were replaced by the terms of the field or of Python do not come back.

Each entry is a former name, in the part where it had that sense; the same word is free elsewhere.
"""

import ast
import functools
import io
import re
import tokenize
from pathlib import Path

import ecsuite
from ecsuite.cli import COMMANDS, FORMER_COMMANDS, FORMER_OPTIONS

ROOT = Path(ecsuite.__file__).parent
SOURCES = [
    file
    for file in sorted(ROOT.rglob("*.py"))
    if file.relative_to(ROOT).parts[0] not in ("tests", "benchmarks", "build", "dist", "runs")
    and not file.relative_to(ROOT).parts[0].startswith(".")
]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

FORMER_NAMES = {
    "": (
        "Lesson Pupil ModulePupil make_pupil SpeakingPupil ReadingPupil RememberingPupil Imitator make_imitator "
        "learn_by_hand _LearnByHand StackReader UnitReader StackDecoder UnitDecoder unblend RelaxedLine DiscreteLine "
        "ValueLine hears_itself heard silence add_voice settle PLAYED inspect_folder LEFTOVER tap _at_rest "
        "idle_input School Schooled Couple Course Watch PaperWatch Workshop Tell raise_body try_task _born SURE "
        "say"
    ),
    "agents": "Line is_open",
    "games": (
        "Line Round Verdict ask told claim is_open SetWorld FileWorld Rounds Examples SenderReceiverGame probes pool "
        "images_per_world question setref sender_sees"
    ),
    "eval/icy": "Link Couple Pair Verdict Kernel Reader lesson pupil school couple course watch",
    "eval/icy/fast": "Source column under over ones_ tell",
    "eval/xtreme": "Body",
    "eval/learning": "Body",
    "jobs": "tell",
}
"""By folder, names that no class, function, argument or variable has there any more."""
FORMER_MODULES = (
    "lessons imitation decoding reading kernels parameters pupils course teaching schooling links speaking making "
    "showing workshop bodies abbreviation harris information disentanglement translation_drawing cbm_study "
    "machine_translation xtreme_transfer downloading precision"
)
"""Modules and folders of version 0.1.0 with other names today."""
STILL_MODULES = {"eval/xtreme/scoring/reading.py", "formats/reading.py", "grammars/making.py"}
"""Files of such a name that read something, which is the ordinary sense of the word."""
FORMER_WORDS = (
    r"pupils?|lessons?|schooling|schooled|workshops?|imitators?|in vain|told right|born|hopeless|thrifty|"
    r"(?<!as )by chance|an ear for|is dear|are dear"
)
"""Figures of speech that no comment, docstring, message or page has."""
KEYS = ('"born"',)
"""Strings that are keys of cached results, which are found by them."""


@functools.cache
def tokens_of(file: Path) -> list[tokenize.TokenInfo]:
    """The tokens of a file; found once for all tests."""
    return list(tokenize.generate_tokens(io.StringIO(file.read_text()).readline))


@functools.cache
def names_in(file: Path) -> set[str]:
    """The names in the code of a file."""
    return {token.string for token in tokens_of(file) if token.type == tokenize.NAME}


def test_no_former_name_is_in_use():
    for folder, names in FORMER_NAMES.items():
        for file in SOURCES:
            if f"{file.relative_to(ROOT)}".startswith(folder):
                assert not set(names.split()) & names_in(file), f"{file.relative_to(ROOT)}"


def test_no_module_has_a_former_name():
    former = set(FORMER_MODULES.split())
    found = {
        f"{file.relative_to(ROOT)}" for file in SOURCES if former & {file.stem, *file.relative_to(ROOT).parts}
    }
    assert found == STILL_MODULES


def test_former_names_of_commands_and_options_are_only_aliases():
    assert not FORMER_COMMANDS.keys() & COMMANDS.keys()
    assert set(FORMER_COMMANDS.values()) | set(FORMER_OPTIONS) <= COMMANDS.keys()


def test_comments_and_messages_have_no_figures_of_speech():
    words = re.compile(rf"\b({FORMER_WORDS})\b", re.IGNORECASE)
    for file in SOURCES:
        for token in tokens_of(file):
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                found = words.search(token.string)
                if token.string in KEYS:
                    continue
                assert not found, f"{file.relative_to(ROOT)}:{token.start[0]}: {found[0]}"


def test_pages_have_no_figures_of_speech():
    words = re.compile(rf"\b({FORMER_WORDS})\b", re.IGNORECASE)
    for document in DOCUMENTS:
        for number, line in enumerate(document.read_text().splitlines(), 1):
            found = words.search(line)
            assert not found, f"{document.name}:{number}: {found[0]}"


def test_public_docstrings_exist():
    """Each module says in its first line what is in it."""
    for file in SOURCES:
        assert ast.get_docstring(ast.parse(file.read_text())), f"{file.relative_to(ROOT)}"
