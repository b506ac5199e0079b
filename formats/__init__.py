"""Corpus file formats: all reading and writing of corpora.

`blocks`, `strict_json` and `plain` parse bytes; `lines`, `tables` and `directory` implement one kind of format each,
`directory` with `meanings`; `reading` selects the format, `converting` writes those of other tools; `line_errors`
collects the errors of a file.
"""

from ecsuite.formats.directory import write_corpus
from ecsuite.formats.reading import read_corpus

__all__ = ["read_corpus", "write_corpus"]
