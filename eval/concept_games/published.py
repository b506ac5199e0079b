"""What the CBM paper prints: Carmeli et al. (2024), https://arxiv.org/abs/2403.14705, Tables 1, 3 and 4.

The accuracy is that of one candidate, by chance one half. Two of Table 3's match scores contradict Table 4, where the
score is good edges over all edges: experiment 5 has 1.401 for 1605 of 4000, experiment 6 has 0.001 for 46 of 4000.
Here both are what Table 4's counts make them. All else is as printed.
"""

from collections.abc import Mapping

Figures = Mapping[str, float]
"""Figures of a row, by the measures of `ecsuite.eval.concept_games.measuring`."""

MISPRINTS: Mapping[str, str] = {
    "exp5": "the paper's Table 3 has 1.401 for the match of experiment 5; its Table 4 makes it 1605/4000",
    "exp6": "the paper's Table 3 has 0.001 for the match of experiment 6; its Table 4 makes it 46/4000",
}
"""What a reader of Table 3 has to know, by row."""

_TABLE1 = (
    "unique_concepts", "unique_phrases", "unique_words", "unique_messages", "accuracy", "topsim_published", "ami",
    "cbm", "ambiguity", "paraphrase", "unmatched",
)  # fmt: skip
_TABLE3 = ("accuracy", "ami", "cbm")
_TABLE4 = (
    "unique_messages", "unique_words", "unique_phrases", "unique_concepts", "total_edges", "good_edges",
    "ambiguous_edges", "paraphrase_edges", "total_concepts", "unmatched_concepts", "paraphrase", "precision", "recall",
)  # fmt: skip


def _row(measures: tuple[str, ...], *figures: float) -> dict[str, float]:
    """Figures in the order of a table's columns."""
    return dict(zip(measures, figures, strict=True))


def _both(*figures: float) -> dict[str, float]:
    """An experiment's row in Table 3, then its row in Table 4."""
    return _row(_TABLE3 + _TABLE4, *figures)


PUBLISHED: Mapping[str, Mapping[str, Figures]] = {
    "table1": {
        "shape_gs": _row(_TABLE1, 17, 17, 11, 11, 0.84, 0.44, 0.76, 0.62, 0.37, 0.01, 0.25),
        "shape_qt": _row(_TABLE1, 17, 17, 26, 26, 0.87, 0.39, 0.85, 0.52, 0.41, 0.08, 0),
        "shape_gs_l4": _row(_TABLE1, 17, 34, 16, 226, 0.78, 0.34, 0.38, 0.52, 0.48, 0, 0.01),
        "shape_qt_l4": _row(_TABLE1, 17, 34, 26, 187, 0.83, 0.23, 0.37, 0.55, 0.37, 0.08, 0),
        "thing_gs": _row(_TABLE1, 50, 50, 18, 18, 0.86, 0.45, 0.72, 0.38, 0.62, 0, 0.55),
        "thing_qt": _row(_TABLE1, 50, 50, 50, 50, 0.92, 0.07, 0.74, 0.73, 0.25, 0.02, 0),
        "thing_gs_l4": _row(_TABLE1, 50, 901, 36, 198, 0.63, 0.33, 0.03, 0.24, 0.76, 0, 0.28),
        "thing_qt_l4": _row(_TABLE1, 50, 901, 64, 450, 0.77, 0.14, 0.05, 0.23, 0.69, 0.08, 0),
    },
    "table3": {
        "exp1": _both(0.829, 0.404, 0.405, 258, 7, 17, 17, 4000, 1621, 2379, 0, 1000, 444, 0, 0.137, 0.546),
        "exp2": _both(
            0.843, 0.390, 0.339, 442, 55, 17, 17, 4000, 1356, 1724, 920, 1000, 0, 0.23, 0.144, 0.577
        ),
        "exp3": _both(0.742, 0.490, 0.152, 8, 8, 34, 17, 4000, 610, 390, 0, 4000, 1457, 0, 0.61, 0.152),
        "exp4": _both(0.748, 0.413, 0.130, 44, 44, 34, 17, 4000, 520, 326, 154, 4000, 0, 0.04, 0.52, 0.13),
        "exp5": _both(0.878, 0.540, 0.401, 238, 8, 17, 17, 4000, 1605, 2395, 0, 1000, 385, 0, 0.144, 0.577),
        "exp6": _both(
            0.991, 0.000, 0.012, 1000, 3899, 17, 17, 4000, 46, 0, 3954, 1000, 0, 0.99, 0.011, 0.044
        ),
        "exp7": _both(0.768, 0.474, 0.152, 7, 7, 34, 17, 4000, 607, 393, 0, 4000, 1727, 0, 0.607, 0.152),
        "exp8": _both(0.897, 0.021, 0.009, 974, 974, 34, 17, 4000, 38, 0, 962, 4000, 0, 0.24, 0.038, 0.009),
        "exp9": _both(0.793, 0.102, 0.091, 543, 7, 50, 50, 4000, 366, 3634, 0, 1000, 807, 0, 0.048, 0.19),
        "exp10": _both(0.798, 0.074, 0.151, 806, 60, 50, 50, 4000, 601, 3369, 30, 1000, 0, 0.01, 0.1, 0.399),
        "exp11": _both(0.655, 0.016, 0.052, 8, 8, 901, 50, 4000, 210, 790, 0, 4000, 3332, 0, 0.21, 0.052),
        "exp12": _both(0.626, 0.014, 0.058, 21, 21, 901, 50, 4000, 233, 767, 0, 4000, 2267, 0, 0.233, 0.058),
        "exp13": _both(0.838, 0.267, 0.119, 412, 8, 50, 50, 4000, 478, 3522, 0, 1000, 795, 0, 0.046, 0.184),
        "exp14": _both(
            0.973, 0.000, 0.014, 1000, 3991, 50, 50, 4000, 57, 0, 3943, 1000, 0, 0.99, 0.013, 0.052
        ),
        "exp15": _both(0.622, 0.020, 0.057, 11, 6, 901, 50, 4000, 229, 771, 0, 4000, 3483, 0, 0.229, 0.057),
        "exp16": _both(
            0.844, 0.000, 0.013, 1000, 1000, 901, 50, 4000, 50, 0, 950, 4000, 0, 0.24, 0.05, 0.013
        ),
    },
}
"""Figures by table and row. Table 3's rows hold those of Table 4, too."""
