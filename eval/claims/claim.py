"""The file of a claim: what was published, what is run here, and the criterion that decides, stated beforehand."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from typing import Any, Literal

from ecsuite.eval.claims.criterion import Criterion, read_criterion
from ecsuite.eval.claims.sections import read_section
from ecsuite.eval.experiments.grids import CBM, ICY, SWEEP, at
from ecsuite.parts.config import Natural, Seed, checked, read_yaml, shipped_configs
from ecsuite.runtime.errors import ConfigError, look_up, shown

FOLDER = "claims"
"""The folder of `configs/` with the shipped claims."""
SEEDS = tuple(range(101, 111))
"""The seeds of a claim that names no others; nothing else uses them."""
OF_CORPORA = "collection"
"""The key of a study of corpora that are there: each is a run, numbered from 1 where others have their seeds."""
STUDIES = {"sweep": SWEEP, "icy": ICY, "cbm": CBM, OF_CORPORA: SWEEP}
"""The files of the studies that a claim may have."""
OF_CLAIM = "claim"
"""The key of a study that is that of another claim."""
KINDS = (*STUDIES, OF_CLAIM)
"""What a study may be."""
DECIDES = ("study", "seeds", "size", "success", "criterion")
"""The keys that decide the verdict, and are fixed before the runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """Where a claim is from."""

    work: str
    """The key of the work in `citations.yaml`."""
    place: str
    """Section, table or figure."""
    read: Literal["paper", "program", "secondary", "memory"]
    """What the setting and the figures were read in; secondary: another paper; memory: nothing was at hand."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pilots:
    """Runs before the criterion was fixed."""

    seeds: tuple[Seed, ...]
    """Their seeds, none of which is one of the claim."""
    runs: Natural
    """How many there were."""
    about: str = ""
    """What was tried."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Success:
    """The paper's own rule for which runs count."""

    measure: str
    """A figure of a run."""
    at_least: float
    """The least value of a run that counts."""
    about: str
    """The rule in words, with its place."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A claim; the keys of its YAML file."""

    name: str
    """The name of its file."""
    about: str
    """The claim in a line, with its source."""
    source: Work
    """Where it is from."""
    claim: str
    """What the source says."""
    published: Mapping[str, Any]
    """The published setting."""
    ours: Mapping[str, Any]
    """The setting here, by the same keys."""
    differences: tuple[str, ...]
    """What differs, one by one."""
    size: Literal["published", "other"]
    """Whether the published size is run."""
    study: Mapping[str, Any]
    """A command with a study as it takes it or the name of a shipped one, or `claim` with the name of one."""
    seeds: tuple[Seed, ...] = SEEDS
    """The seeds of all runs, also of the splits of data."""
    pilots: Pilots
    """Runs before."""
    success: Success | None = None
    """The paper's rule for which runs count; None: it has none."""
    criterion: Criterion
    """The one that decides."""
    descriptive: tuple[Criterion, ...] = ()
    """Further ones, which decide nothing."""
    published_figures: Mapping[str, Any] = field(default_factory=dict)
    """What the source prints."""
    hours: float | None = None
    """Hours of one core for all runs, as `--plan` measured them; None: not measured."""
    small: Mapping[str, Any] = field(default_factory=dict)
    """Changes of the study for a check of minutes, and its `seeds`."""
    decides: Mapping[str, Any]
    """What decides the verdict, with the content of the studies that are named."""

    @property
    def is_of_corpora(self) -> bool:
        """Whether its runs are corpora that are there."""
        return OF_CORPORA in self.decides["study"]

    @property
    def digest(self) -> str:
        """Of what decides, 16 hexadecimal digits: equal digests have equal verdicts from equal runs."""
        return hashlib.sha256(json.dumps(self.decides, sort_keys=True).encode()).hexdigest()[:16]


def shipped_claims() -> dict[str, Traversable]:
    """The shipped claims by name."""
    return shipped_configs(FOLDER)


def load_claim(name: str) -> Claim:
    """Read a shipped claim by its name, or a YAML file.

    Raises:
        ConfigError: If there is no such claim, or a key or a value is not valid; the message has the line.
    """
    tree = read_yaml(name, "claim", shipped_claims())
    return read_claim(tree, name)


def read_claim(tree: Mapping[str, Any], source: str) -> Claim:
    """A claim from the content of its file; messages begin with its source.

    Raises:
        ConfigError: If a key or a value is not valid.
    """
    nested: dict[str, Callable[[Any], Any]] = {
        "source": lambda each: read_section(Work, each, source, "source"),
        "pilots": lambda each: read_section(Pilots, each, source, "pilots"),
        "success": lambda each: None if each is None else read_section(Success, each, source, "success"),
        "criterion": lambda each: read_criterion(each, source, "criterion"),
        "descriptive": lambda each: tuple(
            read_criterion(one, source, "descriptive") for one in _listed(each, at(source, "descriptive"))
        ),
    }
    plain = {key: value for key, value in tree.items() if key not in nested}
    read = {key: make(tree[key]) for key, make in nested.items() if key in tree}
    claim: Claim = read_section(Claim, {**plain, "decides": decided_by(tree)}, source, given=read)
    checked(claim.small.get("seeds", []), tuple[Seed, ...], at(source, "small", "seeds"))
    _require_study(claim.study, source)
    if claim.is_of_corpora and "seeds" in {*tree, *claim.small}:
        raise ConfigError(f"{at(source, 'seeds')}: not read by a study of corpora, which are numbered from 1")
    if not claim.seeds or len(set(claim.seeds)) < len(claim.seeds):
        raise ConfigError(f"{at(source, 'seeds')}: expected different seeds, at least one")
    if both := sorted(set(claim.seeds) & set(claim.pilots.seeds)):
        raise ConfigError(f"{at(source, 'pilots')}: seed {both[0]} is one of the claim; pilots have others")
    if both := sorted(set(claim.seeds) & set(small_seeds(claim))):
        raise ConfigError(
            f"{at(source, 'small')}: seed {both[0]} is one of the claim: small: {{seeds: [...]}} names others"
        )
    if claim.criterion.sizes is not None and claim.size == "published":
        raise ConfigError(f"{at(source, 'criterion', 'sizes')}: only read with size: other")
    return claim


def small_seeds(claim: Claim) -> tuple[int, ...]:
    """The seeds of a check of minutes."""
    return tuple(claim.small.get("seeds", (1, 2)))


def decided_by(tree: Mapping[str, Any]) -> dict[str, Any]:
    """What decides the verdict, of the content of a file."""
    decides = {"seeds": list(SEEDS), **{key: tree[key] for key in DECIDES if key in tree}}
    return {**decides, "study": content_of(tree.get("study"))}


def content_of(study: Any) -> Any:
    """A study whose name is replaced by what the file of that name has."""
    if not isinstance(study, Mapping) or len(study) != 1:
        return study
    [(kind, content)] = study.items()
    if not isinstance(content, str) or kind not in KINDS:
        return study
    if kind == OF_CLAIM:
        return content_of(read_yaml(content, "claim", shipped_claims()).get("study"))
    return {kind: {key: value for key, value in STUDIES[kind].read(content)[0].items() if key != "about"}}


def _listed(tree: Any, place: str) -> Sequence[Any]:
    if not isinstance(tree, list):
        raise ConfigError(f"{place}: expected a list, got {shown(tree)}")
    return tree


def _require_study(study: Mapping[str, Any], source: str) -> None:
    if len(study) != 1:
        raise ConfigError(f"{at(source, 'study')}: expected one of {', '.join(KINDS)}, got {shown(study)}")
    [(kind, content)] = study.items()
    look_up("study", kind, dict.fromkeys(KINDS))
    if not isinstance(content, str | dict):
        raise ConfigError(
            f"{at(source, 'study', kind)}: expected keys of a study or a name, got {shown(content)}"
        )
    for key in ("seeds", "name", "search"):
        if key in content and isinstance(content, dict):
            raise ConfigError(f"{at(source, 'study', kind, key)}: not a key of the study of a claim")
