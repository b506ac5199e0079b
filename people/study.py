"""A study: which languages, how many people, which protocol and texts. Frozen, checked when it is read."""

from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from ecsuite.grammars.icy import canonical
from ecsuite.parts.config import Count, Seed, build, decoded, read_yaml
from ecsuite.people.objects import make_codes
from ecsuite.people.protocols import AGENTS
from ecsuite.people.texts import AGENTS_TEXTS, DEFAULT_TEXTS
from ecsuite.runtime.errors import ConfigError

Rate = Annotated[float, Meta(ge=0, le=1)]
TEXTS = ("consent", "instructions", "debriefing")
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
)
"""Settings that may change while a study runs: no answer depends on them."""


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
    seed: Seed = 0
    """Seed of the assignment and of every participant's game."""
    consent: str = ""
    """Markdown file of the first page; empty: the shipped text."""
    instructions: str = ""
    """Markdown file of the instructions; empty: the shipped text."""
    debriefing: str = ""
    """Markdown file of the last page; empty: the shipped text."""
    platform: Literal["none", "prolific", "mturk"] = "none"
    """Where participants come from: it decides under which name links carry their ID."""
    worker_ids: Literal["hashed", "plain", "none"] = "hashed"
    """How IDs of the platform are stored."""
    completion_code: str = ""
    """Code that participants enter at the platform."""
    return_url: str = ""
    """Where the last page leads, such as Prolific's address with the code."""
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
        if self.run:
            defaults = {each.name: each.default for each in fields(self)}
            for key in ("grammars", "datasets", "protocol"):
                if getattr(self, key) != defaults[key]:
                    raise ConfigError(f"{key}: not read where participants play with the agents of a run")
        elif self.roles != ("receiver",):
            raise ConfigError("roles: expected together with run, the folder of trained agents")
        for dataset in self.datasets:
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
        if not self.name or set(self.name) & set('/\\:*?"<>|') or self.name.startswith("."):
            raise ConfigError(f"name: expected the name of a folder, got {self.name!r}")

    @property
    def conditions(self) -> list[tuple[str, str]]:
        """All pairs of a dataset and a grammar; of a game with agents, `agents` and the roles."""
        if self.run:
            return [(AGENTS, role) for role in self.roles]
        return [(dataset, grammar) for dataset in self.datasets for grammar in self.grammars]

    @property
    def played_protocol(self) -> str:
        """The protocol of the game: one of `PROTOCOLS`."""
        return AGENTS if self.run else self.protocol

    def place_seconds(self, has_begun: bool) -> float:
        """How long without an action a participant keeps the place.

        Args:
            has_begun: Whether the game has begun.
        """
        return 60.0 * (self.idle_minutes if has_begun else self.begin_minutes)

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


def with_texts(study: Study) -> Study:
    """The study with the shipped texts where it has none of its own."""
    shipped = AGENTS_TEXTS if study.run else DEFAULT_TEXTS
    texts: dict[str, Any] = {key: getattr(study, key) or shipped[key] for key in TEXTS}
    return replace(study, **texts)


def require_same(stored: Study, study: Study, folder: Path) -> None:
    """Refuse to go on with a study whose settings differ from those that its answers were given under.

    Raises:
        ConfigError: If a setting differs that may not change.
    """
    for key, value in asdict(stored).items():
        if key not in CAN_CHANGE and (other := getattr(study, key)) != value:
            raise ConfigError(
                f"{folder}: holds answers to another study: {key} is {value} there and {other} now; "
                "choose another name in the study file"
            )
