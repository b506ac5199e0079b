import io
import re
import tokenize
from pathlib import Path

import ecsuite

ROOT = Path(ecsuite.__file__).parent
SOURCES = [
    file for file in sorted(ROOT.rglob("*.py")) if file.relative_to(ROOT).parts[0] not in (
        "tests", "benchmarks", "build", "dist", "runs",
    ) and not file.relative_to(ROOT).parts[0].startswith(".")
]  # fmt: skip
MADE = (ROOT / "docs" / "claims", ROOT / "docs" / "reference")
DOCUMENTS = [
    *(ROOT / "README.md", ROOT / "CONTRIBUTING.md"),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent not in MADE),
]

FIGURES_OF_SPEECH = (
    r"pupils?|lessons?|schooling|schooled|workshops?|imitators?|in vain|told right|born|hopeless|thrifty|"
    r"(?<!as )by chance|an ear for|is dear|are dear"
)


def test_comments_and_messages_have_no_figures_of_speech():
    words = re.compile(rf"\b({FIGURES_OF_SPEECH})\b", re.IGNORECASE)
    for file in SOURCES:
        text = file.read_text()
        if not words.search(text):
            continue
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                found = words.search(token.string)
                assert not found, f"{file.relative_to(ROOT)}:{token.start[0]}: {found[0]}"


def test_pages_have_no_figures_of_speech():
    words = re.compile(rf"\b({FIGURES_OF_SPEECH})\b", re.IGNORECASE)
    for document in DOCUMENTS:
        for number, line in enumerate(document.read_text().splitlines(), 1):
            found = words.search(line)
            assert not found, f"{document.name}:{number}: {found[0]}"


def test_public_docstrings_exist():
    for file in SOURCES:
        assert re.match(r'\s*r?"""\s*[^\s"]', file.read_text()), f"{file.relative_to(ROOT)}"
