"""The machine-translation experiment: does pretraining on a corpus improve translation?

Boldt & Mortensen (2024), sections 4.1 and A.2: BART is pretrained to restore masked spans of a corpus, gets new
embeddings, is fine-tuned on pairs of sentences, and its translations are scored by chrF and BLEU. `jobs.py` has the
study and its jobs, with pairs and tokens from `pairs.py` and sizes from `presets.py`; `benchmark.py` has the result and
its table. Model, noise and training loop are in `eval/models`. docs/xtreme.md lists the differences between the
authors' program and their paper, and which of the two is followed.
"""
