"""A causal language model of Hugging Face's transformers on this machine, restricted to allowed answers by its logits.

An answer is generated token by token. Only tokens that begin or continue an allowed answer have a probability, and the
end of text after a complete answer, so that every answer is allowed. For few choices, the probabilities of all choices
are computed at once and stored with the answer. Several answers are generated in a batch: an answer does not depend on
the batch, unless two tokens are equally likely up to rounding.
"""

import copy
import hashlib
import inspect
import time
from collections.abc import Sequence
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
"""Maximum number of tokens of free text."""
MOST_PATHS = 256
"""Maximum number of unfinished answers for which the probabilities of all choices are computed."""
MOST_TREES = 20_000
"""Maximum number of questions whose logits are cached in memory."""
NUM_TIMED = 4
"""Number of questions that are asked to estimate the time of a run."""
NO_LOGITS = torch.empty(0)

TokenPath = tuple[int, ...]
"""Tokens of an unfinished answer."""
Tree = dict[TokenPath, tuple[list[int], Tensor]]
"""Allowed next tokens of each unfinished answer, and their logits, both (num_allowed,)."""
Question = tuple[TokenPath, Allowed]
"""Tokens of a prompt, and the allowed answers."""


class CausalModel(Backend):
    """A folder with weights as safetensors and a tokenizer, or `hf:OWNER/NAME`.

    Raises:
        ConfigError: If transformers is not installed, or the model does not exist.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of a model on this machine."""

        model: str = ""
        """Folder of the model, or hf:OWNER/NAME for a model of the Hugging Face hub, which is then downloaded."""
        revision: str | None = None
        """Commit of a model of the hub; null: the newest."""
        temperature: Weight = 1.0
        """Temperature of the answers; 0: the most likely answers, and equal questions are asked once."""
        top_p: Accuracy = 1.0
        """Nucleus sampling: share of the probability that answers are drawn from."""
        max_prompt: Count | None = None
        """Maximum number of tokens of a prompt, whose beginning is cut; null: the maximum of the model."""
        batch_size: Count = 16
        """Maximum number of answers generated at once."""

        changeable: ClassVar[tuple[str, ...]] = ("batch_size",)
        """Options that may change when a run is resumed."""

    has_probabilities = remembers = True

    def __init__(self, options: Options) -> None:
        if not options.model:
            raise ConfigError("model: expected the folder of a model, or hf:OWNER/NAME")
        name, is_of_hub = options.model.removeprefix(HUB), options.model.startswith(HUB)
        if not is_of_hub and not Path(name).is_dir():
            raise ConfigError(f"model: {name}: no such folder; for a model of the hub: {HUB}OWNER/NAME")
        digest = "" if is_of_hub else folder_digest(Path(name))
        self._use(options, load(name, digest, options.revision))
        self.revision = digest or str(self.model.config._commit_hash)
        self._name = f"{Path(name).name} {self.revision[:16]}"

    def _use(self, options: Any, loaded: "Loaded") -> None:
        super().__init__(options)
        self.is_drawn, self.batch_size = options.temperature > 0, options.batch_size
        self.tokenizer, self.model, self._trees = loaded.tokenizer, loaded.model, loaded.trees
        self._texts, self._ends = loaded.texts, loaded.ends
        self._takes = set(inspect.signature(self.model.forward).parameters)
        self._usable = lru_cache(maxsize=1000)(self._usable_tokens)
        self._candidates = lru_cache(maxsize=100)(self._tokens_of)
        self._paths = lru_cache(maxsize=100)(self._unfinished_paths)

    def to(self, device: torch.device) -> None:
        """Move the weights, which all participants of this process share."""
        if self.model.device.type != device.type:
            self.model.to(device)
            self._trees.clear()

    @property
    def settings(self) -> dict[str, Any]:
        """Weights, sampling, and the limit of prompts."""
        names = ("temperature", "top_p", "max_prompt")
        return {
            "backend": "transformers",
            "weights": self.revision,
            **{n: getattr(self.options, n) for n in names},
        }

    def seconds_of(self, requests: Sequence[Request]) -> float:
        """Mean time per answer in seconds, measured on some of the requests after a first one."""
        asked = [requests[len(requests) * n // NUM_TIMED] for n in range(min(NUM_TIMED, len(requests)))]
        for each in asked[:1]:
            self.reply(each)
        self._trees.clear()
        began = time.monotonic()
        for each in asked:
            self.reply(each)
        return (time.monotonic() - began) / max(1, len(asked))

    def num_tokens(self, text: str) -> int:
        """Number of tokens of a text."""
        return len(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def require(self, allowed: Allowed) -> None:
        """Raise `ConfigError` for symbols that the tokenizer can't write."""
        if not self._ends:
            raise ConfigError(
                "model: its tokenizer has neither an end-of-text token nor a newline token, so no answer can end"
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
                "restricted to these symbols: choose others"
            )

    def _can_write(self, text: str) -> bool:
        tokens = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return "".join(self._texts[token] for token in tokens).strip() == text

    def reply(self, request: Request) -> Reply:
        """Draw an answer, or the most likely one."""
        return self.replies([request])[0]

    @torch.inference_mode()
    def replies(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer several requests: few choices by the probabilities of all choices, others token by token."""
        answers = [_UnfinishedAnswer(request, self._prompt(request)) for request in requests]
        wanted = {
            (tuple(each.prompt), each.request.allowed): None
            for each in answers
            if self._paths(each.request.allowed)
        }
        # Prompts often repeat: agents with equal or empty memories get equal prompts.
        if new := [each for each in wanted if each not in self._trees]:
            while self._trees and len(self._trees) + len(new) > MOST_TREES:
                self._trees.pop(next(iter(self._trees)))
            self._trees.update(zip(new, self._new_trees(new), strict=True))
        self._generate([each for each in answers if not self._paths(each.request.allowed)])
        shares: dict[Question, dict[str, float]] = {}
        for each in answers:
            if (question := (tuple(each.prompt), each.request.allowed)) in wanted:
                self._draw(each, self._trees[question])
                if question not in shares:
                    shares[question] = self._probabilities(*question[1:], self._trees[question])
        return [
            Reply(
                text=each.text,
                model=self._name,
                prompt_tokens=len(each.prompt),
                answer_tokens=each.number,
                choice_probabilities=shares.get((tuple(each.prompt), each.request.allowed)),
            )
            for each in answers
        ]

    def _forward(self, tokens: Tensor, mask: Tensor, cache: Any) -> Any:
        """Output of the model after the last token of `tokens`, (rows, tokens); `mask`: (rows, all tokens)."""
        asked: dict[str, Any] = {"input_ids": tokens, "attention_mask": mask, "past_key_values": cache}
        places = (mask.cumsum(1) - 1).clamp_min(0)[:, -tokens.shape[1] :]
        asked |= {"position_ids": places} if "position_ids" in self._takes else {}
        asked |= {"logits_to_keep": 1} if "logits_to_keep" in self._takes else {}
        return self.model(**asked, use_cache=True)

    def _padded(self, prompts: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Prompts padded on the left, and their mask, both (prompts, tokens)."""
        width, device = max(map(len, prompts)), self.model.device
        rows = [[self._ends[0]] * (width - len(each)) + list(each) for each in prompts]
        lengths = torch.tensor([len(each) for each in prompts])[:, None]
        mask = (torch.arange(width) >= width - lengths).long()
        return torch.tensor(rows, device=device), mask.to(device)

    def _generate(self, answers: Sequence["_UnfinishedAnswer"]) -> None:
        if not answers:
            return
        tokens, mask = self._padded([each.prompt for each in answers])
        cache = None
        while not all(each.is_whole for each in answers):
            out = self._forward(tokens, mask, cache)
            cache, logits = out.past_key_values, out.logits[:, -1].float().cpu()
            chosen = []
            for each, row in zip(answers, logits, strict=True):
                following = [] if each.is_whole else self._following(each.text, each.request.allowed)
                chosen.append(self._ends[0] if each.is_whole else self._next(each, following, row[following]))
            tokens = torch.tensor(chosen, device=self.model.device)[:, None]
            mask = torch.cat((mask, torch.ones_like(tokens)), 1)

    def _unfinished_paths(self, allowed: Allowed) -> dict[TokenPath, str]:
        """Unfinished answers among choices, as tokens and text; empty if there are too many."""
        paths: dict[TokenPath, str] = {(): ""} if allowed.choices else {}
        growing = list(paths)
        for path in growing:
            for token in self._usable(paths[path], allowed):
                text = (paths[path] + self._texts[token]).lstrip(" ")
                if self._usable(text, allowed):
                    paths[*path, token] = text
                    growing.append((*path, token))
            if len(paths) > MOST_PATHS:
                return {}
        return paths

    def _new_trees(self, questions: Sequence[Question]) -> list[Tree]:
        """Logits of the allowed next tokens of each unfinished answer, for each question."""
        tokens, mask = self._padded([prompt for prompt, _ in questions])
        out = self._forward(tokens, mask, None)
        logits = out.logits[:, -1].float().cpu()
        trees = []
        for number, (_, allowed) in enumerate(questions):
            paths = self._paths(allowed)
            rows = {(): logits[number]} | self._deeper_logits(list(paths), out.past_key_values, mask, number)
            tree = {}
            for path, text in paths.items():
                following = self._following(text, allowed)
                tree[path] = (following, rows[path][following])
            trees.append(tree)
        return trees

    def _deeper_logits(
        self, paths: Sequence[TokenPath], cache: Any, mask: Tensor, number: int
    ) -> dict[TokenPath, Tensor]:
        """Logits, (tokens,), after each non-empty path that follows a prompt of the batch.

        All paths are processed at once, as one row in which a token attends to the prompt and its own path.
        """
        longer = [path for path in paths if path]
        if not longer:
            return {}
        index = {path: n for n, path in enumerate(longer)}
        sees = torch.zeros(len(longer), len(longer), dtype=torch.bool)
        for n, path in enumerate(longer):
            sees[n, [index[path[: k + 1]] for k in range(len(path))]] = True
        prompt = mask[number].bool().cpu()
        sees = torch.cat((prompt.expand(len(longer), -1), sees), 1)  # (paths, prompt and paths)
        dtype = self.model.dtype
        hidden = torch.full(sees.shape, torch.finfo(dtype).min, dtype=dtype).masked_fill(sees, 0)
        copied = copy.deepcopy(cache)
        copied.batch_select_indices(torch.tensor([number], device=mask.device))
        places = torch.tensor([[int(prompt.sum()) + len(path) - 1 for path in longer]], device=mask.device)
        asked: dict[str, Any] = {
            "input_ids": torch.tensor([[path[-1] for path in longer]], device=mask.device)
        }
        asked |= {"position_ids": places} if "position_ids" in self._takes else {}
        asked |= {"attention_mask": hidden[None, None].to(mask.device), "past_key_values": copied}
        logits = self.model(**asked, use_cache=True).logits[0].float().cpu()
        return dict(zip(longer, logits, strict=True))

    def _draw(self, answer: "_UnfinishedAnswer", tree: Tree) -> None:
        """Complete an answer from the logits of all answers."""
        path: TokenPath = ()
        while not answer.is_whole:
            path = (*path, self._next(answer, *tree.get(path, ([], NO_LOGITS))))

    def _probabilities(self, allowed: Allowed, tree: Tree) -> dict[str, float]:
        """Probability of each choice at the temperature and `top_p`; at temperature 1 if the temperature is 0."""
        found, paths = dict.fromkeys(allowed.choices, 0.0), self._paths(allowed)
        reached: dict[TokenPath, float] = {(): 1.0}
        for path, text in paths.items():  # shorter ones are before longer ones
            tokens, logits = tree[path]
            for token, share in zip(tokens, self._shares(logits).tolist(), strict=True):
                if token in self._ends and allowed.allows(text):
                    found[text] += reached[path] * share
                elif (*path, token) in paths:
                    reached[*path, token] = reached[path] * share
                else:
                    found[(text + self._texts[token]).lstrip(" ")] += reached[path] * share
        return {choice: float(f"{share:.5g}") for choice, share in found.items()}

    def _following(self, text: str, allowed: Allowed) -> list[int]:
        """Allowed next tokens of an unfinished answer, including the end of text; empty for a complete answer."""
        usable = self._usable(text, allowed)
        return usable + self._ends if usable and allowed.allows(text) else usable

    def _next(self, answer: "_UnfinishedAnswer", following: Sequence[int], logits: Tensor) -> int:
        """Choose the next token of an answer among the allowed tokens, given their logits, (num_allowed,)."""
        allowed, answer.number = answer.request.allowed, answer.number + 1
        is_free = not allowed.symbols and not allowed.choices
        answer.is_whole = not following or (is_free and answer.number > MOST_FREE)
        if not answer.is_whole:
            chosen = following[self._drawn(logits, answer.rng)]
            answer.is_whole = chosen in self._ends and allowed.allows(answer.text)
            if not answer.is_whole:
                answer.text = (answer.text + self._texts[chosen]).lstrip(" ")
                answer.is_whole = answer.number >= MOST_FREE * (1 + len(allowed.symbols))
                return chosen
        return self._ends[0]

    def _prompt(self, request: Request) -> list[int]:
        """The tokens of the prompt, in the model's chat template if it has one."""
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
        longer = [(token, (text + self._texts[token]).lstrip(" ")) for token in self._candidates(allowed)]
        return [token for token, each in longer if len(each) > len(text) and allowed.begins(each)]

    def _tokens_of(self, allowed: Allowed) -> list[int]:
        """All tokens that an allowed answer can contain."""
        texts = (*allowed.choices, *allowed.symbols)
        letters = {*" ", *allowed.separator, *(letter for text in texts for letter in text)}
        usable = [
            (token, piece) for token, piece in enumerate(self._texts) if piece and token not in self._ends
        ]
        return [token for token, piece in usable if not texts or letters.issuperset(piece)]

    def _shares(self, logits: Tensor) -> "np.ndarray[Any, Any]":
        """Probabilities of tokens at the temperature and `top_p`; at temperature 1 if the temperature is 0."""
        shares: np.ndarray[Any, Any] = torch.softmax(
            logits.double() / (self.options.temperature or 1), 0
        ).numpy()
        order = np.argsort(-shares, kind="stable")
        sums = np.cumsum(shares[order])
        kept = int(np.searchsorted(sums, self.options.top_p * sums[-1] * (1 - 1e-12))) + 1
        shares[order[kept:]] = 0
        shares /= sums[min(kept, len(sums)) - 1]
        return shares

    def _drawn(self, logits: Tensor, rng: np.random.Generator) -> int:
        """Draw the index of a token at the temperature and `top_p`."""
        if not self.is_drawn:
            return int(logits.argmax())
        shares = self._shares(logits)
        order = np.argsort(-shares, kind="stable")
        sums = np.cumsum(shares[order])
        place = np.searchsorted(sums, rng.random() * sums[-1], side="right")
        return int(order[place.clip(0, np.count_nonzero(shares) - 1)])


@dataclass(slots=True)
class _UnfinishedAnswer:
    """An unfinished answer."""

    request: Request
    prompt: list[int]
    text: str = ""
    number: int = 0
    """Number of generated tokens."""
    is_whole: bool = False
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([self.request.draw, *b"tokens"])


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model in memory."""

    tokenizer: Any
    model: Any
    texts: list[str]
    """Text of each token."""
    ends: list[int]
    """Tokens that end an answer: the end of text, and ends of lines."""
    trees: dict[Question, Tree]
    """Cached logits of all answers, by question."""


@lru_cache(maxsize=1)
def load(name: str, digest: str, revision: str | None = None) -> Loaded:
    """Load tokenizer and weights, once for all participants and runs of this process.

    Args:
        name: Folder, or name on the hub.
        digest: SHA-256 of the folder's files; empty for a model of the hub.
        revision: Commit of a model of the hub.

    Raises:
        ConfigError: If the model can't be read.
    """
    library = transformers()
    where = {"local_files_only": bool(digest), "revision": revision, "trust_remote_code": False}
    try:
        tokenizer = library.AutoTokenizer.from_pretrained(name, **where)
        model = library.AutoModelForCausalLM.from_pretrained(name, use_safetensors=True, **where)
    except Exception as error:  # of transformers, of the hub's library or of files, by version
        raise ConfigError(f"model: {name} can't be read: {shown(str(error))}") from None
    model.eval()
    texts = [str(tokenizer.decode([token])) for token in range(len(tokenizer))]
    ends = {tokenizer.eos_token_id, *(n for n, text in enumerate(texts) if text == "\n")}
    return Loaded(tokenizer, model, texts, sorted(token for token in ends if token is not None), {})


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
