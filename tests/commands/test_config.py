"""`ecsuite config`: complete, commented, and the same experiment when it is read again."""

import pytest

from ecsuite.eval.experiments.grids import shipped_studies
from ecsuite.parts.config import parse_yaml


def test_settings_and_differences(ecsuite):
    code, out, _ = ecsuite("config", "disc_tiny", "--set", "channel.vocab_size=7")
    assert code == 0 and "  vocab_size: 7  # Number of content symbols" in out
    code, out, _ = ecsuite("config", "disc_tiny", "--diff", "disc_small")
    assert code == 0 and "task.num_distractors: 3 -> 5\n" in out and "vocab_size" not in out
    code, out, _ = ecsuite("config", "disc_tiny", "--diff", "disc_tiny")
    assert (code, out) == (0, "")
    code, out, err = ecsuite("config", "disk_tiny")
    assert code == 2 and "did you mean 'disc_tiny'" in err


@pytest.mark.parametrize("step", [16, pytest.param(1, marks=pytest.mark.slow)])
def test_a_study_is_printed_as_it_is_run(ecsuite, tmp_path, step):
    shipped = shipped_studies()
    for name in list(shipped)[::step]:
        code, out, err = ecsuite("config", f"paper/{name}")
        assert (code, err) == (0, "") and parse_yaml(out, name) == parse_yaml(shipped[name].read_text(), name)
    assert out.startswith("# ecsuite sweep FILE.yaml runs it;")
    (tmp_path / "mine.yaml").write_text(ecsuite("config", "zoo_digits")[1])
    code, out, err = ecsuite("sweep", "mine.yaml", "--plan")
    assert code == 0 and "18 jobs: 0 stored" in out
    code, out, err = ecsuite("config", "paper/zoo_digits", "--set", "seeds=1")
    assert (code, out) == (
        2,
        "",
    ) and "--set and --diff are for games only; save the study and edit the file" in err
    code, out, err = ecsuite("config", "paper/zoo_digit")
    assert (code, out) == (2, "") and "unknown study 'zoo_digit'; did you mean 'zoo_digits'?" in err
