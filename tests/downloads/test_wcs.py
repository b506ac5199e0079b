"""The World Color Survey: the archive's files become tables and corpora, and the whole survey where it is at hand."""

import csv
import lzma
from pathlib import Path

import numpy as np
import pytest

from ecsuite.downloads.wcs import FILES, prepare_wcs
from ecsuite.formats.reading import read_corpus
from ecsuite.runtime.errors import ConfigError
from ecsuite.spaces.colour import AnswersNA, colour_space, survey

SURVEY = Path(__file__).parents[3] / "shared" / "data" / "wcs"
"""The whole survey, which is not in the repository."""


@pytest.fixture
def archive(tmp_path):
    """Three chips, two languages of two speakers."""
    folder = tmp_path / "archive"
    folder.mkdir()
    (folder / "chip.txt").write_text("1\tA\t0\tA0\n2\tB\t1\tB1\n3\tB\t2\tB2\n")
    rows = [
        "3\tB\t2\t8\t2\t8\t81.35\t10.00\t5.00",
        "1\tA\t0\t0\t0\t9\t96.00\t-.06\t.06",
        "2\tB\t1\t8\t1\t8\t81.35\t9.00\t5.00",
    ]
    (folder / "cnum-vhcm-lab-new.txt").write_text(
        "\n".join(["#cnum\tV\tH\tC\tMunH\tMunV\tL*\ta*\tb*", *rows])
    )
    (folder / "lang.txt").write_text("1\tApinayé\tBrazil\tHam\n2\tBerik\tIndonesia\n")
    answers = ["1\t1\t1\tW", "1\t1\t2\tR", "1\t1\t3\tR", "1\t2\t1\tW", "1\t2\t2\t*", "1\t2\t3\tR"]
    (folder / "term.txt").write_text("\n".join(answers + [f"2\t1\t{chip}\tX" for chip in (1, 2, 3)]) + "\n")
    return folder


def test_the_archive_becomes_tables_and_corpora(archive, tmp_path):
    notes = []
    names = prepare_wcs(tmp_path / "wcs", given=archive, note=notes.append)
    assert names == ["languages/001-Apinaye", "languages/002-Berik"]
    assert any("please cite" in note for note in notes) and any("differ" in note for note in notes)
    corpus = read_corpus(tmp_path / "wcs" / names[0])
    assert corpus.meanings[:, 0].tolist() == [1, 2, 3, 1, 3]  # the missing answer is left out
    assert corpus.columns["speaker"].tolist() == [1, 1, 1, 2, 2]
    assert [corpus.symbol_names[row[0]] for row in map(corpus.messages.__getitem__, range(3))] == [
        "W",
        "R",
        "R",
    ]
    assert corpus.metadata["language"] == "Apinayé" and "family" not in corpus.metadata
    space = colour_space(tmp_path / "wcs")
    expected = np.exp(-1 / 128)  # of chips that are 1 unit of CIELAB apart
    assert space.beliefs[1, 2] / space.beliefs[1, 1] == pytest.approx(expected)
    assert space.need.sum() == pytest.approx(1)
    before = (tmp_path / "wcs" / "need.csv").read_bytes()
    prepare_wcs(tmp_path / "wcs", given=archive)
    assert (tmp_path / "wcs" / "need.csv").read_bytes() == before


def answers_of(share, most, at, num_speakers=20, num_chips=30):
    """Speakers who name chips: `most` of them give NA for the first `at` chips, and a share of all others."""
    rng = np.random.default_rng(0)
    answers = rng.choice(["R", "W"], (num_speakers, num_chips)).astype(object)
    answers[rng.random(answers.shape) < share] = "NA"
    answers[: round(most * num_speakers), :at] = "NA"
    return answers


@pytest.mark.parametrize(
    ("share", "most", "at", "is_word"),
    [
        pytest.param(0.02, 0.9, 4, True, id="agreed and concentrated"),
        pytest.param(0.1, 0.0, 0, False, id="spread"),
        pytest.param(0.8, 1.0, 4, False, id="most of the answers"),
        pytest.param(0.02, 0.3, 4, False, id="of few speakers"),
        pytest.param(0.0, 0.0, 0, False, id="none"),
    ],
)
def test_na_is_a_word_where_speakers_agree_in_it(archive, tmp_path, share, most, at, is_word):
    """Otherwise it is a missing answer; a table and the corpus say which, and why."""
    answers = answers_of(share, most, at)
    assert AnswersNA.of(answers.tolist()).is_word == is_word
    chips = range(1, answers.shape[1] + 1)
    (archive / "chip.txt").write_text("".join(f"{chip}\tB\t{chip}\tB{chip}\n" for chip in chips))
    (archive / "cnum-vhcm-lab-new.txt").write_text(
        "".join(f"{chip}\tB\t{chip}\t8\t1\t8\t81.35\t{chip}.00\t5.00\n" for chip in chips)
    )
    (archive / "term.txt").write_text(
        "".join(f"1\t{who + 1}\t{chip}\t{answers[who, chip - 1]}\n" for who in range(20) for chip in chips)
    )
    (name,) = prepare_wcs(tmp_path / "wcs", given=archive)
    corpus, number = read_corpus(tmp_path / "wcs" / name), int((answers == "NA").sum())
    assert len(corpus.messages) == answers.size - (0 if is_word else number)
    assert ("NA" in corpus.symbol_names) == is_word
    table = list(csv.DictReader((tmp_path / "wcs" / "na.csv").read_text().splitlines()))
    assert [(row["is"], int(row["answers"])) for row in table] == (
        [("a word" if is_word else "missing", number)] if number else []
    )
    assert corpus.metadata.get("NA", {}).get("answers", 0) == number


def test_what_was_made_when_every_na_was_missing_is_made_anew(archive, tmp_path):
    """The table with the evidence is not there: corpora and need are of an earlier version."""
    (name, _) = prepare_wcs(tmp_path / "wcs", given=archive)
    (tmp_path / "wcs" / "na.csv").unlink()
    for file, text in (("need.csv", "chip,need\n1,1\n2,0\n3,0\n"), (f"{name}/corpus.jsonl", "[0]\n")):
        (tmp_path / "wcs" / file).write_text(text)
    prepare_wcs(tmp_path / "wcs", given=archive)
    assert len(read_corpus(tmp_path / "wcs" / name).messages) == 5
    assert colour_space(tmp_path / "wcs").need[0] < 0.9


def test_families_that_the_user_adds_are_in_the_corpora(archive, tmp_path):
    prepare_wcs(tmp_path / "wcs", given=archive)
    table = (tmp_path / "wcs" / "languages.csv").read_text().splitlines()
    families = [line + ("," + each) for line, each in zip(table, ["family", "Je", "Tor"], strict=True)]
    (tmp_path / "wcs" / "languages.csv").write_text("\n".join([*families, ""]))
    names = prepare_wcs(tmp_path / "new", given=tmp_path / "wcs")
    assert read_corpus(tmp_path / "new" / names[0]).metadata["family"] == "Je"


def test_archives_that_are_not_whole(archive, tmp_path):
    (archive / "term.txt").write_text("1\t1\t1\n")
    with pytest.raises(ConfigError, match=r"term\.txt:1: 3 cells, expected 4"):
        prepare_wcs(tmp_path / "wcs", given=archive)
    (archive / "lang.txt").unlink()
    with pytest.raises(ConfigError, match=r"lang\.txt is not there"):
        prepare_wcs(tmp_path / "new", given=archive)
    with pytest.raises(ConfigError, match="download it with ecsuite data wcs"):
        colour_space(tmp_path / "none")
    assert set(FILES) == {"term.txt", "chip.txt", "lang.txt", "cnum-vhcm-lab-new.txt"}


@pytest.mark.skipif(not SURVEY.is_dir(), reason="the World Color Survey is not at hand")
def test_the_whole_survey(tmp_path):
    for name in ("chips.csv", "languages.csv", "naming.tsv.xz"):
        (tmp_path / name).write_bytes((SURVEY / name).read_bytes())
    languages = survey(tmp_path)
    assert len(languages) == 110
    assert sum(len(language.answers) for language in languages) == 2616
    with lzma.open(SURVEY / "naming.tsv.xz", "rt") as lines:
        assert sum(1 for _ in lines) == 2617
    with (SURVEY / "chips.csv").open() as lines:
        assert sum(1 for _ in csv.reader(lines)) == 331
    # Nobody named some chips of Cree; those of Chinantec that seemed so are all called NA.
    assert [language.number for language in languages if (language.encoder().sum(1) == 0).any()] == [31]
    assert sum(language.na.number > 0 for language in languages) == 95
    words = {language.name: language for language in languages if language.na.is_word}
    assert {name: each.na.number for name, each in words.items()} == {
        "Arabela": 1265, "Chinantec": 1219, "Tucano": 886,
    }  # fmt: skip
    assert all(("NA" in language.terms) == (language.name in words) for language in languages)
    (cree,) = [language for language in languages if language.name == "Cree"]
    assert cree.na.share == pytest.approx(0.85, abs=0.005) and cree.na.most == 1
    at = (words["Chinantec"].answers == words["Chinantec"].terms.index("NA")).sum(0)
    assert at.max() == 25 and (words["Chinantec"].answers >= 0).all()
