"""The machine-translation experiment: does pretraining on a corpus improve translation?

Boldt & Mortensen (2024), sections 4.1 and A.2: BART is pretrained to restore masked spans of a corpus, gets new
embeddings, is fine-tuned on pairs of sentences, and its translations are scored by chrF and BLEU. `study.py` is what is
asked, `jobs.py` the method: it uses the pairs (`pairs.py`), their tokens (`encoding.py`), the scores (`scoring.py`) and
the sizes (`presets.py`); `result.py` and `report.py` are what came out. Model, noise and training loop are in
`eval/models`. docs/xtreme.md says where the authors' program and their paper differ, and which is followed.
"""
