"""XferBench: a language model learns a corpus, then other languages; what it gained by the first is the score.

`transfer.py` is the method from beginning to end. Under it are the model (`model.py`), windows of symbols
(`data.py`), the target languages (`targets.py`; artificial ones: `languages.py`, `lexicon.py`, `typologies.py`)
and the sizes (`presets.py`).

Against Boldt & Mortensen (2024), besides size: there is no dropout; the new embeddings are drawn from GPT-2's
N(0, 0.02) and positions keep what they learnt, as in the authors' program; the line end is a token like any
other; tuning and test share no line; every held-out token is scored once, in windows that do not overlap.
"""
