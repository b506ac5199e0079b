"""XferBench: a language model is pretrained on a corpus and fine-tuned on other languages; its loss is the score.

Boldt & Mortensen (2024), section 3.2. `jobs.py` has the study and its jobs: texts are tokenised, a model is pretrained,
gets new embeddings, is fine-tuned on each text and tested on its held-out part. `metric.py` has the metric of a corpus,
the result of a study and its score.

`presets.py` has sizes, protocols and the names of baselines. A protocol (`protocols.py`) defines how corpora and texts
become windows of tokens: `strict` follows the paper, the other protocols follow the authors' program. Target texts are
the files of a folder or artificial languages (`texts.py`, which also has the paper's baseline corpora; `languages.py`).

`comparison.py` compares scores with each other and with `published_scores.yaml`, `normalising.py` has the paper's
normalised scores and tables of writing systems, `correlation.py` the correlation with translation.
"""
