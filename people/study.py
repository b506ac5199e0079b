"""Settings and texts of a study, read from its YAML file and validated; templates of study files."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from ecsuite.eval.results.sources import PEOPLE, PROGRAMS
from ecsuite.files.atomic_files import write_atomically
from ecsuite.grammars.icy import canonical
from ecsuite.parts.config import (
    Count,
    Levels,
    Natural,
    Rate,
    Seed,
    build,
    decoded,
    read_yaml,
    refuse_unread,
    require_folder_name,
    unread,
)
from ecsuite.parts.registry import option_docs
from ecsuite.parts.strict_yaml import as_yaml
from ecsuite.people.objects import DATASETS, make_codes
from ecsuite.runtime.errors import ConfigError, look_up, missing_extra

INSTRUCTIONS, QUIZ_STAGE, WAITING, GAME, QUESTIONS_STAGE, FINISHED = (
    "instructions",
    "quiz",
    "waiting",
    "game",
    "questions",
    "finished",
)
"""Stages of a participant in order, after the consent page; only pairs have the stage of waiting."""
LEFT, AWAY = "left", "away"
"""Stages of pairs that ended early: the participant's partner has left; the participant was away."""
AGENTS, CHAIN, PAIR, ROUNDS = "agents", "chain", "pair", "rounds"
"""Protocols of games with trained agents, chains of participants, pairs of people, and games of rounds."""
TEXTS = ("consent", "instructions", "debriefing", "waited", "left")
"""Settings that name Markdown files."""
ANY_NUMBER = 1_000_000
"""Value of `participants` for a study without a fixed end."""
CAN_CHANGE = (
    "name",
    "participants",
    *TEXTS,
    "platform",
    "completion_code",
    "return_url",
    "begin_minutes",
    "starts_per_minute",
    "chains",
    "generations",
    "wait_minutes",
    "waited_code",
    "pairs",
    "turn_seconds",
    "partner_seconds",
    "left_code",
)
"""Settings that may change while a study runs: no answer depends on them."""
CODES, WITH_RUN, WITH_CHAINS, WITH_PAIRS, WITH_PLAY = (
    "a study of codes",
    "a study with run",
    "a study with chains",
    "a study with pairs",
    "a study with play",
)
READS = {
    CODES: ("grammars", "datasets", "participants", "protocol", "min_score", "min_accuracy"),
    WITH_RUN: ("roles", "participants"),
    WITH_PLAY: ("participants",),
    WITH_CHAINS: ("grammars", "datasets", "generations", "seen", "passes", "drops_homonyms", "wait_minutes", "waited",
                  "waited_code"),
    WITH_PAIRS: ("datasets", "rounds", "choices", "turn_seconds", "partner_seconds", "wait_minutes", "waited",
                 "waited_code", "left", "left_code"),
}  # fmt: skip
"""Settings that only some kinds of studies read, by kind."""
EXAMPLES: dict[str, dict[str, Any]] = {
    "codes": {},
    "agents": {"run": "runs/disc_small"},
    "chains": {"chains": 4, "grammars": ("hol",), "datasets": ("eng",), "seen": 12, "idle_minutes": 10},
    "pairs": {"pairs": 20, "datasets": ("synth",), "begin_minutes": 5},
    "rounds": {"play": "naming"},
}
"""Settings of the templates that differ from the defaults."""
TO_FILL_IN = """
**Who is responsible:** [names, institution, and how to reach them before and after taking part]

**Pay:** [how much, when, and how much if participants wait too long, stop early, or lose their partner]

**Where answers are stored:** [where, for how long, who can read them, and whether they are published]

**Approved by:** [board and number of its decision]
"""
"""Parts of the consent text that the researcher fills in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Study:
    """The settings of a study, as in its YAML file."""

    name: str
    """Name of the folder in `runs/` that holds the answers."""
    grammars: tuple[str, ...] = ("concat", "perm", "proj", "rot", "shufdet")
    """Languages; each participant learns one."""
    datasets: tuple[Literal["synth", "eng"], ...] = ("synth", "eng")
    """`synth`: 3 colours and 3 shapes, random words; `eng`: 5 colours and 5 shapes, English abbreviations."""
    participants: Count = 18
    """Number of participants for each grammar in each dataset."""
    protocol: Literal["balanced", "published"] = "balanced"
    """`balanced`, or `published`, which reproduces the paper's program."""
    run: str = ""
    """Run folder of trained agents whose language is learned; replaces `grammars`, `datasets` and `protocol`."""
    roles: tuple[Literal["receiver", "sender"], ...] = ("receiver",)
    """Roles in the game with the agents of `run`; each participant has one role."""
    play: str = ""
    """Name or file of a game of rounds, in which each participant replaces an agent."""
    chains: Natural = 0
    """Number of chains for each grammar in each dataset; the grammar makes the first language; 0: no chains."""
    generations: Count = 10
    """Number of participants in a chain; each learns the codes that the previous participant typed."""
    seen: Levels = 5
    """Number of objects whose codes a participant of a chain is taught; all objects are tested."""
    passes: Count = 3
    """Number of times that each taught object is asked before the test; the first pass shows the codes."""
    drops_homonyms: bool = False
    """Whether only one of the objects with the same code is taught."""
    pairs: Natural = 0
    """Number of pairs of people per dataset who play a signalling game with each other; 0: no pairs."""
    rounds: Count = 40
    """Number of rounds of a pair; the two participants alternate as speaker."""
    choices: Annotated[int, Meta(ge=2, le=9)] = 4
    """Number of objects that the listener chooses from."""
    turn_seconds: Count = 120
    """Maximum duration of a turn in a pair, in seconds; after it, the game ends for the partner, too."""
    partner_seconds: Count = 60
    """Maximum time in seconds without a connection to a participant's page; after it, the pair's game ends."""
    wait_minutes: Count = 10
    """Maximum time in minutes that a visitor waits for a free place in a chain, or for a partner."""
    seed: Seed = 0
    """Seed of the assignment and of every participant's game."""
    consent: str = ""
    """Markdown file of the first page; empty: the shipped text."""
    instructions: str = ""
    """Markdown file of the instructions; empty: the shipped text."""
    debriefing: str = ""
    """Markdown file of the last page; empty: the shipped text."""
    waited: str = ""
    """Markdown file of the page after the maximum waiting time; empty: the shipped text."""
    left: str = ""
    """Markdown file of the page for participants whose partner has left; empty: the shipped text."""
    platform: Literal["none", "prolific", "mturk"] = "none"
    """Recruitment platform; it determines the URL parameter with the participant's ID."""
    worker_ids: Literal["hashed", "plain", "none"] = "hashed"
    """How the platform's participant IDs are stored."""
    completion_code: str = ""
    """Code that participants enter at the platform."""
    waited_code: str = ""
    """Completion code for visitors after the maximum waiting time."""
    left_code: str = ""
    """Completion code for participants whose partner has left."""
    return_url: str = ""
    """URL that the last page links to, such as Prolific's; `{code}` in it is replaced by the completion code."""
    min_score: float = 50.0
    """The paper's rule: participants with a lower score are excluded."""
    min_accuracy: Rate = 0.5
    """The preregistered rule: minimum share of right answers to unlocked objects, with a passed attention check."""
    idle_minutes: Count = 60
    """Minutes without an answer after which a participant counts as dropped out, and the place becomes free."""
    begin_minutes: Count = 15
    """Minutes without an action after which the place of a visitor who has not begun the game becomes free."""
    starts_per_minute: Count = 120
    """Maximum number of participants who can start from one network address in a minute."""
    simulated: bool = False
    """Whether the participants are programs; all outputs then state it."""

    def __post_init__(self) -> None:
        """Validate the settings.

        Raises:
            ConfigError: If a value or a combination of values is not valid.
        """
        if not self.grammars or not self.datasets or not self.roles:
            raise ConfigError("expected at least one name each in grammars, datasets and roles")
        listed = {
            "grammars": tuple(map(canonical, self.grammars)),
            "datasets": self.datasets,
            "roles": self.roles,
        }
        for kind, names in listed.items():
            if len(set(names)) < len(names):
                raise ConfigError(f"{kind}: a name is given twice: {', '.join(names)}")
        if sum(map(bool, (self.run, self.play, self.chains, self.pairs))) > 1:
            raise ConfigError("expected at most one of run, play, chains and pairs")
        changed = {each.name: each.name for each in fields(self) if getattr(self, each.name) != each.default}
        refuse_unread(self.kind, [self.kind], changed, READS)
        for dataset in self.datasets:
            if self.chains and self.seen > DATASETS[dataset].num_objects:
                raise ConfigError(
                    f"seen: expected at most the {DATASETS[dataset].num_objects} objects of {dataset}"
                )
            for grammar in self.grammars:
                make_codes(dataset, grammar, 0)
        if self.return_url and not self.return_url.startswith(("https://", "http://")):
            raise ConfigError(f"return_url: expected a URL that begins with https://, got {self.return_url}")
        if self.platform != "none" and self.worker_ids == "none":
            raise ConfigError(
                f"worker_ids: expected hashed or plain, got none: participants of {self.platform} could take part twice"
            )
        require_folder_name(self.name, "name")
        if set(self.name) & set(':*?"<>|') or self.name.startswith("."):
            raise ConfigError(f"name: expected the name of a folder, got {self.name!r}")

    @property
    def kind(self) -> str:
        """One of `READS`."""
        if self.run or self.play:
            return WITH_RUN if self.run else WITH_PLAY
        return WITH_CHAINS if self.chains else WITH_PAIRS if self.pairs else CODES

    @property
    def speakers(self) -> tuple[str, str]:
        """Metadata `speaker` of a corpus of one participant, and of a corpus of several participants."""
        return PROGRAMS if self.simulated else PEOPLE

    @property
    def wanted(self) -> int:
        """Number of participants per condition in a study without chains."""
        return 2 * self.pairs if self.pairs else self.participants

    @property
    def conditions(self) -> list[tuple[str, str]]:
        """All conditions: (dataset, grammar), or (dataset, `pair`) in pairs.

        In a game with agents: (`agents`, role); in a game of rounds: (`rounds`, game).
        """
        if self.run:
            return [(AGENTS, role) for role in self.roles]
        if self.play:
            return [(ROUNDS, Path(self.play).stem)]
        if self.pairs:
            return [(dataset, PAIR) for dataset in self.datasets]
        return [(dataset, grammar) for dataset in self.datasets for grammar in self.grammars]

    @property
    def played_protocol(self) -> str:
        """Protocol of the game: `agents`, `chain`, `pair`, `rounds` or the setting `protocol`."""
        protocols = {WITH_RUN: AGENTS, WITH_CHAINS: CHAIN, WITH_PAIRS: PAIR, WITH_PLAY: ROUNDS}
        return protocols.get(self.kind, self.protocol)

    def place_seconds(self, has_begun: bool) -> float:
        """Time in seconds without an action after which a participant's place becomes free.

        Args:
            has_begun: Whether the game has begun.
        """
        return 60.0 * (self.idle_minutes if has_begun else self.begin_minutes)

    def keeps_place(self, row: Mapping[str, Any], now: float) -> bool:
        """Whether a participant, given as a database row, is still active; `now` is in seconds since 1970."""
        was_seen = row["last_seen"] >= now - self.place_seconds(row["shown_at"] is not None)
        return bool(was_seen) and row["stage"] not in (LEFT, AWAY)

    def as_json(self) -> dict[str, Any]:
        """The settings, with the content of the texts."""
        return asdict(self)


def read_study(file: Path) -> Study:
    """Read a study file and its Markdown files, whose paths are relative to the study file.

    Returns:
        The study, with texts instead of file names.

    Raises:
        ConfigError: If a setting or a file is not valid.
    """
    tree = read_yaml(str(file), "study", {})
    study: Study = build(Study, tree, str(file))
    texts: dict[str, Any] = {}
    for key in TEXTS:
        if name := getattr(study, key):
            path = file.parent / name
            try:
                texts[key] = decoded(path.read_bytes(), path)
            except OSError as error:
                raise ConfigError(
                    f"{file}: {key}: {path} can't be read: {error.strerror}; expected a Markdown file"
                ) from None
    return with_texts(replace(study, **texts))


def require_filled_in(study: Study, file: Path) -> None:
    """Raise `ConfigError` if a line of the consent template is not filled in."""
    left = [line for line in study.consent.splitlines() if line.strip() and line in TO_FILL_IN.splitlines()]
    if left:
        raise ConfigError(
            f"{file}: consent: fill in {left[0]} before you serve the study; ecsuite people try {file} shows the pages"
        )


def shipped_texts(protocol: str) -> dict[str, str]:
    """Texts of a protocol by setting: for example `chain_consent.md` if it exists, otherwise `consent.md`."""
    folder = resources.files("ecsuite.people").joinpath("pages")
    texts = {}
    for key in TEXTS:
        specific = folder.joinpath(f"{protocol}_{key}.md")
        texts[key] = (specific if specific.is_file() else folder.joinpath(f"{key}.md")).read_text("utf-8")
    return texts


def with_texts(study: Study) -> Study:
    """Fill in the shipped texts for all texts that the study does not set."""
    shipped, without = shipped_texts(study.played_protocol), unread(TEXTS, [study.kind], READS)
    texts: dict[str, Any] = {key: getattr(study, key) or shipped[key] for key in TEXTS if key not in without}
    return replace(study, **texts)


def require_same(stored: Study, study: Study, folder: Path) -> None:
    """Check that a study still has the settings under which its answers were collected.

    Raises:
        ConfigError: If the kind differs, or a setting that is not in `CAN_CHANGE`.
    """
    if stored.kind != study.kind:
        raise ConfigError(
            f"{folder}: has answers of another study: {stored.kind}, not {study.kind}; choose another name in the "
            "study file"
        )
    for key, value in asdict(stored).items():
        if key not in CAN_CHANGE and (other := getattr(study, key)) != value:
            raise ConfigError(
                f"{folder}: has answers of another study: {key} is {value} there and {other} now; "
                "choose another name in the study file"
            )


def as_html(markdown: str) -> str:
    """Convert Markdown to HTML; HTML in it is escaped.

    Raises:
        ConfigError: If the extra is not installed.
    """
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise missing_extra("a study with people needs markdown-it-py", "people") from None
    return str(MarkdownIt("commonmark", {"html": False}).render(markdown))


def write_template(kind: str, file: Path) -> list[Path]:
    """Write a study file and its texts.

    Args:
        kind: One of `EXAMPLES`.
        file: The study file; texts are written next to it, such as `study_consent.md`.

    Returns:
        The written files.

    Raises:
        ConfigError: If the name has another ending than .yaml or .yml, or a file exists already.
    """
    settings = look_up("kind", kind, EXAMPLES)
    if file.suffix not in (".yaml", ".yml"):
        raise ConfigError(f"{file}: expected a name for a study file, such as study.yaml")
    study = with_texts(Study(name=file.stem, **settings))
    contents: dict[Path, str] = {}
    names: dict[str, Any] = {}
    for key in TEXTS:
        if text := getattr(study, key):
            names[key] = f"{file.stem}_{key}.md"
            contents[file.with_name(names[key])] = text + (TO_FILL_IN if key == "consent" else "")
    contents = {file: _settings(replace(study, **names)), **contents}
    for each in contents:
        if each.exists():
            raise ConfigError(f"{each}: exists already: choose another name")
    file.parent.mkdir(parents=True, exist_ok=True)
    for each, text in contents.items():
        write_atomically(each, text.encode())
    return list(contents)


def _settings(study: Study) -> str:
    """YAML of the settings that a study reads, with a line of documentation each; defaults are commented out."""
    lines = ["# Settings that begin with # have their defaults; see docs/people.md.", ""]
    docs, default = option_docs(Study), {each.name: each.default for each in fields(study)}
    for name in default:
        if name == "name" or unread([name], [study.kind], READS):  # the name is the file's
            continue
        value = getattr(study, name)
        is_default = value == default[name]
        if is_default and name in ("run", "play", "chains", "pairs"):  # settings of other kinds of studies
            continue
        is_list = isinstance(value, tuple)
        text = (
            f"{name}: {as_yaml(list(value), default_flow_style=True)}" if is_list else as_yaml({name: value})
        )
        lines += [f"# {docs[name]}", f"{'# ' if is_default else ''}{text.strip()}"]
    return "\n".join(lines) + "\n"
