"""Transfer to XTREME: does pretraining on a corpus help with tasks in human languages?

`study.py` is what is asked, `jobs.py` the method: a backbone is pretrained on a source (`sources.py`), trained on texts
of languages (`texts.py`) by a protocol (`presets.py`), and evaluated on a task (`task.py`, or `retrieval.py` without a
head). `published_model.py` is a backbone that others trained, `weights.py` how backbones and embeddings are kept,
`splits.py` which examples are for training and which for the test. Examples become rows (`rows.py`; `labels.py`,
`questions.py`), on which a head (`heads.py`) is trained (`tuning.py`).

`result.py` is what came out, without what failed (`failures.py`), beside a baseline without a model and chance level.
It is reported as gains over controls (`gains.py`) in tables (`report.py`) and a picture (`figure.py`); `benchmark.py`
is all of it by the protocol of benchmarks. The tasks themselves, without models, are in `scoring/`.
"""
