"""Writes the seeds of the fuzzers: valid input of every reader, small. Run as `python tests/attack/make_seeds.py`."""

import gzip
import hashlib
import json
import lzma
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from datasets import Dataset
from PIL import Image
from pyarrow import parquet

from ecsuite.corpus import Corpus
from ecsuite.files.checksums import sealed
from ecsuite.files.tensor_files import write_tensors
from ecsuite.formats import write_corpus
from ecsuite.games.plays.interactions import as_parquet
from ecsuite.games.worlds.feature_files import synthetic_features
from ecsuite.jobs.store import Store

SEEDS = Path(__file__).parent / "seeds"
FINISHED = Path(__file__).parent.parent / "fixtures" / "small" / "finished"
PAIRS = "le chat dort\tthe cat sleeps\nle chien court\tthe dog runs\nl'été\tsummer\n"
CONLLU = (
    "# text = el perro\n1-2\tdel\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\tde\tADP\t_\t_\t3\tcase\t_\t_\n"
    "2\tel\tel\tDET\t_\t_\t3\tdet\t_\t_\n3\tperro\tperro\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
)
ANSWERS = [{"text": "Ürümqi", "answer_start": 14}]
ASKED = [{"id": "a1", "question": "Where does Anna live?", "answers": ANSWERS}]
QUESTIONS = {"data": [{"paragraphs": [{"context": "Anna lives in Ürümqi.", "qas": ASKED}]}]}
RUN = {
    "settings": {"channel.vocab_size": 5}, "seed": 1, "folder": "runs/a",
    "training": {"stopped": "epochs", "measures": {"accuracy": 0.5}}, "scores": [{"name": "topsim", "value": 0.25}],
}  # fmt: skip
TEXTS = {
    "jsonl/ints.jsonl": "[3, 1, 4, 0]\n[1, 5, 0]\n[9, 2, 6, 5, 0]\n[]\n[2147483647, 0]\n" * 3,
    "jsonl/padded.jsonl": "[3, 1, 0, 0, 0]\n[1, 5, 9, 0, 0]\n",
    "jsonl/spaced.jsonl": "\ufeff[ 3,1 ,4]\r\n[1 , 5]\r\n",
    "strings/a.jsonl": '"da bu ka"\n"bu"\n"été ka da"\n""\n',
    "cbm/a.jsonl": '["4.7.0", "19"]\n["7.4.0", "19.3"]\n["", ""]\n',
    "cbm/csar.jsonl": '[4, 7], ["red"]\n[4, 7, 1]\t["red", "blue"]\n[[4], ["blue"]]\n',
    "records/a.jsonl": '{"message": [3, 1, 4], "meaning": {"color": "red", "size": 2}}\n'
    '{"message": [3, 5], "meaning": {"color": "blue", "size": 1}}\n',
    "records/b.jsonl": '{"message": "da bu", "meaning": [0, 1], "concepts": ["a", "b"], "id": 7}\n' * 2,
    "symbols/a.txt": "3 1 4\n1 5\n\n9 2 6\n",
    "symbols/a.csv": 'message,color,size\n3 1 4,red,1\n"1 5",blue,2\n',
    "symbols/b.csv": "3,1,4\n1,5,\n9,2,6\n",
    "symbols/a.tsv": "message\tmeaning\n3 1\t0 1\n4 1\t1 1\n",
    "egg_rounds/a.txt": "2 1 0 . 1 0 2 . 1\n0 0 0 . 3 3 3 . 0\n1 2 3 . 3 2 1 . 1\n",
    "egg_objects/a.txt": "2 1 0 2 1\n0 0 0 1 1\n3 3 3 3 3\n",
    "objects/a.csv": 'shape,color,weight\nstar,red,1.5\n"ring, big",blue,2\nstar,blue,3e1\n',
    "objects/semicolons.csv": "\ufeffname;kind\r\na;x\r\nb;y\r\n",
    "objects/a.tsv": "shape\tcolor\nstar\tred\nbox\tblue\n",
    "objects/a.json": '[{"shape": "star", "size": 1}, {"shape": "box", "size": 2.5}, {"shape": "ring", "size": 3}]',
    "objects/a.jsonl": '{"shape": "star", "color": "red"}\n{"shape": "box", "color": "blue"}\n',
    "game_yaml/a.yaml": "name: mine\nworld: {kind: attributes, num_attributes: 3, num_values: 4}\n"
    "sender: {kind: lstm, hidden_size: 16}\nchannel:\n  kind: gumbel\n  vocab_size: 5\n"
    "optimizer: {kind: adam, lr: 1e-3}\ntraining: &t\n  seed: 3\n  num_epochs: 2\n",
    "game_yaml/b.yaml": "format: 1\nchannel: {kind: reinforce}\noptimizer: {lr: 0.002}\ntraining: {batch_size: 32}\n",
    "sweep_yaml/a.yaml": "base: disc_tiny\nvary: {channel.vocab_size: [5, 20], training.batch_size: [16]}\nseeds: 2\n"
    "score: [topsim]\nset: {training.num_epochs: 1}\n",
    "search_yaml/a.yaml": "base: disc_tiny\nseeds: 1\nset: {evaluation.metrics: [topsim]}\nsearch:\n  trials: 6\n"
    "  maximise: topsim\n  prune: median\n  over:\n    optimizer.lr: [1e-3, 1e-1, log]\n"
    "    sender.hidden_size: [16, 64, int]\n    channel.kind: [gumbel, reinforce]\n",
    "study_yaml/a.yaml": "rows:\n- {name: a, base: thing_gs, set: {training.num_epochs: 1}}\n",
    "scores/results.json": '{"score": 5.1, "by_target": {"da": 5.0, "eu": 5.2}}',
    "tagged/a.tsv": "the\tDET\ncat\tNOUN\n\ndogs\tNOUN\n",
    "conllu/a.conllu": CONLLU,
    "labelled_pairs/a.tsv": "A man.\tA person.\tentailment\nHe ran.\tHe sat.\tcontradiction\n",
    "named_pairs/a.tsv": "language\tgold_label\tsentence1\tsentence2\nde\tneutral\tEin Mann.\tEine Frau.\n",
    "questions/a.json": json.dumps(QUESTIONS, ensure_ascii=False),
    "tatoeba/both/a.de": "Hallo.\nDanke.\n",
    "tatoeba/both/a.en": "Hello.\nThanks.\n",
    "bucc/all/a.de": "d1\tHallo.\nd2\tDanke.\n",
    "bucc/all/a.en": "e1\tHello.\ne2\tThanks.\n",
    "bucc/all/a.gold": "d1\te1\nd2\te2\n",
    "submissions/all/xnli/test-de.tsv": "entailment\nneutral\n",
    "submissions/all/panx/test-de.tsv": "O\nB-PER\n\nO\n",
    "submissions/all/tatoeba/test-de.tsv": "1\n0\n",
    "submissions/all/bucc2018/test-de.tsv": "d1\te1\nd2\te2\n",
    "submissions/all/xquad/test-de.json": '{"a1": "Ürümqi"}',
    "submissions/all/labels.json": json.dumps(QUESTIONS),
    "texts/a.txt": "One document.\nAnother é.\n\nA third.\n",
    "texts/a.jsonl": '"One document."\n{"text": "Another", "id": 1}\n\n',
    "translation_pairs/a.tsv": PAIRS,
    "words/a.txt": "a man a plan a canal\npanama été\n",
    "sweep_file/all/sweep.json": json.dumps({"format": 1, "runs": [RUN], "metrics": ["topsim"]}, indent=1),
    "downloads/all/sources.json": '{"da.txt.gz": {"sha256": "00", "articles": 3, "characters": 9}}',
}
"""Text files by their paths in the folder of seeds: reader/file, or reader/input/file where an input is a folder."""


def write_seeds() -> None:
    for folder in SEEDS.glob("*"):
        for path in folder.glob("[!f]*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, text in TEXTS.items():
        file = SEEDS / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    for name in ("checkpoint", "parquet", "npz", "images"):
        (SEEDS / name).mkdir(parents=True, exist_ok=True)
    packed()
    tables()
    corpora()
    results_of_runs()
    kept()
    pictures()


def packed() -> None:
    (SEEDS / "translation_pairs" / "a.tsv.gz").write_bytes(gzip.compress(PAIRS.encode(), mtime=0))
    (SEEDS / "translation_pairs" / "a.tsv.xz").write_bytes(lzma.compress(PAIRS.encode()))
    (SEEDS / "words" / "a.txt.gz").write_bytes(gzip.compress(b"a man a plan\n", mtime=0))
    (SEEDS / "texts" / "a.txt.gz").write_bytes(gzip.compress(b"One document.\nAnother.\n", mtime=0))


def tables() -> None:
    columns = {"messages": [[3, 1], [4], [1, 5]], "attribute0": [0, 1, 1], "attribute1": ["a", "b", "a"]}
    parquet.write_table(pa.table(columns), SEEDS / "parquet" / "ints.parquet", compression="snappy")
    parquet.write_table(pa.table({"text": ["da bu", "ka"]}), SEEDS / "parquet" / "texts.parquet")
    objects = {"shape": ["star", "box", "ring"], "size": [1.5, 2.0, 3.0]}
    parquet.write_table(pa.table(objects), SEEDS / "objects" / "a.parquet")
    Dataset.from_dict({"input_ids": [[3, 1], [4]]}).save_to_disk(SEEDS / "saved_corpus" / "all")
    Dataset.from_dict(objects).save_to_disk(SEEDS / "saved_objects" / "all")
    arrays = synthetic_features(0, num_classes=4, images_per_class=4, num_features=3, num_attributes=2)
    np.savez(SEEDS / "npz" / "plain.npz", **arrays)
    np.savez_compressed(SEEDS / "npz" / "packed.npz", **arrays)


def corpora() -> None:
    corpus = Corpus(
        [[3, 1, 0], [4, 0], [1, 5, 0]], meanings=np.array([[0, 1], [1, 1], [1, 0]]), concepts=[[0], [1], [0, 1]],
        concept_names=("a", "b"), eos=0, columns={"split": np.array(["train", "train", "held_out"])},
    )  # fmt: skip
    write_corpus(corpus, SEEDS / "corpus_folder" / "all")
    run = SEEDS / "run_folder" / "all"
    run.mkdir(parents=True)
    for name in ("config.yaml", "log.jsonl", "metadata.json", "scores.json"):
        shutil.copy(FINISHED / name, run / name)
    scores = json.loads((FINISHED / "scores.json").read_text())
    for score in scores["scores"]:
        score["value"] = 0.5 if score["name"] == "topsim" else score["value"]
    (SEEDS / "scores" / "scores.json").write_text(json.dumps(sealed(scores), indent=1))


def results_of_runs() -> None:
    from attack.readers import ROUNDS

    run = SEEDS / "report_sources" / "all" / "run"
    shutil.copytree(SEEDS / "run_folder" / "all", run)
    for name in ("corpus.jsonl", "meanings.jsonl"):
        shutil.copy(FINISHED / name, run / name)
    folder = SEEDS / "interactions" / "all"
    folder.mkdir(parents=True)
    table = as_parquet(pa.table(ROUNDS))
    (folder / "interactions.parquet").write_bytes(table)
    named = {"interactions": {"sha256": hashlib.sha256(table).hexdigest(), "num_rounds": 2}}
    (folder / "metadata.json").write_text(json.dumps(sealed(named), indent=1))


def kept() -> None:
    """A checkpoint, a kept result with arrays, and a corpus as jobs get it."""
    from attack.readers import KEPT_JOB, KEPT_VALUE

    tensors = {"model.a": torch.arange(6.0).reshape(2, 3), "optimizer.0.step": torch.tensor(3.0)}
    folder = SEEDS / "checkpoint" / "all"
    folder.mkdir()
    write_tensors(folder / "checkpoint-000000003.safetensors", tensors, {"step": 3, "sums": {"loss": 0.5}})
    store = Store(SEEDS / "kept_result" / "all")
    store.write(KEPT_JOB, KEPT_VALUE, seconds=1.0)
    Store(SEEDS / "kept_corpus" / "all").send(KEPT_JOB)


def pictures() -> None:
    image = Image.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3))
    for ending in ("png", "jpg", "gif", "bmp", "ppm", "tif", "webp"):
        image.save(SEEDS / "images" / f"a.{ending}")


if __name__ == "__main__":
    write_seeds()
    print(f"{sum(file.stat().st_size for file in SEEDS.rglob('*') if file.is_file()):,} bytes")
