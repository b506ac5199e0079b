"""All commands by name: group, line for `ecsuite --help`, and examples of arguments.

A name of two words is a subcommand, such as `compare table`. A command's module in `ecsuite.commands` is imported when
the command is called.
"""

from dataclasses import dataclass

TRAIN = "Train"
LANGUAGES = "Languages"
MEASURE = "Measure"
COMPARE = "Compare and report"
PEOPLE = "People and data"
OWN = "Your own parts"


@dataclass(frozen=True, slots=True)
class Entry:
    """Facts about a command, without importing it."""

    group: str
    """Heading in `ecsuite --help`."""
    line: str
    """One-line description."""
    examples: tuple[str, ...]
    """Example arguments; further commands of an example follow after `&&`."""
    place: str | None = ""
    """`module:function` in `ecsuite.commands`; empty: the name with underscores; None: only a heading for its
    subcommands."""


COMMANDS = {
    "train-game": Entry(
        TRAIN,
        "Train agents on a game, and write their messages as a corpus.",
        (
            "disc_small",
            "disc_small --channel reinforce --seed 2 --set channel.vocab_size=20 --out runs/reinforce",
            "objects --objects mine.csv --epochs 20",
        ),
    ),
    "config": Entry(
        TRAIN,
        "Print every setting of a game, or a shipped study, as YAML.",
        (
            "disc_small > mine.yaml && ecsuite train-game mine.yaml",
            "disc_small --diff recon_large",
            "paper/zoo_digits > mine.yaml && ecsuite sweep mine.yaml --plan",
        ),
    ),
    "evaluate": Entry(
        TRAIN,
        "Evaluate trained agents without training, also on other objects.",
        ("runs/disc_small --set task.num_distractors=20", "runs/objects --objects other.csv --json"),
    ),
    "cross-play": Entry(
        TRAIN,
        "Let every sender of some runs talk to every receiver.",
        ("runs/a runs/b --plot cross_play.svg", "runs/society --json"),
    ),
    "audit": Entry(
        TRAIN,
        "Test whether agents that act, or agents of a log, use messages.",
        (
            "runs/speaker_listener --plot audit.svg",
            "runs/speaker_listener --episodes 2000 --json",
            "log.csv --column move=action",
        ),
    ),
    "sweep": Entry(
        TRAIN,
        "Train and score a game with many settings and seeds.",
        ("study.yaml --plan", "study.yaml --on local:8 --out runs/study"),
    ),
    "work": Entry(
        TRAIN,
        "Start a worker, also on a cluster, for commands with --on workers.",
        ("runs/study/jobs", "shared/icy --minutes 110 --trust mine.py"),
    ),
    "grammar": Entry(
        LANGUAGES,
        "Write an artificial language as a corpus.",
        (
            "shufdet --out runs/shufdet && ecsuite score runs/shufdet",
            "rot+perm --num-attributes 3 --num-values 8",
            "zipf_parentheses --num-symbols 100000",
        ),
    ),
    "show": Entry(
        LANGUAGES,
        "Show a language, learning curves, or rounds of a game.",
        (
            "runs/disc_small --plot language.svg",
            "messages.jsonl",
            "thing_qt --set world.rule_length=2 --rounds 4",
        ),
    ),
    "convert": Entry(
        LANGUAGES,
        "Write a corpus in the format of another tool.",
        ("runs/disc_small messages.csv --to csv", "runs/disc_small messages.jsonl --to elcc"),
    ),
    "push": Entry(
        LANGUAGES,
        "Upload a run, a corpus or results to the Hugging Face hub.",
        (
            "runs/disc_small hf:OWNER/NAME --license cc-by-4.0 --plan",
            "runs/study hf:OWNER/NAME --license cc-by-4.0 --no-agents",
        ),
    ),
    "pull": Entry(
        LANGUAGES,
        "Download what push uploaded, and verify every file.",
        ("hf:OWNER/NAME", "hf:OWNER/NAME@1a2b3c4d other"),
    ),
    "score": Entry(
        MEASURE,
        "Score a corpus: compositionality, words, entropies, XferBench.",
        (
            "runs/disc_small",
            "messages.jsonl --metrics topsim,posdis,cbm",
            "runs/disc_small --metrics xferbench,num_seeds=3 --out scores.json",
        ),
    ),
    "score reference": Entry(
        MEASURE,
        "XferBench scores of reference sources: human text, parentheses, noise.",
        ("random,num_seeds=3", "human --text fr.txt.gz --out french.json"),
        place="reference:reference",
    ),
    "icy": Entry(
        MEASURE,
        "How fast an architecture learns compositional languages (ICY).",
        (
            "--model gru --seeds 2",
            "--model lstm --model husendz:dgsend --seeds 10 --out rows.json",
            "paper/icy_table3 --plan",
        ),
    ),
    "translate": Entry(
        MEASURE,
        "Pretrain on a corpus, fine-tune on translation; chrF and BLEU.",
        ("runs/disc_small --pairs en-fr.tsv", "runs/disc_small --pairs en-fr.tsv --setting frozen --plan"),
    ),
    "xtreme": Entry(
        MEASURE,
        "Pretrain on a corpus, fine-tune on XTREME's tasks.",
        (
            "runs/disc_small --tasks udpos,panx --data DIR",
            "--baselines",
            "--model bert-base-multilingual-cased",
        ),
    ),
    "xtreme evaluate": Entry(
        MEASURE,
        "Score predictions as XTREME's own program does.",
        ("--predictions mine --labels labels", "--predictions mine --labels labels --languages available"),
    ),
    "cbm": Entry(
        MEASURE,
        "The games and tables of the CBM paper.",
        ("paper/cbm_table1 --row thing_gs --row thing_qt --seeds 1", "paper/cbm_table1 --plan"),
    ),
    "xferbench": Entry(
        MEASURE,
        "The sources and tables of the XferBench paper.",
        ("--plan", "--targets texts --plot figure2.svg", "--preset full --targets texts --plan"),
    ),
    "reproduce": Entry(
        MEASURE,
        "List claims of published work with verdicts, or rerun a claim.",
        ("", "perkins2021_husendz --plan", "perkins2021_husendz --small"),
    ),
    "compare": Entry(
        COMPARE,
        "Compare scores; tables, correlations, numbers of seeds.",
        ("a.json b.json french.json", "runs/a runs/b --metric topsim --out differences.json"),
    ),
    "compare table": Entry(
        COMPARE,
        "A table of many runs, means over seeds, and pictures of sweeps.",
        (
            "runs/study --as latex",
            "runs/study --by channel.kind --metrics accuracy,topsim",
            "runs/study --plot heat.svg --kind heat --measure topsim",
        ),
        place="table:table",
    ),
    "compare correlations": Entry(
        COMPARE,
        "Correlations of scores over many corpora, or of XferBench with translation.",
        ("a.json b.json --translation a_mt.json --translation b_mt.json", "--paper"),
        place="correlations:correlations",
    ),
    "compare power": Entry(
        COMPARE,
        "Number of seeds that finds a difference, from your runs.",
        ("runs/a-* --metric topsim --effect 0.05", "runs/study --metric accuracy --power 0.9"),
        place="power:power",
    ),
    "report": Entry(
        COMPARE,
        "One HTML page about runs: tables, pictures, messages.",
        ("runs/study", "runs/study --base channel.kind=gumbel --out study.html", "runs/a runs/b scores.json"),
    ),
    "cite": Entry(
        COMPARE,
        "BibTeX of the works behind a run, a game, a study or a metric.",
        ("runs/disc_small", "disc_small topsim posdis > references.bib"),
    ),
    "methods": Entry(
        COMPARE,
        "The methods section of a paper: game, agents, seeds, metrics.",
        ("runs/disc_small", "runs/study --as latex --bib references.bib"),
    ),
    "verify": Entry(
        COMPARE,
        "Recompute the results of a run, a corpus or a sweep.",
        ("runs/disc_small", "runs/study --json", "runs/disc_small --accept"),
    ),
    "people": Entry(
        PEOPLE,
        "Studies in which people learn languages on a web page.",
        ("try shufdet", "serve study.yaml --port 8000", "report study.yaml --plot curves.png"),
        place=None,
    ),
    "people try": Entry(
        PEOPLE,
        "Play the game yourself.",
        ("shufdet", "concat --dataset eng --protocol published"),
        place="people:try_grammar",
    ),
    "people play": Entry(
        PEOPLE,
        "Learn the language of trained agents.",
        ("runs/disc_small", "runs/disc_small --role sender"),
        place="people:play_run",
    ),
    "people serve": Entry(
        PEOPLE, "Let people take part in a study.", ("study.yaml --port 8000",), place="people:serve_study"
    ),
    "people new": Entry(
        PEOPLE,
        "Write a study file, and texts of consent and instructions.",
        ("study.yaml --kind pairs",),
        place="people:new_study",
    ),
    "people simulate": Entry(
        PEOPLE, "Let programs take part in a study.", ("study.yaml",), place="people:simulate"
    ),
    "people status": Entry(
        PEOPLE, "Show the number of participants.", ("study.yaml",), place="people:status"
    ),
    "people report": Entry(
        PEOPLE,
        "Tables with the paper's figures, and tests.",
        ("study.yaml --plot curves.png",),
        place="people:report",
    ),
    "people export": Entry(
        PEOPLE, "Export answers as tables and corpora.", ("study.yaml --out data",), place="people:export"
    ),
    "people forget": Entry(PEOPLE, "Delete the data of a participant.", ("TOKEN",), place="people:forget"),
    "data": Entry(
        PEOPLE,
        "Download data of benchmarks; write features of images.",
        ("wikipedia --languages da", "wmt14 --pairs 100000", "xtreme --tasks udpos,panx"),
        place=None,
    ),
    "data wikipedia": Entry(
        PEOPLE, "Articles of XferBench's target languages.", ("--languages da",), place="data:wikipedia"
    ),
    "data wmt14": Entry(
        PEOPLE, "English-French sentence pairs for translate.", ("--pairs 100000",), place="data:wmt14"
    ),
    "data xtreme": Entry(PEOPLE, "The nine tasks of xtreme.", ("--tasks udpos,panx",), place="data:xtreme"),
    "data wcs": Entry(
        PEOPLE,
        "The World Color Survey: colours, and how 110 languages name them.",
        ("--out survey",),
        place="data:wcs",
    ),
    "data smollm2": Entry(PEOPLE, "A small language model.", ("--out models",), place="data:smollm2"),
    "data elcc": Entry(
        PEOPLE, "The Emergent Language Corpus Collection.", ("--systems rlupus",), place="data:elcc"
    ),
    "data features": Entry(
        PEOPLE,
        "Write a file of feature vectors from your images, or synthetic ones.",
        ("birds.npz --images photos && ecsuite train-game mu_cub --features birds.npz", "synthetic.npz"),
        place="features:features",
    ),
    "list": Entry(
        OWN,
        "List games, agents, channels, metrics, ... and their options.",
        ("", "channels", "channel gumbel"),
        place="list:list_names",
    ),
    "new": Entry(
        OWN,
        "Write a template of your own channel, metric, ..., with a test.",
        ("channel noisy.py && ecsuite check ./noisy.py:Noisy", "metric my_metric.py"),
    ),
    "check": Entry(
        OWN,
        "Test your own channel, metric, ..., in a small game.",
        ("./noisy.py:Noisy", "./noisy.py:Noisy,confusion=0.1 --json"),
    ),
}
"""Commands in the order of `ecsuite --help`, each followed by its subcommands."""


def commands_of(name: str = "") -> dict[str, Entry]:
    """The subcommands of a command by their last words; without a name, the top-level commands."""
    return {
        each.removeprefix(f"{name} "): COMMANDS[each] for each in COMMANDS if each.rpartition(" ")[0] == name
    }
