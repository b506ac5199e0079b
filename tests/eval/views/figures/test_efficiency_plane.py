"""The efficiency plane of records: languages by kind, beside the bound of their space; others are refused."""

import json

import numpy as np
import pytest
from matplotlib.text import Text

from ecsuite.eval.metrics import information_bound as bounds
from ecsuite.eval.metrics.information_bound import bound_of
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.results.sources import Source
from ecsuite.eval.views.figures.efficiency_plane import draw_plane
from ecsuite.eval.views.html.galleries import plane_galleries
from ecsuite.runtime.errors import ConfigError
from ecsuite.spaces.space import Space

TOY = Space(name="toy", beliefs=np.eye(2), need=np.array([0.5, 0.5]), vectors=np.arange(2)[:, None])


@pytest.fixture(autouse=True)
def _here(monkeypatch, tmp_path):
    monkeypatch.setattr(bounds, "NUM_BETAS", 30)
    monkeypatch.setenv("ECSUITE_DATA", str(tmp_path))


def source(name, complexity, accuracy, digest=TOY.digest, **more):
    signature = f"x|space:toy|need:space|digest:{digest}|v:1"
    values = {"complexity,space=toy": complexity, "semantic_accuracy,space=toy": accuracy}
    records = [Score(name=score, value=value, signature=signature) for score, value in values.items()]
    return Source(name=name, file=more.pop("file"), records=tuple(records), **more)


def test_languages_are_named_by_who_speaks(tmp_path):
    bound_of(TOY)
    for name, said in (
        ("grammar", {"grammar": {"name": "concat"}}),
        ("people", {"iso639_3": "deu"}),
        ("other", {}),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metadata.json").write_text(json.dumps(said))
    figure = draw_plane([source(name, 0.5, 0.4, file=tmp_path / name, folder=tmp_path / name)
                         for name in ("grammar", "people", "other")])  # fmt: skip
    names = {text.get_text() for text in figure.findobj(Text)}
    assert {"corpus", "grammar", "languages of people"} <= names


def log(folder, steps, every=None):
    """The log and the config of a run whose language is told from step to step."""
    folder.mkdir()
    places = [
        {
            "step": step,
            "valid": {},
            "metrics": {"complexity,space=toy": x, "semantic_accuracy,space=toy": x / 2},
        }
        for step, x in steps.items()
    ]
    (folder / "log.jsonl").write_text("".join(json.dumps(each) + "\n" for each in places))
    (folder / "config.yaml").write_text(f"name: mine\ngenerations: {{every: {json.dumps(every)}}}\n")
    return {"file": folder / "scores.json", "folder": folder, "game": "mine"}


def test_a_run_has_arrows_of_training_or_of_generations(tmp_path):
    bound_of(TOY)
    trained = source("a", 1.0, 0.5, **log(tmp_path / "a", {1: 0.2, 2: 0.6, 3: 1.0}))
    born = source("b", 1.0, 0.5, **log(tmp_path / "b", {1: 0.9, 2: 0.2, 3: 0.8, 4: 0.4, 6: 0.5}, every=2))
    [axes] = draw_plane([trained]).axes
    assert [note.xy for note in axes.texts if note.arrow_patch] == [(0.6, 0.3), (1.0, 0.5)]
    [axes] = draw_plane([born]).axes
    assert [note.xy[0] for note in axes.texts if note.arrow_patch] == [0.4, 0.5]
    once = source("c", 1.0, 0.5, **log(tmp_path / "c", {1: 0.2}))
    [axes] = draw_plane([once]).axes
    assert not [note for note in axes.texts if note.arrow_patch]


def test_the_report_has_a_plane_of_each_space_whose_bound_is_kept(tmp_path):
    bound_of(TOY)
    here, other = source("a", 1.0, 0.9, file=tmp_path), source("b", 1.0, 0.9, "ff", file=tmp_path)
    [gallery] = plane_galleries([here, other, Source(name="c", file=tmp_path)])
    [figure] = gallery.figures
    assert figure.name == f"toy, need space, {TOY.digest}" and "Sources with the bound: 1." in figure.svg
    assert plane_galleries([other]) == []


def test_what_is_on_no_plane(tmp_path):
    one, other = source("a", 1.0, 0.9, file=tmp_path), source("b", 1.0, 0.9, "ff", file=tmp_path)
    with pytest.raises(ConfigError, match="not stored on this machine"):
        draw_plane([one])
    with pytest.raises(ConfigError, match="a and b have different spaces"):
        draw_plane([one, other])
    with pytest.raises(ConfigError, match="c has no complexity: score it with --metrics efficiency"):
        draw_plane([Source(name="c", file=tmp_path)])
