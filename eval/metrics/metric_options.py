"""Metrics of ours with options after a comma: `topsim,correlation=pearson`."""

from dataclasses import fields, replace
from typing import Any

import ecsuite.parts.own_code as own_code
from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.score import Metric, Options, Score
from ecsuite.eval.metrics.traits import traits_in


def with_options(metric: Metric, name: str, chosen: Any) -> Metric:
    """A metric with its own options; the names of its scores have those that are not the defaults.

    Args:
        metric: A function of a corpus, options of scoring, and its own options.
        name: As the user wrote it.
        chosen: Its own options.

    Raises:
        ConfigError: If an option names something of a user's file that is not there, or that nobody trusts.
    """
    for kind in own_code.foreign_kinds(name):
        own_code.named(kind)
    ending = unusual(chosen) if traits_in(metric)[0].names_options else ""

    def scored(corpus: Corpus, options: Options) -> list[Score]:
        with_own: Any = metric
        scores: list[Score] = with_own(corpus, options, chosen)
        return [
            score if "," in score.name else replace(score, name=f"{score.name}{ending}") for score in scores
        ]

    vars(scored)["traits"] = tuple(replace(each, name=f"{each.name}{ending}") for each in traits_in(metric))
    return scored


def unusual(options: Any) -> str:
    """The options that are not the defaults, as after the name of a metric: `,correlation=pearson`."""
    usual = type(options)()
    pairs = [(each.name, getattr(options, each.name)) for each in fields(options)]
    return "".join(f",{key}={value}" for key, value in pairs if value != getattr(usual, key))
