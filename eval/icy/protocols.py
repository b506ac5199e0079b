"""The protocols of ICY by name: how learning is measured."""

PROTOCOLS = {
    "exact": "updates to the target accuracy, measured on every training batch (Tables 3 to 6, 12 to 15, 19)",
    "paper": "as exact, but measured as in the published program: one batch every 50 updates, rounded ratios",
    "budget": "accuracy after as many updates as CONCAT needed (Tables 16, 17, 20)",
    "end-to-end": "accuracy in the original language after end-to-end training of a pair (Table 18, figure 7)",
    "metrics": "compositionality metrics of the grammars, without training (figure 3, Tables 9, 10)",
}
"""Descriptions of the protocols, by the names that users write."""
