"""XferBench: a language model is pretrained on a corpus and fine-tuned on other languages; its loss there is the score.

`transfer.py` is the whole method. It runs the two stages of `stages.py`, pretraining and fine-tuning with a test. A
protocol (`protocols.py`) defines how corpora and texts become windows of tokens: `strict.py` follows the paper,
`published.py` the authors' program; `tokenised.py` caches the tokens. Target texts are the files of a folder or
artificial languages (`texts.py`; `languages.py`, `lexicon.py`, `typologies.py`). Presets define sizes (`presets.py`),
`sources.py` the paper's baseline corpora; `published_scores.yaml` has published scores.
"""
