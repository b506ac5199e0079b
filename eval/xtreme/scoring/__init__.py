"""XTREME: nine tasks in forty languages, trained in English and tested in the others (Hu et al. 2020).

`tasks.py` lists the tasks, `reading.py` finds and reads the data (`examples.py`), `scoring.py` scores predictions,
`averaging.py` computes the benchmark's averages and the transfer gap, and `baselines.py` predicts without a model.
Models are in `ecsuite.eval.xtreme`.
"""
