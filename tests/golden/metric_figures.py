"""Every metric that trains no large model, on eight small corpora: values, intervals and all details.

Bound: 1e-9, relative or absolute. Metrics count and draw from seeded generators, so only the order of additions in
double precision may differ between processors. A value may change only with the version in its signature:
`record.py` refuses to record another value under the same version. Not compared: texts for people, and the parts of
signatures other than the version.
"""

from functools import partial
from pathlib import Path
from typing import Any

from access import as_json
from comparison import Bound, Case
from corpora import CORPORA

BOUND = Bound(relative=1e-9, absolute=1e-9)
ASKED_FOR = (
    *("ease_of_learning", "xferbench", "generalisation", "rsa", "transfer", "cross_play"),
    *("language_similarity", "morphemes", "csar", "noise_objects", "attribute_information"),
    *("efficiency", "message_entropy", "word_order_marking", "contact", "information_loss", "phrasebook"),
    *("covertness", "pseudo_dyads", "drift"),
)
"""Metrics with tests or figures of their own: those that train, ask the agents of a run, or need certain corpora."""


def names(folder: Path) -> Any:
    """The metrics that `ecsuite list` names, since each case measures all of them."""
    return sorted(as_json("list", folder=folder)["metrics"])


def scores(folder: Path, corpus: str) -> dict[str, Any]:
    metrics = [name for name in as_json("list", folder=folder)["metrics"] if name not in ASKED_FOR]
    path = CORPORA[corpus](folder)
    found = as_json("score", path, "--metrics", ",".join(metrics), folder=folder)["scores"]
    figures: dict[str, Any] = {}
    for score in found:
        kept = {key: score[key] for key in ("value", "ci95", "chance", "details")}
        figures[score["name"]] = {"version": score["signature"].rpartition("|v:")[2], **kept}
    return figures


CASES = {"names": Case(names)}
CASES |= {corpus: Case(partial(scores, corpus=corpus), BOUND) for corpus in CORPORA}
