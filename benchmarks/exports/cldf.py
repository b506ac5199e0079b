"""A word list of pycldf (pycldf 2.1.1) with segments.

    pip install pycldf==2.1.1
    python benchmarks/exports/cldf.py tests/formats/exports/cldf

writes the folder `cldf`, with `forms.csv` and its metadata.
"""

import sys
from pathlib import Path

from pycldf import Wordlist

folder = Path(sys.argv[1])
words = Wordlist.in_dir(folder)
words.add_component("LanguageTable")
words.add_component("ParameterTable")
said = {("a", "red"): "n e + p o", ("a", "blue"): "k a", ("b", "red"): "m u", ("b", "blue"): ""}
words.write(
    LanguageTable=[{"ID": each} for each in "ab"],
    ParameterTable=[{"ID": each} for each in ("red", "blue")],
    FormTable=[
        {
            "ID": str(number),
            "Language_ID": language,
            "Parameter_ID": meant,
            "Form": segments.replace("+", "").replace(" ", "") or "-",
            "Segments": segments.split(),
        }
        for number, ((language, meant), segments) in enumerate(said.items(), 1)
    ],
)
