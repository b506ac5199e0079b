import json
from dataclasses import replace
from pathlib import Path

import pytest

from ecsuite.eval.xtreme import study
from xtreme_data import write_translation

QUICK = ["--preset", "nano", "--workers", "1", "--device", "cpu"]


@pytest.fixture
def xtreme(monkeypatch, ecsuite, tiny_preset, write_data, capsys):
    """Runs the command in a folder with a corpus and data; returns exit code, stdout and stderr."""
    monkeypatch.setitem(study.PRESETS, "nano", replace(tiny_preset, languages=("de", "ru")))
    write_data("udpos", "panx", "tatoeba")
    Path("corpus.jsonl").write_text("".join(f"[{place % 5}, {place % 3}, 7]\n" for place in range(40)))
    Path("empty.jsonl").write_text("")

    def xtreme(*arguments, data="data", quick=QUICK):
        capsys.readouterr()  # the bar of a model that a fixture saved
        return ecsuite("xtreme", *quick, *(() if data is None else ("--data", data)), *arguments)

    return xtreme


@pytest.mark.slow
def test_a_corpus_is_evaluated(xtreme):
    code, out, err = xtreme("corpus.jsonl", "--out", "kept/result.json", "--plot", "by_family.svg")
    assert code == 0 and Path("by_family.svg").read_text().lstrip().startswith("<?xml"), err
    for line in ("corpus over random init", "one seed gives no interval", "POS", "NER", "German", "Russian"):
        assert line in out
    result = json.loads(Path("kept/result.json").read_text())
    assert list(result["languages"]) == ["udpos", "panx"]
    assert result["bodies"] == ["corpus", "random init", "parentheses", "shuffled corpus"]
    assert list(Path("runs/xtreme/results").glob("pretrain-*.safetensors"))
    assert result["signature"] in out


@pytest.mark.slow
def test_json_is_reproducible_and_names_the_backbone(xtreme):
    arguments = ("corpus.jsonl", "--json", "--tasks", "udpos, tatoeba", "--languages", "ru, de")
    first, second = (xtreme(*arguments, "--backbone", "encoder") for _ in range(2))
    assert first[0] == 0 and first[1] == second[1]
    result = json.loads(first[1])
    assert set(result["languages"]["udpos"]) == {"en", "ru", "de"} and "|body:encoder|" in result["signature"]
    assert set(result["languages"]["tatoeba"]) == {"ru", "de"}


def test_a_published_model_is_evaluated(xtreme, tiny_bert):
    code, out, err = xtreme("--model", tiny_bert, "--tasks", "udpos")
    assert code == 0, err
    assert "protocol:published|model:bert|" in out


def test_baselines_are_scored(xtreme):
    code, out, err = xtreme("--baselines", "--tasks", "udpos", "--languages", "de", quick=[])
    assert code == 0, err
    assert "POS: lexicon" in out and "xtreme-baselines|udpos:lexicon|" in out


DATA_ARE_MISSING = "expected a folder of tasks; run `ecsuite data xtreme` or give --data FOLDER\n"
ONE_SOURCE = "give a corpus, --model for a published encoder, or --baselines\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], ONE_SOURCE),
        (["corpus.jsonl", "--model", "bert"], ONE_SOURCE),
        (["corpus.jsonl", "--data", "nowhere"], f"nowhere: {DATA_ARE_MISSING}"),
        (["corpus.jsonl", "--tasks", "tatoeba", "--protocol", "in-language"],
         "tatoeba compares two languages, but protocol in-language uses one language at a time\n"),
        (["corpus.jsonl", "--languages", "kk"],
         "data: expected labels of udpos in one of kk, found none; choose others by --languages or exclude the task"
         " by --tasks\n"),
        (["corpus.jsonl", "--tasks", "udpso"], "unknown task 'udpso'; did you mean 'udpos'?"),
        (["--baselines", "--tasks", "udpso"], "unknown task 'udpso'; did you mean 'udpos'?"),
        (["corpus.jsonl", "--languages", "xx"], "unknown language 'xx'"),
        (["corpus.jsonl", "--preset", "mimi"], "unknown preset 'mimi'; did you mean 'mini'?"),
        (["corpus.jsonl", "--protocol", "adopt"], "unknown protocol 'adopt'; did you mean 'adapt'?"),
        (["corpus.jsonl", "--backbone", "encorder"], "unknown backbone 'encorder'; did you mean 'encoder'?"),
        (["corpus.jsonl", "--seeds", "0,1,0"], "seeds: expected different numbers, got 0, 1, 0\n"),
        (["nowhere.jsonl"], "cannot read nowhere.jsonl: No such file or directory"),
        (["--model", "no_such_folder/model"], "--model no_such_folder/model: cannot be loaded: "),
        (["--model", "no_such_folder/model", "--protocol", "translate-test"], "udpos has no translate-test: "),
        (["corpus.jsonl", "--human", "nowhere.txt"], "nowhere.txt: cannot be read: "),
        (["corpus.jsonl", "--texts", "nowhere"], "nowhere: no such folder of target texts"),
        (["--baselines", "--human", "fr.txt"], "--human: not read by --baselines; read by CORPUS"),
        (["corpus.jsonl", "--plot", "a.txt"], "a.txt: expected the name of a picture, ending in .svg, .pdf, .png"),
    ],
)  # fmt: skip
def test_user_errors_are_a_line_and_exit_with_2(xtreme, arguments, message, monkeypatch):
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    quick = [] if {"--baselines", "--preset"} & set(arguments) else QUICK
    code, out, err = xtreme(*arguments, quick=quick, data=None if "--data" in arguments else "data")
    assert (code, out) == (2, "")
    assert err.startswith(message) and len(err.splitlines()) == 1


XNLI, SQUAD = (
    f"xtreme_translations/{name}/translate-train/{file}"
    for name, file in (("XNLI", "en-{}-translated.tsv"), ("SQuAD", "squad.translate.train.en-{}.json"))
)


@pytest.mark.parametrize(
    ("protocol", "task", "copies", "message"),
    [
        ("translate-train", "xnli", {}, "data: expected translate-train of xnli in 'ru', such as "
         f"{XNLI.format('ru')}, found none; available languages: de\n"),
        ("translate-train", "xnli", {XNLI.format("ru"): "pawsx/train-en.tsv"},
         f"data/{XNLI.format('ru')}:1: label '0'; expected one of contradiction, entailment, neutral\n"),
        ("translate-train", "xquad", {SQUAD.format(code): "tydiqa/tydiqa-goldp-v1.1-dev/tydiqa.goldp.ru.dev.json"
                                      for code in ("de", "ru")},
         "data: translate-train of xquad in 'de': expected ids of questions of xquad, got ids of another"),
        ("translate-train", "udpos", {}, "udpos has no translate-train: protocol translate-train is for xnli, pawsx, "
         "xquad, mlqa, tydiqa\n"),
        ("translate-tran", "xnli", {}, "unknown protocol 'translate-tran'; did you mean 'translate-train'?"),
        ("monotrans", "xnli", {}, "--protocol monotrans: needs a corpus; for --model expected one of published, "),
    ],
)  # fmt: skip
def test_bad_translations_are_refused(xtreme, write_data, tiny_bert, protocol, task, copies, message):
    data = write_data("xnli", "pawsx", "xquad", "tydiqa")
    write_translation(data, "translate-train", "xnli", "de")
    for name, source in copies.items():
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text((data / source).read_text())
    code, out, err = xtreme("--model", tiny_bert, "--tasks", task, "--protocol", protocol, "--languages", "de,ru")
    assert (code, out) == (2, "")
    assert err.startswith(message) and len(err.splitlines()) == 1


def test_predictions_of_a_run_are_scored_and_analysed(xtreme, succeeded, tiny_bert, write_data):
    write_data("xnli", "xquad", "bucc2018")
    tasks = "xnli,udpos,panx,xquad,bucc2018,tatoeba"
    code, _, err = xtreme("--model", tiny_bert, "--tasks", tasks, "--predictions", "kept", "--out", "run.json")
    assert code == 0, err
    folders = ("--predictions", "kept/predictions", "--labels", "kept/labels", "--languages", "available")
    out = succeeded("xtreme", "evaluate", *folders, "--analyses", "--data", "data", "--json")
    found, run = json.loads(out), json.loads(Path("run.json").read_text())
    for cell in run["cells"]:
        for metric, by_language in found[cell["task"]].items():
            if not metric.startswith("avg"):
                assert by_language[cell["language"]] == pytest.approx(cell["metrics"][metric])
    analyses = found["ecsuite"]["analyses"]
    assert set(analyses["agreement_with_english"]["xquad"]) == {"de", "ru"}
    assert set(analyses["entities"]) == {"en", "de", "ru"}
    assert analyses["tag_ngrams"]["de"]["3 seen"] is not None
