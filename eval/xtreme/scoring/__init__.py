"""XTREME: nine tasks in forty languages, trained in English and tested in the others (Hu et al. 2020).

A task is one object (`task.py`), which says where its files are, how they are read and how predictions are scored; a
kind of task is a file: `tagging.py`, `pairs.py`, `questions.py` and `bitexts.py`. `tasks.py` has the nine tasks and the
benchmark's averages, `evaluation.py` scores submissions, and `baselines.py` predictions without a model. Models are in
`ecsuite.eval.xtreme`.
"""
