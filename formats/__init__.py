"""Reading and writing of corpora: a file becomes a `RawTable` of columns, these get roles, a corpus is made of them.

`reading` is the door: it finds out what a file is. `text_tables` and `json_tables` read texts, `frames` and
`array_files` what is no text; `roles` says what columns are, `cells` what cells are, `meant` what was meant; `corpora`
makes a corpus. `directory` is our own folder; `converting` writes the forms of other tools.
"""

from ecsuite.formats.directory import write_corpus
from ecsuite.formats.reading import read_corpus

__all__ = ["read_corpus", "write_corpus"]
