"""Talk in pairs and chains: what is taught, tested and passed on."""

from played_rounds import rounds_of

from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.training.train import train

TALK = ("play.blocks=2", "training.batch_size=9", "world.num_attributes=2", "world.num_values=3")


def talked(settings, folder, **how):
    steps = load_experiment("talk_chain", [*TALK, *settings])
    quiet = {"device": "cpu", "progress": lambda *_: None, "note": lambda _: None}
    return train(steps, folder, **quiet, **how)


def test_agents_who_share_a_language_understand_all_of_it_and_pass_it_on(tmp_path):
    """A compositional language, all of it taught: every generation says the same, and nobody errs."""
    result = talked(["play.num_taught=9", "play.language=compositional", "training.num_epochs=3"], tmp_path)
    assert (
        result.measures["accuracy"] == result.measures["recall"] == 1 and result.measures["shortening"] == 0
    )
    tests = [row for row in rounds_of(tmp_path) if row["phase"] == "test"]
    assert len(tests) == 3 * 2 * 9 and all(row["listener"] == -1 for row in tests)
    assert len({(tuple(row["meaning"]), row["said"]) for row in tests}) == 9
    evaluations = [name for name in result.extra_evaluations if name != "held out"]
    assert evaluations == [f"generation {number}" for number in (1, 2, 3)]
    corpus = read_corpus(tmp_path)
    assert len(corpus.messages) == 18 and set(corpus.columns["split"].tolist()) == {"train"}


def test_messages_of_rounds_have_no_end_that_would_count(tmp_path):
    summary = talked(["training.num_epochs=1"], tmp_path).summary()
    assert "mean message length" in summary and "EOS" not in summary
