"""XTREME: nine tasks in forty languages, learnt in English and tested in the others.

Hu et al. (2020). `tasks.py` and `languages.py` say what there is, `reading.py` finds the data and reads it into
`examples.py`, `scoring.py` scores what was predicted, `averaging.py` makes the benchmark's averages and the transfer
gap of the scores, and `baselines.py` predicts what needs no model. What learns is in `ecsuite.eval.xtreme`.
"""
