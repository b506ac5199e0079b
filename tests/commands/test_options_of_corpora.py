"""Options that say how a corpus is read are refused where none is read, as any option that nothing reads."""

import pytest


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("translate --pairs pairs.tsv --split letters", "--split: not read by a run without a corpus"),
        ("xtreme --baselines --eos 0", "--eos: not read by --baselines"),
        ("xtreme --model encoder --missing leave", "--missing: not read by --model"),
        ("show finished finished --plot a.svg --split letters", "--split: not read by learning curves"),
        ("show finished --measure accuracy --plot a.svg --as csv", "--as: not read by learning curves"),
        ("show finished finished --plot a.svg --rounds 3", "--rounds: not read by learning curves"),
        ("show disc_tiny --as csv", "--as: not read by rounds of a game"),
        ("show disc_tiny --eos 0", "--eos: not read by rounds of a game"),
        ("compare finished perm --split letters", "--split: not read by results with scores"),
        ("reproduce --workers 3", "--workers: expected a claim"),
        ("reproduce --device cpu", "--device: expected a claim"),
    ],
)
def test_they_are_refused(ecsuite, small_files, line, option):
    code, out, err = ecsuite(*line.split())
    assert (code, out) == (2, "") and len(err.splitlines()) == 1 and option in err, err
