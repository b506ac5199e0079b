"""Sentences with citations, and their forms: Markdown with a list of references, LaTeX with keys of BibTeX."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ecsuite.eval.views.citations import author_year_of, bibtex, keys_of, reference
from ecsuite.runtime.printable import printable
from ecsuite.tables.latex import escaped as in_latex
from ecsuite.tables.latex import preamble
from ecsuite.tables.markup import escaped as in_markdown
from ecsuite.tables.markup import paragraph as as_paragraph


@dataclass(frozen=True, slots=True)
class Cite:
    """The works that names rest on; nothing where none is known."""

    keys: tuple[str, ...]
    """Their keys in the list of works."""

    @classmethod
    def of(cls, *names: object) -> "Cite":
        """The works that names of games, parts, metrics and so on rest on."""
        return cls(tuple(keys_of(map(str, names))))


Piece = str | Cite
"""A part of a sentence: text, or works that it rests on."""
Sentence = Sequence[Piece]


@dataclass(frozen=True, kw_only=True, slots=True)
class Paragraph:
    """Sentences about one thing."""

    about: str
    """What they are about, in a word or two."""
    sentences: tuple[Sentence, ...]
    """The sentences."""

    def text(self) -> str:
        """The sentences without citations."""
        return " ".join(_joined(sentence) for sentence in self.sentences)


def _joined(sentence: Sentence) -> str:
    return "".join(piece for piece in sentence if isinstance(piece, str))


def cited(paragraphs: Iterable[Paragraph]) -> list[str]:
    """The keys of the works that are cited, each once, in their order."""
    pieces = (piece for each in paragraphs for sentence in each.sentences for piece in sentence)
    return list(dict.fromkeys(key for piece in pieces if isinstance(piece, Cite) for key in piece.keys))


def _written(
    paragraphs: Sequence[Paragraph], escaped: Callable[[str], str], cite: Callable[[Cite], str]
) -> str:
    """Paragraphs with an empty line between them."""

    def one(piece: Piece) -> str:
        return escaped(piece) if isinstance(piece, str) else cite(piece) if piece.keys else ""

    return "\n\n".join(
        " ".join("".join(map(one, sentence)) for sentence in each.sentences) for each in paragraphs
    )


def _in_brackets(cite: Cite) -> str:
    return f" ({'; '.join(map(author_year_of, cite.keys))})"


def text(paragraphs: Sequence[Paragraph]) -> str:
    """Paragraphs, and a list of the works that they cite, as plain text."""
    works = "\n".join(f"- {reference(key)}" for key in sorted(cited(paragraphs)))
    parts = [_written(paragraphs, printable, _in_brackets), *(["References", works] if works else [])]
    return "\n\n".join(parts) + "\n"


def markdown(paragraphs: Sequence[Paragraph]) -> str:
    """Paragraphs, and a list of the works that they cite."""
    works = "\n".join(f"- {as_paragraph(reference(key))}" for key in sorted(cited(paragraphs)))
    body = _written(paragraphs, in_markdown, lambda cite: in_markdown(_in_brackets(cite)))
    return "\n\n".join([body, *(["**References**", works] if works else [])]) + "\n"


def latex(paragraphs: Sequence[Paragraph]) -> str:
    r"""Paragraphs with `\cite`, whose keys are those of `bibliography`."""
    content = _written(paragraphs, in_latex, lambda cite: rf"~\cite{{{','.join(cite.keys)}}}")
    needs = preamble(content)
    return "\n".join([*([needs] if needs else []), content, ""])


def bibliography(paragraphs: Sequence[Paragraph]) -> str:
    """BibTeX of the works that are cited."""
    return "\n".join(bibtex(key) for key in sorted(cited(paragraphs)))


def listed(values: Iterable[Any], word: str = "and") -> str:
    """Values in a sentence: `1, 2 and 3`."""
    texts = [str(value) for value in values]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {word} {texts[-1]}" if texts else ""
