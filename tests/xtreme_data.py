"""Hand-made results for any backbones, seeds, tasks and languages; small presets, models and tasks."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors, trainers

from ecsuite.corpus import Corpus
from ecsuite.eval.models.vocabulary import SubWords
from ecsuite.eval.xtreme.data import ExampleSet, LanguageText
from ecsuite.eval.xtreme.jobs import plan
from ecsuite.eval.xtreme.presets import NANO, PRESETS
from ecsuite.eval.xtreme.result import TransferResult
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.eval.xtreme.study import make_study
from ecsuite.jobs.job import Result

CONTROLS = ("random init", "parentheses", "shuffled corpus", "human text")
BACKBONES = ("corpus", *CONTROLS)
SIGNATURE = "xtreme-transfer|protocol:adapt|preset:nano|v:1"

FIRST, BETWEEN, LAST, PADDING, UNKNOWN = range(100, 105)
"""Special symbols of `word_level`."""
NUM_SUB_WORDS = 105


def word_level(words, *, splits=False):
    """A vocabulary whose sub-words are these words, numbered from 0, the last one for unknown words.

    With `splits`, sub-words are the letters of words.
    """
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, words[-1]))
    letters = [pre_tokenizers.Split(Regex("."), "isolated")] if splits else []
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), *letters])
    return SubWords(
        tokenizer=tokenizer, size=NUM_SUB_WORDS, first=(FIRST,), between=(BETWEEN,), last=(LAST,), padding=PADDING,
        mask=UNKNOWN, unknown=UNKNOWN,
    )  # fmt: skip


@pytest.fixture
def make_result():
    """Makes a result whose metrics are all `level(body, seed, task, language)`.

    The baseline has 20 and chance level 4, in English 70 and 5; languages are those of all tasks, or by task.
    """

    def make_result(level, *, bodies=BACKBONES, seeds=(0, 1, 2), tasks=("udpos", "panx"),
                    languages=("en", "fr", "ja", "kk"), **others):  # fmt: skip
        codes = languages
        if not isinstance(languages, dict):
            codes = {task: languages or TASKS[task].languages for task in tasks}

        def by_task(value):
            def metrics(task, code):
                return dict.fromkeys(TASKS[task].metrics, float(value(task, code)))

            return {task: {code: metrics(task, code) for code in codes[task]} for task in tasks}

        def of_seeds(body):
            return {seed: by_task(lambda *place: level(body, seed, *place)) for seed in seeds}  # noqa: B023

        usual = {
            "protocol": "adapt", "preset": "nano", "corpus": "corpus", "signature": SIGNATURE,
            "by_body": {body: of_seeds(body) for body in bodies}, "notes": ("nano: 30 sentences a language.",),
            "splits": {task: dict.fromkeys(codes[task], "dev" if task == "panx" else "test") for task in tasks},
            "baselines": by_task(lambda task, code: 70 if code == "en" else 20),
            "chance": by_task(lambda task, code: 5 if code == "en" else 4),
        }  # fmt: skip
        return TransferResult(**usual | others)

    return make_result


@pytest.fixture
def tiny():
    return replace(NANO.backbone, num_layers=1, width=16, context=48)


@pytest.fixture
def tiny_preset(tiny):
    return replace(
        NANO, backbone=tiny,
        pretraining=replace(NANO.pretraining, tokens=480, num_types=30),
        vocabulary=replace(NANO.vocabulary, size=280),
        text=replace(NANO.text, tokens=480),
        max_train=10, max_test=6,
        tuning={kind: replace(tuning, epochs=1, context=48) for kind, tuning in NANO.tuning.items()},
    )  # fmt: skip


@pytest.fixture
def tiny_bert(tmp_path):
    """A folder with an encoder and its tokenizer, in the format of published models."""
    transformers = pytest.importorskip("transformers")
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=120, special_tokens=special, show_progress=False)
    lines = [" ".join(make_sentences(language, 40)) for language in ("en", "de", "ru")]
    tokenizer.train_from_iterator(lines, trainer)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    folder, names = tmp_path / "bert", {"pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.BertModel(config).save_pretrained(folder)
    return folder


TAGGED = {"udpos": ("DET", "NOUN", "VERB"), "panx": ("O", "B-PER", "I-PER")}
JUDGED = {"xnli": ("neutral", "entailment", "contradiction"), "pawsx": ("0", "1")}
ISO3 = {"de": "deu", "ru": "rus", "eu": "eus", "id": "ind"}
PARTS = ("train", "dev", "test")
HAS_PARTS = {"mlqa": ("dev", "test"), "tydiqa": ("train", "test"), "bucc2018": ("dev", "test"), "tatoeba": ("test",)}


def make_sentences(language, number, start=0):
    return [
        f"{language}la {language}{'abcdefghij'[place % 10]}{'klmnop'[place // 10]} {language}ru"
        for place in range(start, start + number)
    ]


def questions(sentences, name, language, start):
    """A file of a question a sentence, whose answer is its second word."""
    paragraphs = []
    for place, sentence in enumerate(sentences):
        answers = [{"text": sentence.split()[1], "answer_start": start}]
        asked = [{"id": f"{name}-{place}", "question": f"{language}la ?", "answers": answers}]
        paragraphs.append({"context": f"{sentence} . {sentences[0]}", "qas": asked})
    return json.dumps({"data": [{"paragraphs": paragraphs}]})


def write_part(folder, task, language, part, number):
    """Write one split of a task in a language, in XTREME's layout; splits are disjoint."""
    sentences = make_sentences(language, number, PARTS.index(part) * 20)
    plain, kind = folder / task / f"{part}-{language}.tsv", TASKS[task].kind
    files = {}
    if kind == "tagging":
        files[plain] = "\n".join(
            "".join(f"{word}\t{tag}\n" for word, tag in zip(sentence.split(), TAGGED[task], strict=True))
            for sentence in sentences
        )
    elif kind == "pairs":
        labels = JUDGED[task]
        files[plain] = "".join(
            f"{one}\t{sentences[0]}\t{labels[place % len(labels)]}\n" for place, one in enumerate(sentences)
        )
    elif kind == "questions":
        name = {
            "xquad": f"xquad/xquad.{language}.json" if part == "test" else f"squad/{part}-v1.1.json",
            "mlqa": f"mlqa/MLQA_V1/{part}/{part}-context-{language}-question-{language}.json",
            "tydiqa": "tydiqa/tydiqa-goldp-v1.1-{0}/tydiqa.goldp.{1}.{0}.json".format(
                {"test": "dev"}.get(part, part), language
            ),
        }[task]
        files[folder / name] = questions(sentences, f"{language}-{part}", language, len(language) + 3)
    elif task == "bucc2018":
        stem = folder / task / f"{language}-en.{part}"
        for side, code in (("s", language), ("t", "en")):
            lines = make_sentences(code, number, PARTS.index(part) * 20)
            files[Path(f"{stem}.{code}")] = "".join(f"{side}{n}\t{line}\n" for n, line in enumerate(lines))
        files[Path(f"{stem}.gold")] = "".join(f"s{n}\tt{n}\n" for n in range(number))
    else:
        stem = folder / task / f"tatoeba.{ISO3[language]}-eng"
        for code, ending in ((language, ISO3[language]), ("en", "eng")):
            files[Path(f"{stem}.{ending}")] = "\n".join(make_sentences(code, number)) + "\n"
    for file, content in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)


@pytest.fixture
def write_data(tmp_path):
    """Writes tasks in English and other languages, train in English only; or the given splits by language."""

    def write_data(*tasks, parts=None, number=12, folder="data"):
        usual = {"en": PARTS, "de": ("dev", "test"), "ru": ("dev", "test")}
        for task in tasks or TASKS:
            for language, there in (parts or usual).items():
                for part in there if language in TASKS[task].languages else ():
                    is_original = task != "xquad" or part == "test" or language == "en"
                    if part in HAS_PARTS.get(task, PARTS) and is_original:
                        write_part(tmp_path / folder, task, language, part, number)
        return tmp_path / folder

    return write_data


TRANSLATIONS = {
    "translate-train": {
        "xnli": "XNLI/translate-train/en-{}-translated.tsv", "pawsx": "PAWSX/translate-train/en-{}-translated.tsv",
        "xquad": "SQuAD/translate-train/squad.translate.train.en-{}.json",
        "tydiqa": "TyDiQA-GoldP/translate-train/tydiqa.translate.train.en-{}.json",
    },
    "translate-test": {
        "xnli": "XNLI/translate-test/test-{}-en-translated.tsv",
        "pawsx": "PAWSX/translate-test/test-{}-en-translated.tsv",
        "xquad": "XQuAD/translate-test/xquad.translate.test.{}-en.json",
        "mlqa": "MLQA/translate-test/mlqa.translate.test.{}-en.json",
        "tydiqa": "TyDiQA-GoldP/translate-test/tydiqa.translate.test.{}-en.json",
    },
    "pseudo-test": {
        "xnli": "XNLI/translate-pseudo-test/xnli.translate.pseudo-test.en-{}.tsv",
        "xquad": "XQuAD/translate-pseudo-test/xquad.translate.pseudo-test.en-{}.json",
    },
}  # fmt: skip
"""Names of the benchmark's machine translations below `xtreme_translations`."""


def write_translation(folder, kind, task, language, *, number=12, has_label=True):
    """Write a machine translation of a task in the benchmark's form, with own sentences."""
    source, target = (language, "en") if kind == "translate-test" else ("en", language)
    start = PARTS.index("train" if kind == "translate-train" else "test") * 20
    originals, sentences = (make_sentences(code, number, start) for code in (source, target))
    file = folder / "xtreme_translations" / TRANSLATIONS[kind][task].format(language)
    file.parent.mkdir(parents=True, exist_ok=True)
    if TASKS[task].kind == "pairs":
        rows = []
        for place, (original, sentence) in enumerate(zip(originals, sentences, strict=True)):
            label = JUDGED[task][place % len(JUDGED[task])]
            before = [] if kind == "pseudo-test" else [original, originals[0]]
            rows.append([*before, sentence, sentences[0], *([label] if has_label else [])])
        file.write_text("".join("\t".join(row) + "\n" for row in rows))
        return file
    part = "train" if kind == "translate-train" else "test"
    file.write_text(questions(sentences, f"{source}-{part}", target, 0))
    return file


@pytest.fixture
def preset(monkeypatch, tiny_preset):
    """Replaces nano: little training, but different results for all backbones."""
    tagging = replace(tiny_preset.tuning["tagging"], lr=0.05, epochs=2, batch=5)
    pretraining, text = (replace(part, lr=0.1) for part in (tiny_preset.pretraining, tiny_preset.text))
    changes = {"languages": ("de", "ru"), "max_test": 12, "tuning": tiny_preset.tuning | {"tagging": tagging}}
    preset = replace(tiny_preset, **changes, pretraining=pretraining, text=text)
    monkeypatch.setitem(PRESETS, "nano", preset)
    return preset


@pytest.fixture
def ask(preset, write_data):
    corpus = Corpus([[place % 5, place % 3, 7] for place in range(40)])
    usual = {"corpus": corpus, "data": write_data("udpos", "panx", "bucc2018"), "tasks": ("udpos",)}
    usual |= {"languages": ("de",), "preset": "nano", "device": "cpu"}
    return lambda **others: make_study(**usual | others)


def find_examples(data, task, language, part, *, is_zero_shot):
    examples = ExampleSet(data=data, task=task, language=language, part=part, is_zero_shot=is_zero_shot)
    return examples.identified()


def find_text(language, data, folder):
    return LanguageText(language=language, data=data, folder=folder).identified()


def constant_results(study, score=50.0):
    """Results of the jobs of a study without any work: every metric is this score."""
    results = {}
    for (_, _, task, _), job in plan(study).items():
        tested = [each.language for each in job.inputs["tests"]]
        scored = {"split": "test", "metrics": dict.fromkeys(TASKS[task].metrics, score)}
        value = {"learnt_from": "train", "by_language": dict.fromkeys(tested, scored)}
        results[job] = Result(value=value)
    return results
