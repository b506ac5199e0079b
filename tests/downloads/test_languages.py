"""The languages agree with the tasks and the paper."""

from ecsuite.downloads.languages import ISO3, LANGUAGES, OF_XTREME
from ecsuite.eval.xtreme.scoring.tasks import TASKS


def test_the_forty_are_those_of_the_tasks():
    assert len(OF_XTREME) == 40
    assert set(OF_XTREME) == {language for task in TASKS.values() for language in task.languages}
    assert set(LANGUAGES) - set(OF_XTREME) == set("az cs da gu hy lt pa pl qu ro sv uk".split())


def test_twelve_families_and_two_isolates():
    """Hu et al. (2020), section 3.3."""
    families = {LANGUAGES[code].family.partition(":")[0] for code in OF_XTREME}
    assert len(families - {"Isolate", "Koreanic"}) == 12


def test_codes_are_of_one_language_each():
    assert all(code == language.code for code, language in LANGUAGES.items())
    for attribute in ("iso3", "name"):
        assert len({getattr(language, attribute) for language in LANGUAGES.values()}) == len(LANGUAGES)
    assert (ISO3["zh"], ISO3["fa"], ISO3["sw"], ISO3["et"]) == ("cmn", "pes", "swh", "est")


def test_a_language():
    hindi = LANGUAGES["hi"]
    assert (hindi.iso3, hindi.name, hindi.family, hindi.script) == (
        "hin",
        "Hindi",
        "IE: Indo-Aryan",
        "Devanagari",
    )
