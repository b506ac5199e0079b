"""A causal language model on this machine, by Hugging Face's transformers: its logits are held to what may be answered.

An answer is made token by token. Only tokens with which an allowed answer can begin, or go on, have a probability, and
the end of the text where the answer is whole; so nothing has to be asked again.
"""

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ecsuite.language_models.allowed import Allowed
from ecsuite.language_models.backend import Backend, Reply, Request
from ecsuite.parts.config import Accuracy, Count, Weight
from ecsuite.runtime.errors import ConfigError, missing_extra, shown

HUB = "hf:"
"""What the name of a model begins with that may be downloaded."""
MOST_FREE = 64
"""Most tokens of free text."""


class CausalModel(Backend):
    """A folder with weights as safetensors and a tokenizer, or `hf:OWNER/NAME`.

    Raises:
        ConfigError: If transformers is not installed, or there is no such model.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of a model on this machine."""

        model: str = ""
        """Folder of the model; hf:OWNER/NAME: of the Hugging Face hub, which is then asked for it."""
        revision: str | None = None
        """Commit of a model of the hub; null: the newest."""
        temperature: Weight = 1.0
        """Temperature of the answers; 0: the most likely ones, and equal questions are asked once."""
        top_p: Accuracy = 1.0
        """Share of the probability that answers are drawn from."""
        max_prompt: Count | None = None
        """Most tokens of a prompt, whose beginning is left out; null: as many as the model takes."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        if not options.model:
            raise ConfigError("model: expected the folder of a model, or hf:OWNER/NAME")
        try:
            import transformers
        except ImportError:
            raise missing_extra("a language model on this machine needs transformers", "llm") from None
        name, is_of_hub = options.model.removeprefix(HUB), options.model.startswith(HUB)
        if not is_of_hub and not Path(name).is_dir():
            raise ConfigError(f"model: {name}: no such folder; of the hub: {HUB}OWNER/NAME")
        library: Any = transformers
        library.logging.set_verbosity_error()
        library.logging.disable_progress_bar()
        where = {"local_files_only": not is_of_hub, "revision": options.revision, "trust_remote_code": False}
        try:
            self.tokenizer = library.AutoTokenizer.from_pretrained(name, **where)
            self.model = library.AutoModelForCausalLM.from_pretrained(name, use_safetensors=True, **where)
        except Exception as error:  # of transformers, of the hub's library or of files, by version
            raise ConfigError(f"model: {name} can't be read: {shown(str(error))}") from None
        self.model.eval().to("cuda" if torch.cuda.is_available() else "cpu")
        self.revision = _digest(Path(name)) if not is_of_hub else str(self.model.config._commit_hash)
        self._texts = [str(self.tokenizer.decode([token])) for token in range(len(self.tokenizer))]
        ends = {self.tokenizer.eos_token_id, *(n for n, text in enumerate(self._texts) if text == "\n")}
        self._ends = sorted(token for token in ends if token is not None)
        self._usable = lru_cache(maxsize=1000)(self._usable_tokens)
        self._candidates = lru_cache(maxsize=100)(self._tokens_of)

    @property
    def settings(self) -> dict[str, Any]:
        """Weights, sampling, and what is left of a prompt."""
        names = ("temperature", "top_p", "max_prompt")
        return {
            "backend": "transformers",
            "weights": self.revision,
            **{n: getattr(self.options, n) for n in names},
        }

    @property
    def is_drawn(self) -> bool:
        """Whether there is a temperature."""
        return bool(self.options.temperature > 0)

    @property
    def seconds_per_call(self) -> float:
        """Measured on a prompt of two hundred words."""
        began = time.monotonic()
        self.reply(Request(system="", user="word " * 200, allowed=Allowed(max_len=4), draw=0))
        return time.monotonic() - began

    def num_tokens(self, text: str) -> int:
        """Tokens of a text."""
        return len(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def require(self, allowed: Allowed) -> None:
        """Refuse symbols that the tokenizer can't write."""
        if not self._ends:
            raise ConfigError(
                "model: its tokenizer has neither an end of text nor a line end, so no answer ends"
            )
        letters = sorted({letter for text in (*allowed.choices, *allowed.symbols) for letter in text})
        unknown = [
            each
            for each in letters
            if not any(text.strip(" ") == each or text == each for text in self._texts)
        ]
        if unknown and not all(self._can_write(text) for text in (*allowed.choices, *allowed.symbols)):
            raise ConfigError(
                f"model: its tokenizer has no tokens for {', '.join(map(shown, unknown[:5]))}, so answers can't be "
                "held to these symbols: expected others"
            )

    def _can_write(self, text: str) -> bool:
        tokens = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return "".join(self._texts[token] for token in tokens).strip() == text

    @torch.inference_mode()
    def reply(self, request: Request) -> Reply:
        """Draw an answer, or the most likely one."""
        rng = np.random.default_rng([request.draw, *b"tokens"])
        prompt = self._prompt(request)
        tokens, text, cache = torch.tensor([prompt], device=self.model.device), "", None
        number = 0
        while number < MOST_FREE * (1 + len(request.allowed.symbols)):
            out = self.model(input_ids=tokens, past_key_values=cache, use_cache=True)
            cache, number = out.past_key_values, number + 1
            usable, ends = self._usable(text, request.allowed), request.allowed.allows(text)
            choices = usable + (self._ends if ends else [])
            if not usable or (
                request.allowed.symbols == () == request.allowed.choices and number > MOST_FREE
            ):
                break
            chosen = choices[self._drawn(out.logits[0, -1, choices].float(), rng)]
            if chosen in self._ends and ends:
                break
            text = (text + self._texts[chosen]).lstrip(" ")
            tokens = torch.tensor([[chosen]], device=self.model.device)
        return Reply(text=text, model=self._name, prompt_tokens=len(prompt), answer_tokens=number)

    @property
    def _name(self) -> str:
        return f"{Path(self.options.model.removeprefix(HUB)).name} {self.revision[:16]}"

    def _prompt(self, request: Request) -> list[int]:
        """The tokens of the prompt, in the form that the model was tuned to, if it was."""
        if self.tokenizer.chat_template:
            system = [{"role": "system", "content": request.system}] if request.system else []
            messages = [*system, {"role": "user", "content": request.user}]
            text = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        else:
            text = "\n".join(part for part in (request.system, request.user) if part)
        tokens: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        longest = getattr(self.model.config, "max_position_embeddings", 0)
        most = self.options.max_prompt or (longest - MOST_FREE if longest > MOST_FREE else len(tokens))
        return tokens[-most:] or self._ends[:1]

    def _usable_tokens(self, text: str, allowed: Allowed) -> list[int]:
        """Tokens that may follow an unfinished answer."""
        return list(self._that_follow(text, allowed))

    def _that_follow(self, text: str, allowed: Allowed) -> Iterator[int]:
        for token in self._candidates(allowed):
            longer = (text + self._texts[token]).lstrip(" ")
            if len(longer) > len(text) and allowed.begins(longer):
                yield token

    def _tokens_of(self, allowed: Allowed) -> list[int]:
        """Tokens that may be in an answer at all."""
        texts = (*allowed.choices, *allowed.symbols)
        letters = {*" ", *allowed.separator, *(letter for text in texts for letter in text)}
        usable = [
            (token, piece) for token, piece in enumerate(self._texts) if piece and token not in self._ends
        ]
        return [token for token, piece in usable if not texts or letters.issuperset(piece)]

    def _drawn(self, logits: Tensor, rng: np.random.Generator) -> int:
        """The place of a token, by temperature and `top_p`."""
        if not self.is_drawn:
            return int(logits.argmax())
        shares = torch.softmax(logits.double() / self.options.temperature, 0).cpu().numpy()
        order = np.argsort(-shares, kind="stable")
        sums = np.cumsum(shares[order])
        kept = int(np.searchsorted(sums, self.options.top_p * sums[-1] * (1 - 1e-12))) + 1
        return int(
            order[np.searchsorted(sums[:kept], rng.random() * sums[kept - 1], side="right").clip(0, kept - 1)]
        )


def _digest(folder: Path) -> str:
    """SHA-256 of the weights, the tokenizer and the settings of a model."""
    found = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        if file.suffix in (".json", ".safetensors", ".model", ".jinja", ".txt"):
            with file.open("rb") as opened:
                found.update(f"{file.name} {hashlib.file_digest(opened, 'sha256').hexdigest()}\n".encode())
    return found.hexdigest()
