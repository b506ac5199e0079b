import json

import numpy as np
import pytest
import yaml

import ecsuite as ec
from ecsuite.runtime.errors import CorpusError
from table_files import GRID, IDS, WORDS, records, said

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
