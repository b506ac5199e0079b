"""Figures of plain data (heat map, colour chart, intervals, bars, curves) and of runs and corpora."""
