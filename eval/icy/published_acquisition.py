"""What the ICY paper prints of acquisition: Perkins (2021), appendix F, Tables 12 to 15, with their 95 % intervals.

Means are as in Tables 3, 4, 5 and 19, which are of the same runs and print some with a digit more. FC1L on SHUFDET is
`> 20` in Table 3 and 11 in Table 12, which is right. Tables 12, 14 and 15 have 20.04 to 20.4 where all runs were given
up, because the program looks every 50 updates; here that is the cap.
"""

from collections.abc import Mapping

from ecsuite.config import look_up

GRAMMARS = ("perm", "proj", "rot", "shufdet", "hol")
"""The columns, in the paper's order."""

CAP = 20.0

Figures = Mapping[str, tuple[float, float]]


def _row(*figures: float) -> Figures:
    """Mean and half-width of the interval for each grammar; HOL always reached the cap unless it is given."""
    pairs = list(zip(figures[::2], figures[1::2], strict=True))
    return dict(zip(GRAMMARS, [*pairs, (CAP, 0.0)][: len(GRAMMARS)], strict=True))


ACQUISITION: Mapping[str, Mapping[str, Figures]] = {
    "table12": {
        "fc1l": _row(1.12, 0.09, 1.9, 0.2, CAP, 0.0, 11, 6),
        "fc2l": _row(1.0, 0.0, 2.1, 0.2, CAP, 0.0, 7, 3),
        "lstm": _row(1.0, 0.1, 2.2, 0.2, 7, 2, 1.6, 0.08),
        "lstm-2l": _row(0.9, 0.2, 1.9, 0.3, 4.6, 1, 1.36, 0.2),
        "transformer": _row(1.02, 0.2, 2.5, 0.6, 10, 3, 2.1, 0.4),
        "transformer-2l": _row(1.08, 0.07, 2.2, 0.5, 10.4, 1.0, 1.98, 0.1),
        "hashtable": _row(1.0, 0.1, 0.98, 0.04, 0.98, 0.04, 1.02, 0.09, 1.06, 0.1),
    },
    "table13": {
        "lstm,hidden=1280": _row(0.94, 0.2, 1.6, 0.3, 2.7, 0.6, 1.4, 0.2),
        "fc2l,hidden=1280": _row(1.02, 0.07, 1.86, 0.1, CAP, 0.0, 10, 5),
    },
    "table14": {
        "rnn": _row(0.76, 0.09, 2.8, 0.1, 18, 3, 1.74, 0.1),
        "rnn-z": _row(0.8, 0.1, 2.9, 0.7, 19, 2, 2.0, 0.2),
        "gru": _row(1.0, 0.1, 2.4, 0.3, 6, 1, 1.88, 0.2),
        "gru-z": _row(1.16, 0.2, 2.3, 0.3, 4.7, 0.5, 1.86, 0.1),
        "lstm": _row(1.0, 0.1, 2.2, 0.2, 7, 2, 1.6, 0.08),
        "lstm-z": _row(1.18, 0.07, 2.3, 0.3, 7, 2, 1.82, 0.1),
    },
    "table15": {
        "lstm": _row(1.08, 0.1, 2.4, 0.3, 6.3, 1, 1.8, 0.1),
        "lstm-z": _row(1.15, 0.1, 2.3, 0.2, 5.4, 1.0, 1.83, 0.1),
        "husenda:rnn": _row(0.92, 0.05, 2.4, 0.3, 10, 3, 1.9, 0.2),
        "husendz:rnn": _row(0.93, 0.1, 2.5, 0.4, 15, 2, 1.68, 0.2),
        "dgsend": _row(0.92, 0.1, 2.3, 0.3, 5.5, 0.8, 1.52, 0.1),
        "dgsend-z": _row(0.92, 0.08, 2.1, 0.2, 4.6, 0.4, 1.54, 0.1),
        "husenda:dgsend": _row(1.09, 0.07, 1.9, 0.2, 5.8, 1, 1.4, 0.1),
        "husendz:dgsend": _row(1.03, 0.08, 1.67, 0.1, 4.5, 0.8, 1.27, 0.1),
    },
}
"""Table, model, grammar: mean ratio to CONCAT, and half its interval."""


def published(model: str, table: str | None = None) -> Figures:
    """The paper's figures for a model: of a table, or of the one with most seeds; empty where there are none.

    Raises:
        ConfigError: If there is no such table.
    """
    tables = [table] if table else ["table15", "table12", "table14", "table13"]
    look_up("table", tables[0], ACQUISITION)
    return next((ACQUISITION[name][model] for name in tables if model in ACQUISITION[name]), {})
