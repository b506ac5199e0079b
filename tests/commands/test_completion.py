import pytest

LINES = {
    "ecsuite sco": ["score"], "ecsuite --ver": ["--version"],
    "ecsuite train-game disc_": ["disc_large", "disc_small", "disc_tiny"],
    "ecsuite train-game disc_tiny --sen": ["--sender"],
    "ecsuite train-game disc_tiny --help": ["--help-all", "--help"],
    "ecsuite train-game disc_tiny --sender husend": ["husenda", "husendz"],
    "ecsuite train-game disc_tiny --channel g": ["gumbel"],
    "ecsuite train-game disc_tiny --device c": ["cpu", "cuda"],
    "ecsuite score runs/a --metrics topsim,po": ["topsim,posdis"],
    "ecsuite score runs/a --metrics posdis,topsim,corr": ["posdis,topsim,correlation="],
    "ecsuite score runs/a --metrics xferbench,pro": ["xferbench,protocol="],
    "ecsuite score runs/a --trust": ["--trust-code"],
    "ecsuite icy paper/icy_table1": [f"paper/icy_table{number}" for number in (10, 15, 16, 17, 18, "18_scratch")],
    "ecsuite icy --model ls": ["lstm"],
    "ecsuite icy --protocol e": ["exact", "end-to-end"],
    "ecsuite icy --grammar shufd": ["shufdet"],
    "ecsuite score reference ra": ["random"],
    "ecsuite xtreme runs/a --tasks udpos,pa": ["udpos,pawsx", "udpos,panx"],
    "ecsuite translate runs/a --pairs f --setting f": ["full", "frozen"],
    "ecsuite data ": ["wikipedia", "wmt14", "xtreme", "wcs", "smollm2", "elcc", "features"],
    "ecsuite data xtreme --tasks pa": ["pawsx", "panx"],
    "ecsuite compare pow": ["power"],
    "ecsuite show disc_t": ["disc_tiny"],
    "ecsuite people try shufd": ["shufdet"],
    "ecsuite compare table runs/a --kind he": ["heat"],
    "ecsuite list gam": ["games", "game"],
    "ecsuite list channel q": ["quantized"],
    "ecsuite list nothing q": [], "ecsuite new chan": ["channel"], "ecsuite score runs/": [],
}  # fmt: skip


def asked(line):
    """What a shell sets when it asks for what may stand at the end of a line."""
    words = line.split(" ")
    return {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1), "_ECSUITE_COMPLETE": "complete_bash"}


@pytest.mark.parametrize("line", LINES)
def test_completion(printed, monkeypatch, line):
    for name, value in asked(line).items():
        monkeypatch.setenv(name, value)
    assert printed().split() == LINES[line]
