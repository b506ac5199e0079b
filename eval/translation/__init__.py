"""The machine-translation experiment: does a corpus that was learnt first help to translate?

Boldt & Mortensen (2024), sections 4.1 and A.2: BART learns to restore a corpus from which spans were taken, gets new
embeddings, is tuned on pairs of sentences, and its translations are scored by chrF and BLEU. `experiment.py` is the
method from beginning to end; under it are the pairs (`pairs.py`), their tokens (`vocabulary.py`), the noise
(`infilling.py`), the model (`model.py`), the one training loop (`training.py`), the scores (`scoring.py`) and the sizes
(`presets.py`). Where the authors' program and their paper differ, docs/translate.md says which is followed.
"""
