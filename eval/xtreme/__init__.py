"""Transfer to XTREME: does pretraining on a corpus help with tasks in human languages?

`experiment.py` runs a request (`study.py`) as jobs (`jobs.py`) of three stages (`stages.py`): pretraining a backbone
on a source (`sources.py`), training on text (`texts.py`) by a protocol (`protocols.py`), and fine-tuning on a task
(`task.py`). Examples become rows (`rows.py`; `tagging.py`, `pairs.py`, `questions.py`), on which a head (`heads.py`)
is trained (`tuning.py`); retrieval compares sentences without a head (`retrieval.py`). The result (`result.py`) is
reported as gains over controls (`gains.py`) in tables (`report.py`) and pictures (`drawing.py`); sizes are in
`presets.py`.
"""
