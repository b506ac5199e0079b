"""Languages of data sets: the forty of XTREME (Hu et al. 2020, section 3.3), others, and the targets of XferBench."""

from collections.abc import Mapping
from dataclasses import dataclass

from ecsuite.parts.config import packaged_yaml


@dataclass(frozen=True, kw_only=True, slots=True)
class Language:
    """Codes, name, family and script of a language."""

    code: str
    """ISO 639-1, as in the names of the benchmark's files."""
    iso3: str
    """ISO 639-3 or 639-2, as in the names of Tatoeba's files."""
    name: str
    """English name."""
    family: str
    """Family; for Indo-European (IE) with the branch, as in the paper's analysis by family."""
    script: str
    """Script in the data sets."""


LANGUAGES: Mapping[str, Language] = {
    code: Language(code=code, **values)
    for code, values in packaged_yaml("ecsuite.downloads", "languages.yaml").items()
}
"""Languages by code: the forty of the benchmark in alphabetical order, then the others."""

XFERBENCH_TARGETS = ("da", "eu", "fa", "fi", "he", "id", "ja", "kk", "ro", "ur")
"""The ten target languages of XferBench (Boldt & Mortensen 2024): Danish, Basque, Persian, Finnish, Hebrew, Indonesian,
Japanese, Kazakh, Romanian and Urdu."""
