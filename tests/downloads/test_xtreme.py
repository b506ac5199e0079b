import io
import json
import re
import stat
import tarfile
import zipfile
from dataclasses import replace
from urllib.request import urlopen

import pytest

from ecsuite.downloads import xtreme
from ecsuite.downloads.xtreme import OFFLINE_ADVICE, ORIGINS, prepare_xtreme
from ecsuite.runtime.errors import ConfigError

ENTRIES = [
    {"id": f"{language}-1", "question": "?", "answers": [{"text": "b", "answer_start": 2}]}
    for language in ("english", "korean")
]
SQUAD = json.dumps({"data": [{"paragraphs": [{"context": "a b", "qas": ENTRIES}]}]})
XNLI = "language\tgold_label\tsentence1\tsentence2\nur\tneutral\ta\tb\n"
PAWSX = "id\tsentence1\tsentence2\tlabel\n1\ta\tb\t1\n"
CONLLU = "1\ta\t_\tNOUN\t_\t_\t0\t_\t_\t_\n"


def tar(files, mode="gz"):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=f"w:{mode}") as archive:
        for name, content in files.items():
            content = content.encode() if isinstance(content, str) else content
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
    return data.getvalue()


def zipped(files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("folder/", "")
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def bucc(language, part):
    stem = f"bucc2018/{language}-en/{language}-en.{part}"
    texts = {language: f"{language}-1\ta\n", "en": "en-1\tb\n", "gold": f"{language}-1\ten-1\n"}
    return tar({f"{stem}.{ending}": text for ending, text in texts.items()}, "bz2")


WEB = {
    "XNLI-1.0.zip": zipped(
        {"XNLI-1.0/xnli.dev.tsv": XNLI, "XNLI-1.0/xnli.test.tsv": XNLI, "__MACOSX/XNLI-1.0/._xnli.dev.tsv": "?"}
    ),
    "XNLI-MT-1.0.zip": zipped(
        {
            "XNLI-MT-1.0/multinli/multinli.train.en.tsv": "premise\thypo\tlabel\na\tb\tcontradictory\n",
            "XNLI-MT-1.0/multinli/multinli.train.fr.tsv": "premise\thypo\tlabel\na\tb\tcontradictory\n",
        }
    ),
    "x-final.tar.gz": tar(
        {f"x-final/{name}.tsv": PAWSX for name in ("en/train", "ko/dev_2k", "ko/test_2k", "ko/translated_train")}
    ),
    "ud-treebanks-v2.5.tgz": tar(
        {
            "ud-treebanks-v2.5/UD_Kazakh-KTB/kk_ktb-ud-test.conllu": CONLLU,
            "ud-treebanks-v2.5/UD_Kazakh-KTB/kk_ktb-ud-test.txt": "a",
            "ud-treebanks-v2.5/UD_Akkadian-PISANDUB/akk_pisandub-ud-test.conllu": CONLLU,
        }
    ),
    "panx_dataset.zip": zipped(
        {
            "panx_dataset/kk.tar.gz": tar({"train": "kk:a\tO\n", "dev": "kk:b\tO\n", "test": "kk:c\tO\n", "extra": ""}),
            "panx_dataset/ace.tar.gz": tar({"train": "ace:a\tO\n"}),
        }
    ),
    "60cac411649156efb6aab9dd4c9cde787a2c0345.tar.gz": tar(
        {"xquad-60cac/xquad.ro.json": SQUAD, "xquad-60cac/README.md": "?"}
    ),
    "train-v1.1.json": SQUAD.encode(),
    "dev-v1.1.json": SQUAD.encode(),
    "MLQA_V1.zip": zipped(
        {
            "MLQA_V1/test/test-context-de-question-de.json": SQUAD,
            "MLQA_V1/test/test-context-de-question-en.json": SQUAD,
            "MLQA_V1/dev/dev-context-de-question-de.json": SQUAD,
        }
    ),
    "tydiqa-goldp-v1.1-train.json": SQUAD.encode(),
    "tydiqa-goldp-v1.1-dev.tgz": tar({"tydiqa-goldp-v1.1-dev/tydiqa-goldp-dev-korean.json": SQUAD}),
    "74bc6ae7ffb7cba670fe0f428d0ede9f666fb821.tar.gz": tar(
        {
            "LASER-74bc/data/tatoeba/v1/tatoeba.kaz-eng.kaz": "a\n",
            "LASER-74bc/data/tatoeba/v1/tatoeba.kaz-eng.eng": "b\n",
            "LASER-74bc/data/tatoeba/v1/README.md": "?",
            "LASER-74bc/source/embed.py": "?",
        }
    ),
    **{
        f"bucc2018-{language}-en.{part}-gold.tar.bz2": bucc(language, part)
        for language in ("de", "fr", "ru", "zh")
        for part in ("training", "sample")
    },
}  # fmt: skip


@pytest.fixture
def web(tmp_path, monkeypatch):
    """A folder that replaces the web; origins are the real ones except for addresses and checksums."""
    folder = tmp_path / "web"
    folder.mkdir()
    for name, content in WEB.items():
        (folder / name).write_bytes(content)

    def here(origin):
        return replace(origin, url=(folder / origin.url.rpartition("/")[2]).as_uri(), sha256=None)

    origins = {task: tuple(map(here, origins)) for task, origins in ORIGINS.items()}
    monkeypatch.setattr(xtreme, "ORIGINS", origins)
    monkeypatch.setattr("ecsuite.downloads.web.open_url", urlopen)
    return folder


@pytest.fixture
def prepare(tmp_path):
    """Prepares tasks in `tmp_path / "data"`; the notes are in `prepare.notes`."""

    def prepare(*tasks, **options):
        prepare.notes = []
        return prepare_xtreme(tasks, tmp_path / "data", note=prepare.notes.append, **options)

    return prepare


def encrypted(archive):
    """The flag of encryption is the first bit of the flags, of each member and in the list of members."""
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        for found in re.finditer(re.escape(signature), archive):
            at = found.start() + place
            archive = archive[:at] + bytes([archive[at] | 1]) + archive[at + 1 :]
    return archive


@pytest.mark.parametrize(
    ("task", "name", "content", "message"),
    [
        ("panx", "panx_dataset.zip", WEB["panx_dataset.zip"][:400], "the archive is damaged ("),
        ("panx", "panx_dataset.zip", encrypted(WEB["panx_dataset.zip"]), "the archive is damaged ("),
        ("pawsx", "x-final.tar.gz", WEB["x-final.tar.gz"][:100], "the archive is damaged ("),
        ("pawsx", "x-final.tar.gz", tar({"x-final/README": "?"}),
         f"expected members named {ORIGINS['pawsx'][0].member}, found none"),
        ("pawsx", "x-final.tar.gz", None, "cannot be read ("),
    ],
    ids=["half a zip", "encrypted", "half a tar", "without members", "not there"],
)  # fmt: skip
def test_archives_that_cannot_be_used(web, prepare, tmp_path, task, name, content, message):
    if content is None:
        (web / name).unlink()
    else:
        (web / name).write_bytes(content)
    with pytest.raises(ConfigError) as error:
        prepare(task)
    assert str(error.value).startswith(f"{(web / name).as_uri()}: {message}")
    if content is None:
        assert str(error.value).endswith(f"; run the same command again to resume. {OFFLINE_ADVICE}")
    assert not (tmp_path / "data" / "sources.json").exists()
    assert not list((tmp_path / "data").glob(".*"))
    (web / name).write_bytes(WEB[name])
    assert prepare(task)


def test_what_a_killed_extraction_left_is_removed(web, prepare, tmp_path):
    folder = tmp_path / "data" / "panx" / "kk"
    folder.mkdir(parents=True)
    leftover = tmp_path / "data" / ".panx_dataset.zip.members" / "panx" / "kk" / "dev.gz"
    leftover.parent.mkdir(parents=True)
    leftover.touch()
    prepare("panx")
    assert sorted(path.name for path in folder.iterdir()) == ["dev.gz", "test.gz", "train.gz"]
    assert not list((tmp_path / "data").glob(".*"))


def linked(kind):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        entry = tarfile.TarInfo("x-final/en/train.tsv")
        entry.type, entry.linkname = kind, "/etc/passwd"
        archive.addfile(entry)
    return data.getvalue()


def linked_zip():
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        entry = zipfile.ZipInfo("XNLI-1.0/xnli.dev.tsv")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    return data.getvalue()


OUT = "which leads out of its folder; nothing of it was used"
LINK = "in the place of a file; nothing of it was used"


@pytest.mark.parametrize(
    ("task", "name", "content", "message"),
    [
        ("pawsx", "x-final.tar.gz", tar({"x-final/en/train.tsv": PAWSX, "x-final/../../en/train.tsv": PAWSX}), OUT),
        ("pawsx", "x-final.tar.gz", tar({"x-final/en/train.tsv": PAWSX, "/x-final/en/train.tsv": PAWSX}), OUT),
        ("pawsx", "x-final.tar.gz", linked(tarfile.SYMTYPE), LINK),
        ("pawsx", "x-final.tar.gz", linked(tarfile.LNKTYPE), LINK),
        ("xnli", "XNLI-1.0.zip", zipped({"XNLI-1.0/xnli.dev.tsv": XNLI, "../a": ""}), OUT),
        ("xnli", "XNLI-1.0.zip", zipped({"C:/XNLI-1.0/xnli.dev.tsv": XNLI}), OUT),
        ("xnli", "XNLI-1.0.zip", linked_zip(), LINK),
        ("panx", "panx_dataset.zip", zipped({"panx_dataset/kk.tar.gz": tar({"../train": "kk:a\tO\n"})}), OUT),
    ],
    ids=["tar ..", "tar absolute", "tar symlink", "tar hard link", "zip ..", "zip drive", "zip symlink", "nested"],
)  # fmt: skip
def test_an_archive_that_leads_elsewhere_is_refused_whole(web, prepare, tmp_path, task, name, content, message):
    (web / name).write_bytes(content)
    with pytest.raises(ConfigError, match=f"^{re.escape((web / name).as_uri())}: .*{message}$"):
        prepare(task)
    assert not list((tmp_path / "data").iterdir())


def test_another_content_than_before_is_said(web, prepare, tmp_path):
    prepare("tydiqa")
    (tmp_path / "data/tydiqa/tydiqa-goldp-v1.1-train.json.gz").unlink()
    file = web / "tydiqa-goldp-v1.1-train.json"
    file.write_bytes(SQUAD.encode() + b" ")
    prepare("tydiqa")
    path = "tydiqa/tydiqa-goldp-v1.1-train.json.gz"
    assert f"{path}: the file at {file.as_uri()} has changed since it was downloaded before" in prepare.notes


def test_a_file_of_the_users_is_not_overwritten(web, prepare, tmp_path):
    file = tmp_path / "data" / "panx" / "kk" / "dev.gz"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"mine")
    with pytest.raises(ConfigError, match=r"dev\.gz: exists, and sources\.json does not have it, so it is"):
        prepare("panx")
    assert [path for path in (tmp_path / "data").rglob("*") if path.is_file()] == [file]
    assert file.read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        (["panks"], "unknown task 'panks'; did you mean 'panx'\\?"),
        ([], "expected task names such as udpos,panx, got none"),
        (["panx"], "data: expected a folder, got a file$"),
    ],
)
def test_mistakes_have_one_line(prepare, tmp_path, tasks, message):
    (tmp_path / "data").write_text("")
    with pytest.raises(ConfigError, match=message):
        prepare(*tasks)
