import gzip
import json

import numpy as np
import pytest
import yaml

import ecsuite as ec
from ecsuite.runtime.errors import CorpusError
from table_files import GRID, IDS, WORDS, records, said, table

HEADER = "task,typed,color,shape,hit\n"
ROWS = "".join(
    f"name,{' '.join(words)},{color},{shape},{place % 2}\nfixation,,,,\n"
    for place, ((color, shape), words) in enumerate(zip(GRID, WORDS, strict=True))
)


def test_rows_and_attributes_are_chosen(tmp_path, ecsuite, refused):
    (tmp_path / "a.csv").write_text(HEADER + ROWS)
    words = {"columns": {"typed": "message"}, "attributes": "color,shape"}
    for condition in ("task=name", "task!=fixation", "typed!=", "color!="):
        corpus = ec.read_corpus(tmp_path / "a.csv", where=condition, **words)
        assert said(corpus) == WORDS and corpus.attribute_names == ("color", "shape")
        assert corpus.metadata["where"] == [condition] and "hit" in corpus.columns
    both = ec.read_corpus(tmp_path / "a.csv", where=["task=name", "color=red"], **words)
    assert len(both.messages) == 6
    options = ("--column", "typed=message", "--attributes", "color,shape", "--metrics", "topsim")
    code, out, _ = ecsuite("score", "a.csv", *options, "--where", "typed!=", "--json")
    assert code == 0 and json.loads(out)["scores"][0]["value"] == pytest.approx(1)
    for condition, line in (
        ("task", "--where task: expected COLUMN=VALUE, such as split=held_out, or COLUMN!=VALUE"),
        ("task=none", "no message with task none; task is one of name, fixation"),
        ("taks=name", "no column taks: the corpus has the columns task, hit"),
    ):
        assert refused("score", "a.csv", *options, "--where", condition).splitlines()[-1] == line


def test_a_layout_beside_a_file_is_proposed_and_used(tmp_path, ecsuite):
    (tmp_path / "a.csv").write_text(HEADER.replace("typed", "message") + ROWS.replace("fixation,,,,\n", ""))
    code, out, _ = ecsuite("show", "a.csv", "--write-layout")
    assert code == 0 and "1 question answered" in out
    assert yaml.safe_load((tmp_path / "corpus.yaml").read_text())["columns"]["hit"] == "kept"
    assert ec.read_corpus(tmp_path / "a.csv").attribute_names == ("color", "shape")
    code, _, err = ecsuite("show", "a.csv", "--write-layout")
    assert (code, err) == (2, "corpus.yaml: exists already: edit it, or remove it first\n")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("column: {a: message}", "lab.yaml: Object contains unknown field `column`"),
        ("columns: {nothing: message}", "unknown column 'nothing'"),
        ("columns: {color: speaker, shape: speaker}", "two columns with the role speaker, color and shape"),
        ("columns: {color: colour}", "unknown role 'colour'"),
        ("has: [trial]", "a.csv: layout lab.yaml does not fit: no column trial"),
        ("header_rows: 0", "lab.yaml: Expected `int` >= 1 - at `$.header_rows`"),
        ("line: '('", "lab.yaml: missing ), unterminated subpattern"),
        ("layout: otre", "unknown layout 'otre'; did you mean 'otree'?"),
        ("- a", "lab.yaml: Expected `object`, got `array`"),
    ],
)
def test_a_layout_with_a_fault_is_refused_in_one_line(tmp_path, refused, text, told):
    (tmp_path / "a.csv").write_text("message,color,shape\na b,red,star\nb a,blue,box\n")
    (tmp_path / "lab.yaml").write_text(text + "\n")
    assert told in refused("score", "a.csv", "--layout", "lab.yaml")


def test_a_layout_of_another_program_does_not_fit(tmp_path, ecsuite):
    (tmp_path / "a.csv").write_text("message,color\na b,red\nb a,blue\n")
    code, _, err = ecsuite("score", "a.csv", "--layout", "otree")
    assert (code, err) == (2, "a.csv: layout otree does not fit: no column participant.code\n")
    assert ecsuite("new", "layout", "lab.yaml")[0] == 0 and (tmp_path / "lab.yaml").is_file()
    assert "otree" in ecsuite("list", "layouts")[1]


def test_a_padding_of_minus_one_is_no_symbol(tmp_path):
    rows = [[*row, -1, -1] for row in IDS]
    np.savez(tmp_path / "a.npz", message=np.array(rows), sender_input=np.array(IDS))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"message": row}) + "\n" for row in rows))
    (tmp_path / "b.jsonl").write_text("".join(f"{row}\n" for row in rows))
    for name in ("a.npz", "a.jsonl", "b.jsonl"):
        assert said(ec.read_corpus(tmp_path / name)) == IDS
        assert said(ec.read_corpus(tmp_path / name, eos=-1)) == IDS
    assert said(ec.Corpus.from_arrays(np.array(rows), eos=-1)) == IDS
    (tmp_path / "c.jsonl").write_text("[1, -1, 2]\n[2, 1, 3]\n")
    with pytest.raises(CorpusError, match=r"c.jsonl:1: expected a list of non-negative integers, got -1"):
        ec.read_corpus(tmp_path / "c.jsonl")


def test_systems_of_several_files_are_compared_over_their_seeds(tmp_path, ecsuite, refused):
    rng = np.random.default_rng(0)
    for system in ("gs", "rf"):
        for seed in range(3):
            ids = [rng.permutation(row).tolist() if system == "rf" else row for row in IDS]
            (tmp_path / f"c_{system}_{seed}.jsonl").write_text(records(ids))
    code, out, err = ecsuite("compare", "gs=c_gs_*.jsonl", "rf=c_rf_*.jsonl", "--metric", "posdis")
    assert (code == 0 and "3 and 3 seeds" in out.replace("\n", " ")) or "seeds" in out, err
    files = {system: sorted(map(str, tmp_path.glob(f"c_{system}_*"))) for system in ("gs", "rf")}
    assert "gs" in str(ec.compare(files, metric="posdis"))
    assert refused("compare", "gs=none_*.jsonl", "rf=c_rf_*.jsonl").startswith(
        "gs=none_*.jsonl: no file matches none_*.jsonl"
    )


def test_markdown_tables_repeated_headers_and_sentences(tmp_path):
    lines = [f"| {' '.join(words)} | {c} | {s} |" for words, (c, s) in zip(WORDS, GRID, strict=True)]
    (tmp_path / "a.md").write_text("\n".join(["| message | color | shape |", "|---|:-:|---|", *lines]) + "\n")
    assert said(ec.read_corpus(tmp_path / "a.md")) == WORDS
    (tmp_path / "b.csv").write_text(table([" ".join(words) for words in WORDS]) * 2)
    corpus = ec.read_corpus(tmp_path / "b.csv")
    assert said(corpus) == WORDS * 2
    assert corpus.metadata["notes"][1] == "b.csv: row 20 repeats the header: left out"
    word = "\t".join(["{}", "{}", *"________"])
    sentence = "# sent_id = a\n# text = du Lac\n" + "\n".join(
        map(word.format, ("1-2", 1, 2, 3), ("du", "de", "le", "Lac"))
    )
    (tmp_path / "c.conllu").write_text(f"{sentence}\n\n{word.format(1, 'Oui')}\n")
    corpus = ec.read_corpus(tmp_path / "c.conllu")
    assert said(corpus) == [["de", "le", "Lac"], ["Oui"]] and corpus.column("sent_id").tolist() == ["a", None]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.sav", b"$FL2@(#) SPSS DATA FILE", "a file of SPSS: save it there as CSV"),
        ("a.rds", gzip.compress(b"X\n\0\0\0\3"), "a file of R: save it there as CSV"),
        ("a.dta", b"<stata_dta>", "a file of Stata: save it there as CSV"),
        ("a.mat", b"MATLAB 5.0 MAT-file", "a file of MATLAB"),
        (
            "a.R",
            b'structure(list(message = c("ne po", "ka ti")), class = "data.frame")',
            "save the frame with write.csv",
        ),
        ("a.txt", b'frame <- data.frame(message = c("ne po"))', "save the frame with write.csv"),
    ],
)
def test_files_of_other_programs_are_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CorpusError, match=message):
        ec.read_corpus(tmp_path / name)


def test_texts_in_arrays_and_codes_for_missing_values(tmp_path):
    np.savez(tmp_path / "a.npz", message=[" ".join(words) for words in WORDS], color=[c for c, _ in GRID])
    assert said(ec.read_corpus(tmp_path / "a.npz")) == WORDS
    sizes = [-99, *(place % 3 for place in range(len(GRID) - 1))]
    notes = ec.read_corpus({"message": IDS, "size": sizes, "color": [c for c, _ in GRID]}).metadata["notes"]
    assert "the frame: row 0, column size: -99 counts as a value; leave cells empty for missing values" in notes
    trials = [
        {"trial_type": "survey-text", "response": {"Q0": m}, "rt": 1, "trial_index": m, "time_elapsed": 1}
        for m in ("ne po", "ka ti")
    ]
    (tmp_path / "b.json").write_text(json.dumps([trials, trials]))
    assert said(ec.read_corpus(tmp_path / "b.json")) == [["ne", "po"], ["ka", "ti"]] * 2


def test_a_layout_of_lines_is_read_in_any_text_and_refused_elsewhere(tmp_path):
    (tmp_path / "a.csv").write_text("red box = ne po\nblue box = ka po\n")
    line = "line:(?P<meaning>.+) = (?P<message>.+)"
    assert said(ec.read_corpus(tmp_path / "a.csv", layout=line)) == [["ne", "po"], ["ka", "po"]]
    (tmp_path / "a.jsonl").write_text("[1, 2]\n")
    for source in (tmp_path / "a.jsonl", {"message": ["a b"]}):
        with pytest.raises(CorpusError, match="does not fit: expected a text of lines"):
            ec.read_corpus(source, layout=line)
