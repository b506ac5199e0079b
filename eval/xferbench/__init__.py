"""XferBench: a language model is pretrained on a corpus and fine-tuned on other languages; its loss there is the score.

Boldt & Mortensen (2024), section 3.2. `study.py` is what is asked, `jobs.py` the method: texts are tokenised, a model
is pretrained, gets new embeddings, is fine-tuned on each text and tested on its held-out part; `result.py` and
`report.py` are what came out, `metric.py` the metric of a corpus.

A protocol (`protocols.py`) defines how corpora and texts become windows of tokens: `strict.py` follows the paper,
`authors_program.py` the authors' program. Target texts are the files of a folder or artificial languages (`texts.py`;
`languages.py`, `lexicon.py`, `typologies.py`). Presets define sizes (`presets.py`), `sources.py` the paper's baseline
corpora; `published_scores.yaml` has published scores.
"""
