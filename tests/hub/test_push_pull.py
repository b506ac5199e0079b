import json
import shutil
import sys
from pathlib import Path

import pytest

import ecsuite as ec
from ecsuite.games.config.experiment import load_experiment
from ecsuite.language_models.backend import Person
from hub_server import LICENCE, SMALL, TOKEN
from stopped_runs import trained

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # within huggingface_hub


def test_a_run_comes_back_with_the_same_bytes_and_is_read_at_once(ecsuite, succeeded, hub, run):
    code, out, err = ecsuite("push", run, "hf:someone/run", *LICENCE)
    assert code == 0 and err == "hf:someone/run: sending 9 files\n"
    commit = hub.repositories["dataset", "someone/run"].head
    assert f"{hub.url}/datasets/someone/run, commit {commit}" in out
    code, out, err = ecsuite("pull", f"hf:someone/run@{commit}", "got")
    assert code == 0 and "9 files verified in got" in out and "Next: ecsuite show got" in out
    for file in run.iterdir():
        assert Path("got", file.name).read_bytes() == file.read_bytes()
    assert sorted(file.name for file in Path().iterdir()) == ["got", "run"]
    for command in ("score got --metrics topsim", "show got", "compare got run", "evaluate got --json"):
        assert succeeded(*command.split())


def test_a_file_of_scores_comes_back_and_is_read_as_the_page_says(ecsuite, succeeded, hub):
    rows = [f"{colour[0]} {shape[0]},{colour},{shape}" for colour in ("red", "blue") for shape in ("cup", "hat")]
    Path("corpus.csv").write_text("\n".join(["message,colour,shape", *rows]))
    assert ecsuite("score", "corpus.csv", "--metrics", "posdis", "--out", "mine.json", "--quiet")[0] == 0
    assert ecsuite("push", "mine.json", "hf:someone/mine", *LICENCE, "--quiet")[0] == 0
    assert "    ecsuite compare mine\n" in hub.files("someone/mine")["README.md"].decode()
    code, out, err = ecsuite("pull", "hf:someone/mine", "mine")
    assert code == 0 and "Next: ecsuite compare mine\n" in out, err
    for command in ("compare mine", "compare table mine"):
        assert "posdis" in succeeded(*command.split())
    verified = json.loads(ecsuite("verify", "mine", "--json")[1])
    assert [source["name"] for source in verified["sources"]] == ["corpus"]


def test_nothing_is_sent_by_a_plan_or_without_a_licence(ecsuite, printed, refused, hub, run):
    out = printed("push", run, "hf:someone/run", *LICENCE, "--plan")
    assert "nothing was sent" in out and "croissant.json" in out
    planned = json.loads(ecsuite("push", run, "hf:someone/run", *LICENCE, "--plan", "--json")[1])
    assert planned["bytes"] == sum(each["bytes"] for each in planned["files"])
    code, out, err = ecsuite("push", run, "hf:someone/run", *LICENCE, "--write", "deep/card.md")
    assert (code, err, out.splitlines()[-1]) == (0, "", "The card is in deep/card.md")
    assert Path("deep/card.md").read_text().startswith("---\n")
    for licence in ((), ("--license", "nonsense")):
        assert "cc-by-" in refused("push", run, "hf:someone/run", *licence)
    assert hub.asked == []


class FirstChoice(Person):
    """A person who always answers with the first choice."""

    def answer(self, request):
        return request.choices[0]


@pytest.mark.parametrize("backend", ["page", "drawn", None])
def test_the_card_of_rounds_says_who_spoke(backend, ecsuite, hub, tmp_path):
    settings = ["play.agents=3", "play.pool=3", "training.num_examples=6", "training.batch_size=2"]
    if backend is not None:
        settings += ["play.at_once=true", "play.num_others=1", f"play.other=language_model,backend={backend}"]
    trained(load_experiment("naming", settings), tmp_path / "rounds", person=FirstChoice())
    assert ecsuite("push", tmp_path / "rounds", "hf:someone/rounds", *LICENCE, "--quiet")[0] == 0
    files = hub.files("someone/rounds")
    text, described = files["README.md"].decode(), files["croissant.json"].decode()
    is_of_people = backend == "page"
    assert "were trained on a game" not in text and "training of agents" not in described
    assert ("People took part" in text) == ("Their informed consent is not described" in text) == is_of_people
    assert ("no person wrote" in text) == ("machine-generated" in text) == (not is_of_people)
    assert ("hasSyntheticData" in described) == (not is_of_people)
    assert "None in the messages" not in text and "with the agents' weights" not in text


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of mlcroissant, which also leaves files open
def test_croissant_is_valid_and_its_records_can_be_read(pushed):
    mlcroissant = pytest.importorskip("mlcroissant")
    folder = Path("there")
    folder.mkdir()
    for name, content in pushed.items():
        (folder / name).write_bytes(content)
    dataset = mlcroissant.Dataset(jsonld=folder / "croissant.json")
    issues = dataset.metadata.ctx.issues
    assert (issues.errors, issues.warnings) == (set(), set())
    assert dataset.metadata.personal_sensitive_information and dataset.metadata.data_biases
    first = next(iter(dataset.records("corpus")))
    assert first["corpus/message"] == Path("run/corpus.jsonl").read_bytes().splitlines()[0]
    listed = {each.id for each in dataset.metadata.file_objects}
    assert listed == {*pushed} - {"croissant.json", "README.md", ".gitattributes"}


def test_a_corpus_in_a_file_and_that_of_a_grammar(ecsuite, succeeded, hub, small_files):
    Path("mine.csv").write_text("message,colour\n1 2,red\n2 1,blue\n1 1,red\n")
    Path("about.yaml").write_text("description: Two colours.\npersonal_information: All agreed.\n")
    succeeded("push", "mine.csv", "hf:lab/mine", "--license", "mit", "--about", "about.yaml")
    files = hub.files("lab/mine")
    for words in (b"Two colours. Made with", b"- **Personal information**: All agreed."):
        assert words in files["README.md"]
    assert json.loads(files["croissant.json"])["rai:personalSensitiveInformation"] == ["All agreed."]
    assert "Next: ecsuite score mine/mine.csv" in succeeded("pull", "hf:lab/mine")
    assert ecsuite("push", "perm", "hf:lab/perm", "--license", "https://example.org/terms", "--private")[0] == 0
    assert hub.repositories["dataset", "lab/perm"].is_private
    card = hub.files("lab/perm")["README.md"].decode()
    assert "license: other" in card and "artificial grammar perm" in card and "machine-generated" in card


def test_a_sweep_has_means_and_its_failed_seeds(ecsuite, hub, tmp_path):
    shutil.copytree(SMALL / "finished", tmp_path / "sweep" / "runs" / "one")
    (tmp_path / "sweep" / "jobs").mkdir()
    (tmp_path / "sweep" / "jobs" / "kept.json").write_text("{}")
    training = {"stopped": "epochs", "measures": {"accuracy": 0.5}}
    run = {"settings": {"channel.max_len": 3}, "training": training, "scores": []}
    one, two = str(tmp_path / "sweep/runs/one"), "sweep/runs/two"
    runs = [run | {"seed": 1, "folder": one}, run | {"seed": 2, "folder": two, "failure": "no memory"}]
    sweep = {"format": 1, "name": "study", "metrics": [], "runs": runs}
    (tmp_path / "sweep" / "sweep.json").write_text(json.dumps(sweep))
    sent = ec.push("sweep", "hf:lab/study", license="cc0-1.0", agents=False, note=lambda _: None)
    assert sent["left_out"].keys() == {"jobs/", "runs/one/checkpoint-000000016.safetensors"}
    files = hub.files("lab/study")
    assert json.loads(files["sweep.json"])["runs"][0]["folder"] == "sweep/runs/one"
    for words in (b"1 of 2 runs were completed", b"no memory"):
        assert words in files["README.md"]
    folder = ec.pull("hf:lab/study", progress=lambda *_: None, note=lambda _: None)
    assert ecsuite("compare", "table", folder)[0] == 0


def test_the_token_is_in_no_file_and_no_output(ecsuite, hub, run, tmp_path):
    outputs = [ecsuite("push", run, "hf:someone/run", *LICENCE), ecsuite("pull", "hf:someone/run", "got")]
    hub.is_down = True
    outputs += [ecsuite("push", run, "hf:someone/run", *LICENCE), ecsuite("pull", "hf:someone/run", "other")]
    assert [code for code, _, _ in outputs] == [0, 0, 2, 2] and TOKEN not in repr(outputs)
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or TOKEN.encode() not in file.read_bytes()
    assert TOKEN.encode() not in b"".join(hub.files("someone/run").values())


def test_own_code_in_a_run_comes_along_and_is_not_run(ecsuite, hub, run):
    (run / "code" / "12345678").mkdir(parents=True)
    (run / "code" / "12345678" / "mine.py").write_text("raise SystemExit('it ran')\n")
    assert ecsuite("push", run, "hf:someone/run", *LICENCE)[0] == 0
    code, out, err = ecsuite("pull", "hf:someone/run", "got")
    assert code == 0 and "it ran" not in out + err and Path("got/code/12345678/mine.py").is_file()


def test_without_the_library_a_line_says_what_to_install(refused, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    for command in (("push", run, "hf:someone/run", *LICENCE), ("pull", "hf:someone/run", "got")):
        assert "pip install -e '.[hub]'" in refused(*command)


def test_files_of_others_are_not_overwritten(refused, hub, run):
    hub.add("someone/run", {"data.csv": b"1"})
    assert "data.csv: choose another name" in refused("push", run, "hf:someone/run", *LICENCE)
    assert hub.files("someone/run") == {"data.csv": b"1"}
