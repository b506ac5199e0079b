"""The languages agree with the tasks and the paper."""

from ecsuite.downloads.languages import LANGUAGES, XFERBENCH_TARGETS
from ecsuite.eval.xtreme.scoring.tasks import TASKS

OF_XTREME = list(LANGUAGES)[:40]


def test_the_first_forty_are_those_of_the_tasks():
    assert set(OF_XTREME) == {language for task in TASKS.values() for language in task.languages}
    assert set(XFERBENCH_TARGETS) <= set(LANGUAGES)


def test_twelve_families_and_two_isolates():
    """Hu et al. (2020), section 3.3."""
    families = {LANGUAGES[code].family.partition(":")[0] for code in OF_XTREME}
    assert len(families - {"Isolate", "Koreanic"}) == 12


def test_codes_are_of_one_language_each():
    for attribute in ("iso3", "name"):
        assert len({getattr(language, attribute) for language in LANGUAGES.values()}) == len(LANGUAGES)
    assert [LANGUAGES[code].iso3 for code in ("zh", "fa", "sw", "et")] == ["cmn", "pes", "swh", "est"]


def test_a_language():
    hindi = LANGUAGES["hi"]
    assert (hindi.iso3, hindi.name, hindi.family, hindi.script) == (
        "hin",
        "Hindi",
        "IE: Indo-Aryan",
        "Devanagari",
    )
