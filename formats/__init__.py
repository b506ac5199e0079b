"""Read and write corpora: a file becomes a `RawTable` of columns, columns get roles, and the table becomes a corpus.

`reading` is the entry point and detects formats. `text_tables` and `json_tables` read texts, `frames` and `array_files`
binary files; `roles` infers the roles of columns, `cells` the types of cells, `meant` the meanings; `corpora` makes the
corpus. `directory` is the corpus folder; `converting` writes the formats of other tools.
"""

from ecsuite.formats.directory import write_corpus
from ecsuite.formats.reading import read_corpus

__all__ = ["read_corpus", "write_corpus"]
