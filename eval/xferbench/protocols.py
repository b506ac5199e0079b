"""Protocols: rules that turn corpora and texts into training and test data. A signature names its protocol."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ecsuite.corpus import Corpus
    from ecsuite.eval.models.data import PretrainingData, Target
    from ecsuite.eval.xferbench.presets import Pretraining, TextSizes
    from ecsuite.eval.xferbench.texts import Text


@dataclass(frozen=True, kw_only=True, slots=True)
class Protocol:
    """Rules for the data of XferBench."""

    name: str
    """The name in signatures."""
    about: str
    """One-line description."""
    source: "Callable[[Corpus, Pretraining, int], PretrainingData]"
    """Makes pretraining data from a corpus and a seed."""
    require_fitting: "Callable[[Corpus, Pretraining], None]"
    """Refuses a corpus that can't be pretrained on, as far as its symbols and sizes say that."""
    target: "Callable[[Text, TextSizes], Target]"
    """Makes fine-tuning and test data from a text."""
    weight_decay: float
    """Weight decay of AdamW."""
    warning: str | None = None
    """Warning shown with its scores."""


def _imported_later(place: str, **options: Any) -> Callable[..., Any]:
    """A function of this package, `module:name`, with options; imported when called, as torch takes a second."""
    module, name = place.split(":")

    def function(*arguments: Any) -> Any:
        return getattr(import_module(f"ecsuite.eval.xferbench.{module}"), name)(*arguments, **options)

    return function


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol(
            name="strict",
            about="as the paper describes: fine-tuning and test data are disjoint, each held-out token is scored once",
            source=_imported_later("strict:source"),
            require_fitting=_imported_later("strict:require_fitting"),
            target=_imported_later("strict:target"),
            weight_decay=0.01,
        ),
        Protocol(
            name="published-2024",
            about="as the authors' program of September 2024, which made the published tables",
            source=_imported_later("authors_program:source"),
            require_fitting=_imported_later("authors_program:require_fitting"),
            target=_imported_later("authors_program:target"),
            weight_decay=0.0,
            warning="fine-tuning and test data overlap, untrained end tokens are scored, as for the published tables",
        ),
        Protocol(
            name="head-2024-12",
            about="as the authors' program since December 2024, which fine-tunes on its test data",
            source=_imported_later("authors_program:source", shuffled=True),
            require_fitting=_imported_later("authors_program:require_fitting"),
            target=_imported_later("authors_program:target", shuffled=True),
            weight_decay=0.0,
            warning="the fine-tuning data contain the whole test set: only demonstrates this leak, do not report",
        ),
    )
}
"""Protocols by name."""
