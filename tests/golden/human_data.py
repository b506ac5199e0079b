"""Data of human languages in the files that the tasks have, made of a few words by rule; nobody's data."""

from itertools import product
from pathlib import Path

WORDS = {
    "en": "the dog sees a small bird near old water".split(),
    "eu": "txakur batek hegazti txiki bat ikusten du ur ondoan".split(),
}
ISO3 = {"en": "eng", "eu": "eus"}
TAGS = ("O", "B-PER", "I-PER", "B-LOC")
LABELS = ("neutral", "entailment", "contradiction")
PARTS = {"en": ("train", "dev", "test"), "eu": ("dev", "test")}
NUM_SENTENCES = 40


def sentences(language: str, start: int = 0) -> list[list[str]]:
    """Sentences of three to five words, no two alike: every choice is a remainder of the number."""
    words = WORDS[language]
    return [
        [words[(place * (1 + number % 4) + number) % len(words)] for place in range(3 + number % 3)]
        + [f"{words[number % len(words)]}{'aeiou'[number % 5]}{number}"]
        for number in range(start, start + NUM_SENTENCES)
    ]


def write_tasks(folder: Path) -> Path:
    for language, parts in PARTS.items():
        for number, part in enumerate(parts):
            said = sentences(language, number * NUM_SENTENCES)
            tagged = ["".join(f"{word}\t{TAGS[len(word) % 4]}\n" for word in words) for words in said]
            _write(folder / "panx" / f"{part}-{language}.tsv", "\n".join(tagged))
            judged = [
                f"{' '.join(words)}\t{' '.join(words[: 1 + 2 * (place % 3)])}\t{LABELS[place % 3]}\n"
                for place, words in enumerate(said)
            ]
            _write(folder / "xnli" / f"{part}-{language}.tsv", "".join(judged))
    for language in PARTS:
        lines = "".join(" ".join(words) + "\n" for words in sentences(language))
        _write(folder / "tatoeba" / f"tatoeba.eus-eng.{ISO3[language]}", lines)
    return folder


def write_pairs(path: Path) -> Path:
    """105 pairs of sentences: letters, and the same letters the other way round."""
    triples = [("abcdefg"[a], "hijkl"[b], "mno"[c]) for a, b, c in product(range(7), range(5), range(3))]
    path.write_text("".join(f"{' '.join(each)}\t{' '.join(reversed(each))}\n" for each in triples))
    return path


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
