"""The formats of corpora: the only code that knows what their files look like.

`blocks`, `strict_json` and `plain` read bytes; `lines`, `tables` and `directory` know a format each, `directory`
with the help of `meanings`; `reading` chooses among them; `faults` says what is wrong with a file, and where.
"""

from ecsuite.formats.directory import write_corpus
from ecsuite.formats.reading import read_corpus

__all__ = ["read_corpus", "write_corpus"]
