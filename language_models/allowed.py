"""What may be answered: one of some choices, a row of symbols, or free text that is split."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

MOST_NAMED = 40
"""Most choices or symbols that a sentence lists."""

QUOTES = "\"'`*“” "
"""What may stand around an answer."""


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """The answers to a question. Without choices they are made of symbols, without symbols they are free text."""

    choices: tuple[str, ...] = ()
    """One of these."""
    symbols: tuple[str, ...] = ()
    """Letters, syllables or words."""
    separator: str = ""
    """What stands between symbols."""
    max_len: int = 8
    """Most symbols; of free text most words."""

    @cached_property
    def _symbol(self) -> re.Pattern[str]:
        by_length = sorted(map(re.escape, self.symbols), key=len, reverse=True)
        return re.compile("|".join(by_length))

    def split(self, text: str) -> tuple[str, ...]:
        """The symbols of an answer; of a choice itself, where there are no symbols."""
        if self.symbols and self.separator:
            return tuple(text.split(self.separator))
        if self.symbols:
            return tuple(self._symbol.findall(text))
        return (text,) if self.choices else tuple(text.split())

    def allows(self, text: str) -> bool:
        """Whether it is an answer."""
        if self.choices:
            return text in self.choices
        parts = self.split(text)
        if not self.symbols:
            return 0 < len(parts) <= self.max_len and text.isprintable()
        return (
            0 < len(parts) <= self.max_len
            and set(parts) <= set(self.symbols)
            and self.separator.join(parts) == text
        )

    def begins(self, text: str) -> bool:
        """Whether an answer may begin so."""
        if self.choices:
            return any(choice.startswith(text) for choice in self.choices)
        if not self.symbols:
            return "\n" not in text and len(text.split()) <= self.max_len
        return not text or self._begins(text, self.max_len)

    def _begins(self, text: str, left: int) -> bool:
        """Whether at most so many symbols, the last of them perhaps unfinished, are written so."""
        if left == 0:
            return False
        for symbol in self.symbols:
            if symbol.startswith(text):
                return True
            if text.startswith(symbol):
                rest = text[len(symbol) :]
                if self.separator and not rest.startswith(self.separator):
                    if self.separator.startswith(rest) and left > 1:
                        return True
                    continue
                rest = rest[len(self.separator) :]
                if (not rest and left > 1) or (rest and self._begins(rest, left - 1)):
                    return True
        return False

    def read(self, said: str) -> str | None:
        """The answer in what was said, without quotation marks and a last stop; None: there is none.

        Of free text nothing else is changed; choices and symbols are also found in other case.
        """
        lines = said.strip().splitlines()
        text = lines[0].strip() if lines else ""
        bare = text.strip(QUOTES).rstrip(".").strip(QUOTES)
        if not self.choices and not self.symbols:
            return bare if self.allows(bare) else None
        readings = (text, text.strip(QUOTES), bare, self._in_own_case(bare.casefold()))
        return next((each for each in readings if self.allows(each)), None)

    def _in_own_case(self, folded: str) -> str:
        """A text in folded case with the choice, or the symbols, that it stands for."""
        names = {each.casefold(): each for each in self.choices or self.symbols}
        if self.choices:
            return names.get(folded, folded)
        parts = Allowed(symbols=tuple(names), separator=self.separator).split(folded)
        is_whole = self.separator.join(parts) == folded
        return self.separator.join(names.get(part, part) for part in parts) if is_whole else folded

    def drawn(self, rng: np.random.Generator, length: int | None = None) -> str:
        """An answer at random: of symbols, one of so many or, without a number, of at most `max_len`."""
        if self.choices:
            return self.choices[int(rng.integers(len(self.choices)))]
        symbols = self.symbols or ("la", "mi", "no", "pu")
        number = length or int(rng.integers(1, self.max_len + 1))
        separator = self.separator if self.symbols else " "
        return separator.join(symbols[int(each)] for each in rng.integers(len(symbols), size=number))

    def sentence(self) -> str:
        """What may be answered, in words."""
        if self.choices:
            return f"one of: {', '.join(self.choices)}"
        if not self.symbols:
            return f"at most {self.max_len} words"
        between = "" if not self.separator else " between spaces" if self.separator == " " else ""
        return f"1 to {self.max_len} of these symbols{between}: {' '.join(self.symbols[:MOST_NAMED])}"

    def schema(self) -> dict[str, Any]:
        """The JSON schema of an object with the answer."""
        answer: dict[str, Any] = {"type": "string"}
        if self.choices:
            answer["enum"] = list(self.choices)
        elif self.symbols:
            symbol, between = f"(?:{self._symbol.pattern})", re.escape(self.separator)
            answer["pattern"] = f"^{symbol}(?:{between}{symbol}){{0,{self.max_len - 1}}}$"
        properties = {"answer": answer}
        return {
            "type": "object", "properties": properties, "required": ["answer"], "additionalProperties": False
        }  # fmt: skip

    def to_json(self) -> list[Any]:
        """What a digest is made of."""
        return [list(self.choices), list(self.symbols), self.separator, self.max_len]


def choices(names: Sequence[str]) -> Allowed:
    """One of some names."""
    return Allowed(choices=tuple(names))
