"""XferBench: a language model learns a corpus, then other languages; what it gained by the first is the score.

`transfer.py` is the method from beginning to end, in two stages (`stages.py`) of a model (`model.py`) that reads
windows of symbols (`data.py`). How corpora and texts become these is the protocol's (`protocols.py`: `strict.py`,
what the paper says; `published.py`, what the authors' program does), kept by `tokenised.py`. Texts are a folder's, or
artificial (`texts.py`; `languages.py`, `lexicon.py`, `typologies.py`); sizes are a preset's (`presets.py`).
"""
