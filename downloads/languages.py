"""Languages of data sets: the forty of XTREME (Hu et al. 2020, section 3.3), others, and the targets of XferBench."""

from collections.abc import Mapping
from dataclasses import dataclass


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


_LANGUAGES = """
af afr Afrikaans   IE: Germanic    Latin
ar ara Arabic      Afro-Asiatic    Arabic
bg bul Bulgarian   IE: Slavic      Cyrillic
bn ben Bengali     IE: Indo-Aryan  Bengali
de deu German      IE: Germanic    Latin
el ell Greek       IE: Greek       Greek
en eng English     IE: Germanic    Latin
es spa Spanish     IE: Romance     Latin
et est Estonian    Uralic          Latin
eu eus Basque      Isolate         Latin
fa pes Persian     IE: Iranian     Arabic
fi fin Finnish     Uralic          Latin
fr fra French      IE: Romance     Latin
he heb Hebrew      Afro-Asiatic    Hebrew
hi hin Hindi       IE: Indo-Aryan  Devanagari
hu hun Hungarian   Uralic          Latin
id ind Indonesian  Austronesian    Latin
it ita Italian     IE: Romance     Latin
ja jpn Japanese    Japonic         Japanese
jv jav Javanese    Austronesian    Latin
ka kat Georgian    Kartvelian      Georgian
kk kaz Kazakh      Turkic          Cyrillic
ko kor Korean      Koreanic        Hangul
ml mal Malayalam   Dravidian       Malayalam
mr mar Marathi     IE: Indo-Aryan  Devanagari
ms zsm Malay       Austronesian    Latin
my mya Burmese     Sino-Tibetan    Burmese
nl nld Dutch       IE: Germanic    Latin
pt por Portuguese  IE: Romance     Latin
ru rus Russian     IE: Slavic      Cyrillic
sw swh Swahili     Niger-Congo     Latin
ta tam Tamil       Dravidian       Tamil
te tel Telugu      Dravidian       Telugu
th tha Thai        Kra-Dai         Thai
tl tgl Tagalog     Austronesian    Latin
tr tur Turkish     Turkic          Latin
ur urd Urdu        IE: Indo-Aryan  Arabic
vi vie Vietnamese  Austro-Asiatic  Latin
yo yor Yoruba      Niger-Congo     Latin
zh cmn Chinese     Sino-Tibetan    Chinese
az aze Azerbaijani Turkic          Latin
cs ces Czech       IE: Slavic      Latin
da dan Danish      IE: Germanic    Latin
gu guj Gujarati    IE: Indo-Aryan  Gujarati
hy hye Armenian    IE: Armenian    Armenian
lt lit Lithuanian  IE: Baltic      Latin
pa pan Punjabi     IE: Indo-Aryan  Gurmukhi
pl pol Polish      IE: Slavic      Latin
qu que Quechua     Quechuan        Latin
ro ron Romanian    IE: Romance     Latin
sv swe Swedish     IE: Germanic    Latin
uk ukr Ukrainian   IE: Slavic      Cyrillic
"""
_NUM_OF_XTREME = 40


def _language(line: str) -> Language:
    code, iso3, name, *family, script = line.split()
    return Language(code=code, iso3=iso3, name=name, family=" ".join(family), script=script)


LANGUAGES: Mapping[str, Language] = {
    language.code: language for language in map(_language, _LANGUAGES.strip().splitlines())
}
"""By code: the forty of the benchmark in alphabetical order, then the others."""

OF_XTREME: tuple[str, ...] = tuple(LANGUAGES)[:_NUM_OF_XTREME]
"""Codes of the forty languages of the benchmark."""

ISO3: Mapping[str, str] = {code: language.iso3 for code, language in LANGUAGES.items()}
"""Three-letter codes by two-letter codes."""

XFERBENCH_TARGETS = ("da", "eu", "fa", "fi", "he", "id", "ja", "kk", "ro", "ur")
"""The ten target languages of XferBench (Boldt & Mortensen 2024): Danish, Basque, Persian, Finnish, Hebrew, Indonesian,
Japanese, Kazakh, Romanian and Urdu."""
