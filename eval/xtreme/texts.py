"""Lines of text of a language, on which vocabularies and backbones are trained."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ecsuite.eval.xferbench.strict import shuffled
from ecsuite.eval.xferbench.texts import read_texts
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class LanguageText:
    """The text of a language: known by its lines, not by its place."""

    language: str
    """Code of the language."""
    data: Path
    """The data folder of the tasks."""
    folder: Path | None
    """Folder of texts; None for the tagged sentences of the tasks."""
    digest: str
    """A hash of the lines."""

    def job_key(self) -> list[str]:
        """What can change a result."""
        return [self.language, self.digest]

    def lines(self) -> list[str]:
        """The lines in their pseudorandom order.

        Raises:
            ConfigError: If they have changed since they were found.
        """
        lines = self._found()
        if _digest(lines) != self.digest:
            raise ConfigError(
                f"{self.folder or self.data}: the text in '{self.language}' has changed while it was in use: run the "
                "same command again"
            )
        return lines

    def _found(self) -> list[str]:
        """The different lines, shuffled; at least one."""
        if self.folder is None:
            lines = shuffled(_untested_sentences(self.language, self.data))
        else:
            texts = read_texts(self.folder)
            if self.language not in texts:
                raise ConfigError(
                    f"{self.folder}: no text of '{self.language}', such as {self.language}.txt.gz"
                )
            lines = shuffled(texts[self.language].documents())
        if not lines:
            raise ConfigError(
                f"{self.data}: expected text in '{self.language}' outside the test sets, found none; give --texts "
                f"FOLDER with a file such as {self.language}.txt.gz"
            )
        return lines


def find_text(language: str, data: Path, folder: Path | None) -> LanguageText:
    """The text of a language: a file of `folder`, or without one the tagged sentences that are in no test set.

    Raises:
        ConfigError: If there is no text.
    """
    found = LanguageText(language=language, data=data, folder=folder, digest="")
    return replace(
        found,
        data=data.resolve(),
        folder=None if folder is None else folder.resolve(),
        digest=_digest(found._found()),
    )


def _digest(lines: list[str]) -> str:
    return hashlib.blake2b("\n".join(lines).encode(), digest_size=12).hexdigest()


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
