"""A causal language model of Hugging Face's transformers on this machine, restricted to allowed answers by its logits.

An answer is generated token by token. Only tokens that begin or continue an allowed answer have a probability, and the
end of text once the answer is complete; so nothing has to be asked again. Several answers are generated in a batch: an
answer is the same as alone, unless two tokens are equally likely up to rounding.
"""

import hashlib
import inspect
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ecsuite.language_models.backend import Allowed, Backend, Reply, Request
from ecsuite.parts.config import Accuracy, Count, Weight
from ecsuite.runtime.errors import ConfigError, missing_extra, shown

HUB = "hf:"
"""Prefix of names of models that may be downloaded."""
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
        batch_size: Count = 16
        """Answers that are made at once, where so many questions are open."""

        changeable: ClassVar[tuple[str, ...]] = ("batch_size",)
        """Options that may change when a run is resumed."""

    def __init__(self, options: Options) -> None:
        if not options.model:
            raise ConfigError("model: expected the folder of a model, or hf:OWNER/NAME")
        name, is_of_hub = options.model.removeprefix(HUB), options.model.startswith(HUB)
        if not is_of_hub and not Path(name).is_dir():
            raise ConfigError(f"model: {name}: no such folder; of the hub: {HUB}OWNER/NAME")
        self._load(options, name, {"local_files_only": not is_of_hub, "revision": options.revision})
        self.revision = folder_digest(Path(name)) if not is_of_hub else str(self.model.config._commit_hash)
        self._name = f"{Path(name).name} {self.revision[:16]}"

    def _load(self, options: Any, name: str, where: Mapping[str, Any]) -> None:
        """Load tokenizer and weights by their name or folder; `ConfigError` in a line if that fails."""
        super().__init__(options)
        self.is_drawn, self.batch_size = options.temperature > 0, options.batch_size
        library = transformers()
        try:
            self.tokenizer = library.AutoTokenizer.from_pretrained(name, trust_remote_code=False, **where)
            self.model = library.AutoModelForCausalLM.from_pretrained(
                name, use_safetensors=True, trust_remote_code=False, **where
            )
        except Exception as error:  # of transformers, of the hub's library or of files, by version
            raise ConfigError(f"model: {name} can't be read: {shown(str(error))}") from None
        self.model.eval().to("cuda" if torch.cuda.is_available() else "cpu")
        self._takes = set(inspect.signature(self.model.forward).parameters)
        self._texts = [str(self.tokenizer.decode([token])) for token in range(len(self.tokenizer))]
        ends = {self.tokenizer.eos_token_id, *(n for n, text in enumerate(self._texts) if text == "\n")}
        self._ends: list[int] = sorted(token for token in ends if token is not None)
        self._usable = lru_cache(maxsize=1000)(self._usable_tokens)
        self._candidates = lru_cache(maxsize=100)(self._tokens_of)

    @property
    def settings(self) -> dict[str, Any]:
        """Weights, sampling, and the limit of prompts."""
        names = ("temperature", "top_p", "max_prompt")
        return {
            "backend": "transformers",
            "weights": self.revision,
            **{n: getattr(self.options, n) for n in names},
        }

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
        """Raise `ConfigError` for symbols that the tokenizer can't write."""
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

    def reply(self, request: Request) -> Reply:
        """Draw an answer, or the most likely one."""
        return self.replies([request])[0]

    @torch.inference_mode()
    def replies(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer several requests in one batch, padded on the left."""
        answers = [_UnfinishedAnswer(request, self._prompt(request)) for request in requests]
        width, device = max(len(each.prompt) for each in answers), self.model.device
        padding = [width - len(each.prompt) for each in answers]
        rows = [[self._ends[0]] * left + each.prompt for left, each in zip(padding, answers, strict=True)]
        tokens = torch.tensor(rows, device=device)  # (requests, width)
        mask = (torch.arange(width) >= torch.tensor(padding)[:, None]).long().to(device)
        cache = None
        while not all(each.is_whole for each in answers):
            asked: dict[str, Any] = {"input_ids": tokens, "attention_mask": mask, "past_key_values": cache}
            places = (mask.cumsum(1) - 1).clamp_min(0)[:, -tokens.shape[1] :]
            asked |= {"position_ids": places} if "position_ids" in self._takes else {}
            asked |= {"logits_to_keep": 1} if "logits_to_keep" in self._takes else {}
            out = self.model(**asked, use_cache=True)
            cache, logits = out.past_key_values, out.logits[:, -1].float().cpu()
            chosen = [
                self._next(each, row) if not each.is_whole else self._ends[0]
                for each, row in zip(answers, logits, strict=True)
            ]
            tokens = torch.tensor(chosen, device=device)[:, None]
            mask = torch.cat((mask, torch.ones_like(tokens)), 1)
        return [
            Reply(text=each.text, model=self._name, prompt_tokens=len(each.prompt), answer_tokens=each.number)
            for each in answers
        ]

    def _next(self, answer: "_UnfinishedAnswer", logits: Tensor) -> int:
        """The next token of an answer, by logits of (tokens,)."""
        allowed, answer.number = answer.request.allowed, answer.number + 1
        usable, ends = self._usable(answer.text, allowed), allowed.allows(answer.text)
        choices: list[int] = usable + (self._ends if ends else [])
        is_free = not allowed.symbols and not allowed.choices
        answer.is_whole = not usable or (is_free and answer.number > MOST_FREE)
        if not answer.is_whole:
            chosen: int = choices[self._drawn(logits[choices], answer.rng)]
            answer.is_whole = chosen in self._ends and ends
            if not answer.is_whole:
                answer.text = (answer.text + self._texts[chosen]).lstrip(" ")
                answer.is_whole = answer.number >= MOST_FREE * (1 + len(allowed.symbols))
                return chosen
        return self._ends[0]

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
        longer = [(token, (text + self._texts[token]).lstrip(" ")) for token in self._candidates(allowed)]
        return [token for token, each in longer if len(each) > len(text) and allowed.begins(each)]

    def _tokens_of(self, allowed: Allowed) -> list[int]:
        """Tokens that may be in an answer at all."""
        texts = (*allowed.choices, *allowed.symbols)
        letters = {*" ", *allowed.separator, *(letter for text in texts for letter in text)}
        usable = [
            (token, piece) for token, piece in enumerate(self._texts) if piece and token not in self._ends
        ]
        return [token for token, piece in usable if not texts or letters.issuperset(piece)]

    def _drawn(self, logits: Tensor, rng: np.random.Generator) -> int:
        """Draw the index of a token by temperature and `top_p`."""
        if not self.is_drawn:
            return int(logits.argmax())
        shares = torch.softmax(logits.double() / self.options.temperature, 0).cpu().numpy()
        order = np.argsort(-shares, kind="stable")
        sums = np.cumsum(shares[order])
        kept = int(np.searchsorted(sums, self.options.top_p * sums[-1] * (1 - 1e-12))) + 1
        return int(
            order[np.searchsorted(sums[:kept], rng.random() * sums[kept - 1], side="right").clip(0, kept - 1)]
        )


@dataclass(slots=True)
class _UnfinishedAnswer:
    """An unfinished answer."""

    request: Request
    prompt: list[int]
    text: str = ""
    number: int = 0
    """Steps of the generation."""
    is_whole: bool = False
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([self.request.draw, *b"tokens"])


def transformers() -> Any:
    """Import the library transformers, without its notes; `ConfigError` if it is not installed."""
    try:
        import transformers as library
    except ImportError:
        raise missing_extra("a language model on this machine needs transformers", "llm") from None
    library.logging.set_verbosity_error()
    library.logging.disable_progress_bar()
    return library


def folder_digest(folder: Path) -> str:
    """SHA-256 of the weights, the tokenizer and the settings of a model."""
    found = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        if file.suffix in (".json", ".safetensors", ".model", ".jinja", ".txt"):
            with file.open("rb") as opened:
                found.update(f"{file.name} {hashlib.file_digest(opened, 'sha256').hexdigest()}\n".encode())
    return found.hexdigest()
