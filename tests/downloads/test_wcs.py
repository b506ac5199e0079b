import csv

import numpy as np
import pytest

from ecsuite.downloads.wcs import FILES, prepare_wcs
from ecsuite.formats.reading import read_corpus
from ecsuite.runtime.errors import ConfigError
from ecsuite.spaces.colour import AnswersNA, colour_space


@pytest.fixture
def archive(tmp_path):
    folder = tmp_path / "archive"
    folder.mkdir()
    (folder / "chip.txt").write_text("1\tA\t0\tA0\n2\tB\t1\tB1\n3\tB\t2\tB2\n")
    rows = """#cnum V H C MunH MunV L* a* b*
3 B 2 8 2 8 81.35 10.00 5.00
1 A 0 0 0 9 96.00 -.06 .06
2 B 1 8 1 8 81.35 9.00 5.00"""
    (folder / "cnum-vhcm-lab-new.txt").write_text(rows.replace(" ", "\t"))
    (folder / "lang.txt").write_text("1\tApinayé\tBrazil\tHam\n2\tBerik\tIndonesia\n")
    answers = ["1\t1\t1\tW", "1\t1\t2\tR", "1\t1\t3\tR", "1\t2\t1\tW", "1\t2\t2\t*", "1\t2\t3\tR"]
    (folder / "term.txt").write_text("\n".join(answers + [f"2\t1\t{chip}\tX" for chip in (1, 2, 3)]) + "\n")
    return folder


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
    answers = answers_of(share, most, at)
    assert AnswersNA.of(answers.tolist()).is_word == is_word
    chips = range(1, answers.shape[1] + 1)
    (archive / "chip.txt").write_text("".join(f"{chip}\tB\t{chip}\tB{chip}\n" for chip in chips))
    rows = (f"{chip}\tB\t{chip}\t8\t1\t8\t81.35\t{chip}.00\t5.00\n" for chip in chips)
    (archive / "cnum-vhcm-lab-new.txt").write_text("".join(rows))
    rows = (f"1\t{who + 1}\t{chip}\t{answers[who, chip - 1]}\n" for who in range(20) for chip in chips)
    (archive / "term.txt").write_text("".join(rows))
    (name,) = prepare_wcs(tmp_path / "wcs", given=archive)
    corpus, number = read_corpus(tmp_path / "wcs" / name), int((answers == "NA").sum())
    assert len(corpus.messages) == answers.size - (0 if is_word else number)
    assert ("NA" in corpus.symbol_names) == is_word
    table = list(csv.DictReader((tmp_path / "wcs" / "na.csv").read_text().splitlines()))
    expected = [("a word" if is_word else "missing", number)] if number else []
    assert [(row["is"], int(row["answers"])) for row in table] == expected
    assert corpus.metadata.get("NA", {}).get("answers", 0) == number


def test_what_was_made_when_every_na_was_missing_is_made_anew(archive, tmp_path):
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
