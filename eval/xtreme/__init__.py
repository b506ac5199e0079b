"""Transfer to XTREME: does a body that has learnt a corpus help with tasks in human languages?

`experiment.py` is the stage from beginning to end: a request (`study.py`) becomes jobs (`jobs.py`) of three kinds
(`stages.py`): a body (`bodies.py`) learns what it is to learn (`sources.py`, `learning.py`), then texts of languages
(`texts.py`, `vocabulary.py`) after a protocol (`protocols.py`), then a task (`task.py`). Examples become rows
(`rows.py`; `tagging.py`, `pairs.py`, `questions.py`), of which a head (`heads.py`) learns to speak (`tuning.py`);
sentences are compared without a head (`retrieval.py`). What came of it (`result.py`) is told as gains over controls
(`gains.py`) in tables (`report.py`) and pictures (`drawing.py`); sizes are a preset's (`presets.py`).
"""
