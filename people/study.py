"""Settings of a study, read from its YAML file and checked; its texts; and templates of study files."""

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
"""Stages of a participant in their order, after the page of consent; only members of pairs wait."""
LEFT, AWAY = "left", "away"
"""Stages of pairs that ended early: the partner of this participant has left; this participant was away."""
AGENTS, CHAIN, PAIR, ROUNDS = "agents", "chain", "pair", "rounds"
"""Protocols of games with trained agents, chains of participants, pairs of people, and plays of rounds."""
TEXTS = ("consent", "instructions", "debriefing", "waited", "left")
"""Settings that name Markdown files."""
ANY_NUMBER = 1_000_000
"""Participants of a study that ends when it is ended."""
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
"""Settings that each kind of study reads in addition to those of all kinds."""
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

**Pay:** [how much, when, and what those get who wait too long, stop, or whose partner leaves]

**Where answers are kept:** [where, for how long, who can read them, and whether they are published]

**Approved by:** [board and number of its decision]
"""
"""Parts of a text of consent to be filled in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Study:
    """The settings of a study, as in its YAML file."""

    name: str
    """Name of the folder in `runs/` that holds the answers."""
    grammars: tuple[str, ...] = ("concat", "perm", "proj", "rot", "shufdet")
    """Languages; each participant learns one."""
    datasets: tuple[Literal["synth", "eng"], ...] = ("synth", "eng")
    """`synth`: 3 colours and 3 shapes, drawn words; `eng`: 5 and 5, English abbreviations."""
    participants: Count = 18
    """Participants wanted for each grammar in each dataset."""
    protocol: Literal["balanced", "published"] = "balanced"
    """`balanced`, or `published` as the paper's program."""
    run: str = ""
    """Run folder of trained agents whose language is learned, in place of `grammars`, `datasets` and `protocol`."""
    roles: tuple[Literal["receiver", "sender"], ...] = ("receiver",)
    """Roles that participants take in the game with the agents of `run`; each takes one."""
    play: str = ""
    """Game of rounds, by its name or its file, in which each participant takes the place of an agent."""
    chains: Natural = 0
    """Chains of participants for each grammar in each dataset, the language of the first; 0: there are no chains."""
    generations: Count = 10
    """Participants of a chain, each of whom learns what the one before typed."""
    seen: Levels = 5
    """Objects whose codes a participant of a chain is taught; all objects are tested."""
    passes: Count = 3
    """How often each of these is asked before the test; the codes can be looked up in the first pass."""
    drops_homonyms: bool = False
    """Whether of objects with the same code one alone is taught."""
    pairs: Natural = 0
    """Pairs of people in each dataset who play a signalling game with each other; 0: there are none."""
    rounds: Count = 40
    """Rounds of a pair; in turns, one of the two speaks."""
    choices: Annotated[int, Meta(ge=2, le=9)] = 4
    """Objects among which the listener chooses."""
    turn_seconds: Count = 120
    """How long a turn of a pair takes at most; then the other one is told that the partner has left."""
    partner_seconds: Count = 60
    """How long the page of a partner may be closed, or without a connection; then the partner has left."""
    wait_minutes: Count = 10
    """How long a visitor waits for a place of a chain that becomes free, or for a partner."""
    seed: Seed = 0
    """Seed of the assignment and of every participant's game."""
    consent: str = ""
    """Markdown file of the first page; empty: the shipped text."""
    instructions: str = ""
    """Markdown file of the instructions; empty: the shipped text."""
    debriefing: str = ""
    """Markdown file of the last page; empty: the shipped text."""
    waited: str = ""
    """Markdown file of the page of those who waited too long; empty: the shipped text."""
    left: str = ""
    """Markdown file of the page of those whose partner has left; empty: the shipped text."""
    platform: Literal["none", "prolific", "mturk"] = "none"
    """Platform of the participants: it decides under which name links carry their ID."""
    worker_ids: Literal["hashed", "plain", "none"] = "hashed"
    """How IDs of the platform are stored."""
    completion_code: str = ""
    """Code that participants enter at the platform."""
    waited_code: str = ""
    """Code of those who waited too long."""
    left_code: str = ""
    """Code of those whose partner has left."""
    return_url: str = ""
    """Address to which the last page leads, such as Prolific's; in it, `{code}` is the code of that page."""
    min_score: float = 50.0
    """The paper's rule: participants with a lower score are left out."""
    min_accuracy: Rate = 0.5
    """The preregistered rule: least share of right answers to unlocked objects, beside a passed attention check."""
    idle_minutes: Count = 60
    """After so long without an answer a participant counts as dropped out, and the place is given away."""
    begin_minutes: Count = 15
    """After so long without an action a visitor who has agreed, but not begun the game, has no place any more."""
    starts_per_minute: Count = 120
    """Most participants that one address may start in a minute."""
    simulated: bool = False
    """Whether the participants are programs; then everything that is made of the answers says so."""

    def __post_init__(self) -> None:
        """Refuse what can't be run.

        Raises:
            ConfigError: If there is no language, an unknown one, or an address that is not one.
        """
        if not self.grammars or not self.datasets or not self.roles:
            raise ConfigError("expected at least one of grammars, one of datasets and one of roles")
        listed = {
            "grammars": tuple(map(canonical, self.grammars)),
            "datasets": self.datasets,
            "roles": self.roles,
        }
        for kind, names in listed.items():
            if len(set(names)) < len(names):
                raise ConfigError(f"{kind}: expected each once, got {', '.join(names)}")
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
            raise ConfigError(
                f"return_url: expected an address that begins with https://, got {self.return_url}"
            )
        if self.platform != "none" and self.worker_ids == "none":
            raise ConfigError(
                f"worker_ids: expected hashed or plain, got none: nobody on {self.platform} could be known again"
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
        """Speakers of a corpus of one of the participants, and of several."""
        return PROGRAMS if self.simulated else PEOPLE

    @property
    def wanted(self) -> int:
        """Participants of each condition, of a study without chains."""
        return 2 * self.pairs if self.pairs else self.participants

    @property
    def conditions(self) -> list[tuple[str, str]]:
        """All pairs of a dataset and a grammar (of pairs, `pair`).

        Of a game with agents, `agents` and the roles; of rounds, `rounds` and the game.
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
        """The protocol of the game: one of `PROTOCOLS`."""
        protocols = {WITH_RUN: AGENTS, WITH_CHAINS: CHAIN, WITH_PAIRS: PAIR, WITH_PLAY: ROUNDS}
        return protocols.get(self.kind, self.protocol)

    def place_seconds(self, has_begun: bool) -> float:
        """How long without an action a participant keeps the place.

        Args:
            has_begun: Whether the game has begun.
        """
        return 60.0 * (self.idle_minutes if has_begun else self.begin_minutes)

    def keeps_place(self, row: Mapping[str, Any], now: float) -> bool:
        """Whether a participant, who is given as stored, was seen lately; `now` is in seconds since 1970."""
        was_seen = row["last_seen"] >= now - self.place_seconds(row["shown_at"] is not None)
        return bool(was_seen) and row["stage"] not in (LEFT, AWAY)

    def as_json(self) -> dict[str, Any]:
        """The settings, with the texts themselves."""
        return asdict(self)


def read_study(file: Path) -> Study:
    """Read a study file and the Markdown files that it names, relative to it.

    Returns:
        The study, with the texts in place of the names of files.

    Raises:
        ConfigError: If it can't be used; the message names the place.
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
    """Raise `ConfigError` if the consent still has a line of the template to be filled in."""
    left = [line for line in study.consent.splitlines() if line.strip() and line in TO_FILL_IN.splitlines()]
    if left:
        raise ConfigError(
            f"{file}: consent: expected {left[0]} to be filled in before people are asked; "
            f"ecsuite people try {file} shows the pages"
        )


def shipped_texts(protocol: str) -> dict[str, str]:
    """The texts of a protocol's game, by setting of a study: `chain_consent.md`, or `consent.md` where that is not."""
    folder = resources.files("ecsuite.people").joinpath("pages")
    texts = {}
    for key in TEXTS:
        specific = folder.joinpath(f"{protocol}_{key}.md")
        texts[key] = (specific if specific.is_file() else folder.joinpath(f"{key}.md")).read_text("utf-8")
    return texts


def with_texts(study: Study) -> Study:
    """The study with the shipped texts where it has none of its own."""
    shipped, without = shipped_texts(study.played_protocol), unread(TEXTS, [study.kind], READS)
    texts: dict[str, Any] = {key: getattr(study, key) or shipped[key] for key in TEXTS if key not in without}
    return replace(study, **texts)


def require_same(stored: Study, study: Study, folder: Path) -> None:
    """Refuse to go on with a study whose settings differ from those that its answers were given under.

    Raises:
        ConfigError: If it is of another kind, or a setting differs that may not change.
    """
    if stored.kind != study.kind:
        raise ConfigError(
            f"{folder}: holds answers to another study: it is {stored.kind} there, and {study.kind} now; choose "
            "another name in the study file"
        )
    for key, value in asdict(stored).items():
        if key not in CAN_CHANGE and (other := getattr(study, key)) != value:
            raise ConfigError(
                f"{folder}: holds answers to another study: {key} is {value} there and {other} now; "
                "choose another name in the study file"
            )


def as_html(markdown: str) -> str:
    """Markdown as HTML; HTML in it is shown as text.

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
        file: The study file; texts are written beside it, such as `study_consent.md`.

    Returns:
        What was written.

    Raises:
        ConfigError: If the name is none of a YAML file, or a file is there already.
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
            raise ConfigError(f"{each} is there already: choose another name")
    file.parent.mkdir(parents=True, exist_ok=True)
    for each, text in contents.items():
        write_atomically(each, text.encode())
    return list(contents)


def _settings(study: Study) -> str:
    """The settings that a study reads as YAML, each below its line of docs; those that are defaults are comments."""
    lines = ["# Settings that begin with # have their defaults; docs/people.md.", ""]
    docs, default = option_docs(Study), {each.name: each.default for each in fields(study)}
    for name in default:
        if name == "name" or unread([name], [study.kind], READS):  # the name is the file's
            continue
        value = getattr(study, name)
        is_default = value == default[name]
        if is_default and name in ("run", "play", "chains", "pairs"):  # these make it another kind of study
            continue
        is_list = isinstance(value, tuple)
        text = (
            f"{name}: {as_yaml(list(value), default_flow_style=True)}" if is_list else as_yaml({name: value})
        )
        lines += [f"# {docs[name]}", f"{'# ' if is_default else ''}{text.strip()}"]
    return "\n".join(lines) + "\n"
