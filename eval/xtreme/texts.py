"""Lines of text of a language, on which vocabularies and backbones are trained."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecsuite.eval.xferbench.texts import in_hash_order, read_texts
from ecsuite.eval.xtreme.contents import Contents, hash_of_text
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class LanguageText(Contents):
    """The text of a language; its content is its lines."""

    language: str
    """Code of the language."""
    data: Path
    """The data folder of the tasks."""
    folder: Path | None
    """Folder of texts; None for the tagged sentences of the tasks that are in no test set."""

    def job_key(self) -> list[str]:
        """What can change a result."""
        return [self.language, self.digest]

    @property
    def title(self) -> str:
        """The folder and the text."""
        return f"{self.folder or self.data}: the text in '{self.language}'"

    def hash_of(self, content: list[str]) -> str:
        """Of the lines."""
        return hash_of_text("\n".join(content))

    def stored(self) -> list[str]:
        """The different lines in their pseudorandom order; at least one.

        Raises:
            ConfigError: If there is no text.
        """
        if self.folder is None:
            lines = in_hash_order(_untested_sentences(self.language, self.data))
        else:
            texts = read_texts(self.folder)
            if self.language not in texts:
                raise ConfigError(
                    f"{self.folder}: no text of '{self.language}', such as {self.language}.txt.gz"
                )
            lines = in_hash_order(texts[self.language].documents())
        if not lines:
            raise ConfigError(
                f"{self.data}: expected text in '{self.language}' outside the test sets, found none; give --texts "
                f"FOLDER with a file such as {self.language}.txt.gz"
            )
        return lines


def _untested_sentences(language: str, data: Path) -> list[str]:
    """Sentences of tagging tasks that are in no test set."""
    lines: list[str] = []
    tested_split: set[str] = set()
    for task in (TASKS["udpos"], TASKS["panx"]):
        split = task.scored_split(data, language)
        for part in ("train", "dev", "test"):
            if task.find(data, language, part) is None:
                continue
            sentences: Any = task.read(data, language, part)
            sentence_texts = [" ".join(sentence.words) for sentence in sentences]
            if part == "test" or part == split:
                tested_split.update(sentence_texts)
            else:
                lines += sentence_texts
    return [line for line in lines if line not in tested_split]
