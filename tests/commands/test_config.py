"""`ecsuite config`: complete, commented, and the same experiment when it is read again."""

import pytest

from ecsuite.commands.config import commented
from ecsuite.eval.experiments.grids import shipped_studies
from ecsuite.games.config.experiment import load_experiment, named_configs
from ecsuite.parts.config import parse_yaml


@pytest.mark.sample(10)
@pytest.mark.parametrize("name", named_configs())
def test_what_is_printed_is_the_same_experiment(name, tmp_path):
    needs_file = name in ("mu_cub", "yao")
    experiment = load_experiment(name, ["world.features=birds.npz"] if needs_file else [])
    file = tmp_path / "mine.yaml"
    file.write_text("\n".join(commented(experiment)) + "\n")
    assert load_experiment(str(file)) == experiment


def test_every_key_of_a_section_has_a_comment():
    lines = [line for line in commented(load_experiment("disc_small")) if "kind:" not in line]
    assert [line for line in lines if "#" not in line] == [lines[0], lines[1]]  # the name and the description


def test_settings_and_differences(ecsuite):
    code, out, _ = ecsuite("config", "disc_tiny", "--set", "channel.vocab_size=7")
    assert code == 0 and "  vocab_size: 7  # Number of content symbols" in out
    code, out, _ = ecsuite("config", "disc_tiny", "--diff", "disc_small")
    assert code == 0 and "task.num_distractors: 3 -> 5\n" in out and "vocab_size" not in out
    code, out, _ = ecsuite("config", "disc_tiny", "--diff", "disc_tiny")
    assert (code, out) == (0, "")
    code, out, err = ecsuite("config", "disk_tiny")
    assert code == 2 and "did you mean 'disc_tiny'" in err


def test_parts_of_ones_own_are_shown(ecsuite, tmp_path):
    assert ecsuite("new", "channel", "noisy.py")[0] == 0
    code, out, _ = ecsuite("config", "disc_tiny", "--set", "channel=./noisy.py:Noisy")
    assert code == 0
    assert "  kind: ./noisy.py:Noisy\n" in out and "  confusion: 0.1  # Share of the symbols that ar" in out
    assert "code" not in out.split()


def test_a_game_that_needs_a_file_is_shown_without_it(ecsuite):
    code, out, err = ecsuite("config", "mu_cub")
    assert (code, err) == (0, "") and "  features: FILE.npz  #" in out


@pytest.mark.parametrize("step", [16, pytest.param(1, marks=pytest.mark.slow)])
def test_a_study_is_printed_as_it_is_run(ecsuite, tmp_path, step):
    shipped = shipped_studies()
    for name in list(shipped)[::step]:
        code, out, err = ecsuite("config", f"paper/{name}")
        assert (code, err) == (0, "") and parse_yaml(out, name) == parse_yaml(shipped[name].read_text(), name)
    assert out.startswith("# ecsuite sweep FILE.yaml runs it;")
    (tmp_path / "mine.yaml").write_text(ecsuite("config", "zoo_digits")[1])
    code, out, err = ecsuite("sweep", "mine.yaml", "--plan")
    assert code == 0 and "18 jobs: 0 found" in out
    code, out, err = ecsuite("config", "paper/zoo_digits", "--set", "seeds=1")
    assert (code, out) == (
        2,
        "",
    ) and "--set and --diff are for games only; save the study and edit the file" in err
    code, out, err = ecsuite("config", "paper/zoo_digit")
    assert (code, out) == (2, "") and "unknown study 'zoo_digit'; did you mean 'zoo_digits'?" in err
