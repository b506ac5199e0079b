"""Transfer to XTREME: does pretraining on a corpus help with tasks in human languages?

`study.py` has the study, `jobs.py` its jobs: a backbone is pretrained on a corpus or on the data of a control, trained
on texts of languages by a protocol (`presets.py`), and evaluated on a task (`transfer.py`). `data.py` has examples,
texts, pretraining data and published models, identified by their content. Examples become rows (`rows.py`), on which a
head is trained.

`result.py` has the scores and gains over controls, `report.py` the benchmark with its tables and figure. The tasks
themselves, without models, are in `scoring/`.
"""
