"""The file of a claim: published and own setting, the study, and the criterion, which is fixed before the runs."""

import hashlib
import json
import typing
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from importlib.resources.abc import Traversable
from typing import Any, Literal, TypeVar

from ecsuite.eval.experiments.grids import CBM, ICY, SWEEP, XFERBENCH, at, mapping
from ecsuite.parts.config import Natural, Seed, Weight, checked, read_yaml, refuse_unread, shipped_configs
from ecsuite.runtime.errors import ConfigError, look_up, shown, unknown_name

FOLDER = "claims"
"""The folder of `configs/` with the shipped claims."""
SEEDS = tuple(range(101, 111))
"""Default seeds of a claim; nothing else uses them."""
OF_CORPORA = "collection"
"""The key of a study of existing corpora, whose runs are numbered from 1 in place of seeds."""
STUDIES = {"sweep": SWEEP, "icy": ICY, "cbm": CBM, "xferbench": XFERBENCH, OF_CORPORA: SWEEP}
"""Readers of the studies of claims, by key."""
OF_CLAIM = "claim"
"""The key of a study that is that of another claim."""
KINDS = (*STUDIES, OF_CLAIM)
"""The keys of studies."""
DECIDES = ("study", "seeds", "success", "criterion")
"""The keys that decide the answer, and are fixed before the runs."""
SHARE = 0.5
"""The share of a published effect that an effect must have."""
ACCURACY = "accuracy"
"""A control that a claim on structure must have, together with the number of distinct messages."""
FEWEST_SIZES = 3
"""Sizes that must agree where the published one is not run."""

Arm = Mapping[str, Any]
"""Values by setting, which select runs."""
KindName = Literal["effect", "null", "order", "structure"]
_TWO_ARMS = ("arm", "baseline", "sizes")
_MARGIN = ("margin", "margin_from")
_PUBLISHED = ("published", "published_from", "published_bound", "read_by_eye")
_SIZE = (*_PUBLISHED, "threshold", "threshold_from")
READS: Mapping[str, tuple[str, ...]] = {
    "effect": (*_TWO_ARMS, *_SIZE, *_MARGIN),
    "null": (*_TWO_ARMS, *_MARGIN),
    "order": ("order", "pairs", *_PUBLISHED),
    "structure": (*_TWO_ARMS, *_SIZE, "controls"),
}
"""Optional keys of each kind of criterion that some other kinds do not read."""
NEEDS: Mapping[str, tuple[str, ...]] = {
    "effect": ("arm", "baseline"),
    "null": ("arm", "baseline", *_MARGIN),
    "order": (),
    "structure": ("arm", "baseline", "controls"),
}
"""Required keys of each kind of criterion; effects also need a published size or a threshold of ours."""
TEXTS = ("about", "published_from", "published_bound", "read_by_eye", "threshold_from", "margin_from")
"""Keys of a criterion that decide nothing."""
DifferenceKind = Literal[
    "agents",
    "learning",
    "updates",
    "task",
    "data",
    "measure",
    "size",
    "part",
    "counting",
    "unread",
]
"""Subject of a difference to the published setting. `part`: not all of the published arms are run; `counting`: the same
figure, taken more finely; `unread`: settings that could not be read."""
SETTING = ("agents", "learning", "updates", "task", "data", "measure")
"""Differences that make the setting another one."""
Scope = Literal["the published setting", "another setting", "another size"]
"""Setting about which a verdict is, by rule of the differences."""
Rerun = Literal["figure re-run", "direction re-run"]
"""Kind of a claim: compared with a figure that was published and read, or only with a direction, by a threshold or a
margin of ours."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Statistic:
    """A figure of each run, or a correlation of two figures over runs."""

    measure: str = ""
    """Name of a figure."""
    minus: str = ""
    """A figure of the same run that is subtracted; empty: none."""
    log: bool = False
    """Whether it is the natural logarithm of the figure, so that differences are those of ratios."""
    undefined: float | None = None
    """Value of a run that failed or has no such figure; None: the seed leaves the comparison."""
    correlation: tuple[str, ...] = ()
    """Two figures that are correlated over the runs of an arm; none: it is no correlation."""
    within: tuple[str, ...] = ()
    """Settings within whose cells they are correlated."""
    method: Literal["Spearman", "Pearson"] = "Spearman"
    """The coefficient; Spearman's is of the ranks in each cell."""

    @property
    def name(self) -> str:
        """Name in tables."""
        if self.correlation:
            return f"{self.method}'s correlation of {' and '.join(self.correlation)}"
        name = f"{self.measure} - {self.minus}" if self.minus else self.measure
        return f"ln {name}" if self.log else name

    @property
    def figures(self) -> tuple[str, ...]:
        """The figures of a run that it reads."""
        return self.correlation or tuple(filter(None, (self.measure, self.minus)))


@dataclass(frozen=True, kw_only=True, slots=True)
class CriterionSizes:
    """Sizes at which a criterion is applied, where the published one is not run."""

    setting: str
    """The setting that is the size."""
    values: tuple[Any, ...]
    """The sizes, at least three."""
    published: float
    """The published size, the nearest to which has its effect shown."""

    @property
    def nearest(self) -> int:
        """Index of the size that is nearest to the published one."""
        distances = [abs(float(value) - self.published) for value in self.values]
        return distances.index(min(distances))


@dataclass(frozen=True, kw_only=True, slots=True)
class Criterion:
    """A criterion; see `ecsuite.eval.experiments.claims.verdict` for its rules."""

    about: str = ""
    """The question in a line."""
    kind: KindName
    """An effect, no effect, an order, or an effect on structure."""
    statistic: Statistic
    """The statistic that is compared."""
    arm: Arm | None = None
    """The runs whose mean is compared."""
    baseline: Arm | float | None = None
    """The runs whose mean is subtracted, or a number."""
    paired: bool = True
    """Whether runs with equal seeds are compared."""
    published: float | tuple[float, ...] | None = None
    """The published difference, with its sign; of an order the values of its arms, or the differences of its pairs."""
    published_from: str = ""
    """Table, text or figure that has it."""
    published_bound: Literal["lower", "upper"] | None = None
    """Whether the published difference is a bound of the true one, as the paper's runs were capped; None: it is not."""
    read_by_eye: Weight | None = None
    """Error of a published value that was read off a picture by eye; None: it was printed."""
    threshold: float | None = None
    """Our own least difference, with its sign, where only a direction was published."""
    threshold_from: str = ""
    """Reason for it."""
    margin: Weight | None = None
    """Half the width of the equivalence interval, around 0 or, of an effect, around the published difference."""
    margin_from: str = ""
    """Reason for that width."""
    order: tuple[Arm, ...] = ()
    """Arms, the one with the highest mean first."""
    pairs: tuple[tuple[Arm, Arm], ...] = ()
    """Pairs of arms, each with the higher one first."""
    controls: Mapping[str, Weight] | None = None
    """Figures by name, with how far the arm may be below the baseline."""
    sizes: CriterionSizes | None = None
    """Sizes at which it is applied; None: one size."""
    runs: Literal["all", "success"] = "all"
    """Whether all runs count, or those that the paper's own rule counts."""

    @property
    def compared(self) -> list[tuple[Arm, Arm | float]]:
        """The pairs of arms that are compared."""
        if self.pairs:
            return list(self.pairs)
        if self.order:
            indices = range(len(self.order))
            return [(self.order[high], self.order[low]) for high in indices for low in indices if high < low]
        assert self.arm is not None and self.baseline is not None
        return [(self.arm, self.baseline)]

    @property
    def rerun(self) -> Rerun:
        """Whether a published figure decides, or a direction with a number of ours."""
        return "direction re-run" if self.published is None else "figure re-run"

    @property
    def least(self) -> float | None:
        """The least difference of an effect, with its sign: half of the published one, or our threshold."""
        return SHARE * self.published if isinstance(self.published, float) else self.threshold

    @property
    def published_differences(self) -> list[float] | None:
        """The published difference of each pair; None where none is stated."""
        if not isinstance(self.published, tuple):
            return None if self.published is None else [self.published]
        if not self.order:
            return list(self.published)
        indices = range(len(self.order))
        return [
            self.published[high] - self.published[low] for high in indices for low in indices if high < low
        ]

    @property
    def arms(self) -> list[Arm]:
        """All arms, each once, in the order in which they are named; with several sizes, at each of these."""
        named = [arm for pair in self.compared for arm in pair if isinstance(arm, Mapping)]
        arms = {repr(sorted(map(repr, arm.items()))): arm for arm in named}.values()
        if self.sizes is None:
            return list(arms)
        return [{**arm, self.sizes.setting: size} for size in self.sizes.values for arm in arms]


@dataclass(frozen=True, kw_only=True, slots=True)
class CitedWork:
    """The source of a claim."""

    work: str
    """The key of the work in `citations.yaml`."""
    place: str
    """Section, table or figure."""
    read: Literal["paper", "program", "secondary", "memory"]
    """Text in which setting and figures were read; secondary: another paper; memory: nothing was at hand."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pilots:
    """Runs before the criterion was fixed."""

    seeds: tuple[Seed, ...]
    """Their seeds, none of which is one of the claim."""
    runs: Natural
    """Their number."""
    about: str = ""
    """Their purpose."""


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
    source: CitedWork
    """The work that makes it."""
    claim: str
    """The statement of the source."""
    effect: str
    """Unit and subject of the effect, after its number in a sentence."""
    published: Mapping[str, Any]
    """The published setting."""
    ours: Mapping[str, Any]
    """The setting here, by the same keys."""
    differences: tuple[Mapping[DifferenceKind, str], ...]
    """Differences of the two settings, one by one, each with its kind."""
    study: Mapping[str, Any]
    """A command with a study as it takes it or the name of a shipped one, or `claim` with the name of one."""
    seeds: tuple[Seed, ...] = SEEDS
    """The seeds of all runs, also of the splits of data."""
    pilots: Pilots
    """Runs before."""
    success: Success | None = None
    """The paper's rule for which runs count; None: it has none."""
    criterion: Criterion
    """The criterion of the verdict."""
    descriptive: tuple[Criterion, ...] = ()
    """Further criteria, which decide nothing."""
    corrections: tuple[str, ...] = ()
    """Corrections of the criterion or the study after runs, with their reasons; the seeds stay."""
    outdated: str = ""
    """Corrections since the kept runs, which were not made again; empty: none."""
    published_figures: Mapping[str, Any] = field(default_factory=dict)
    """Figures printed in the source."""
    hours: float | None = None
    """Hours of one core for all runs, as `--plan` measured them; None: not measured."""
    small: Mapping[str, Any] = field(default_factory=dict)
    """Changes of the study for a check of minutes, and its `seeds`."""
    decides: Mapping[str, Any]
    """The keys of `DECIDES`, with the content of the studies that are named."""

    @property
    def is_of_corpora(self) -> bool:
        """Whether its runs are existing corpora."""
        return OF_CORPORA in self.decides["study"]

    @property
    def scope(self) -> Scope:
        """The setting about which its verdict is."""
        kinds = {kind for difference in self.differences for kind in difference}
        if kinds & {*SETTING}:
            return "another setting"
        return "another size" if "size" in kinds else "the published setting"

    @property
    def small_seeds(self) -> tuple[int, ...]:
        """The seeds of a check of minutes."""
        return tuple(self.small.get("seeds", (1, 2)))

    @property
    def digest(self) -> str:
        """Hash of `decides`, 16 hexadecimal digits: equal digests have equal verdicts from equal runs."""
        return hashlib.sha256(json.dumps(self.decides, sort_keys=True).encode()).hexdigest()[:16]


def shipped_claims() -> dict[str, Traversable]:
    """The shipped claims by name."""
    return shipped_configs(FOLDER)


def load_claim(name: str) -> Claim:
    """Read a shipped claim by its name, or a YAML file.

    Raises:
        ConfigError: If there is no such claim, or a key or a value is not valid; the message has the line.
    """
    return read_claim(read_yaml(name, "claim", shipped_claims()), name)


def read_claim(tree: Mapping[str, Any], source: str) -> Claim:
    """A claim from the content of its file; messages begin with its source.

    Raises:
        ConfigError: If a key or a value is not valid.
    """
    sections = {"source": CitedWork, "pilots": Pilots, "success": Success}
    read: dict[str, Any] = {
        key: None if key == "success" and tree[key] is None else _read_section(kind, tree[key], source, key)
        for key, kind in sections.items()
        if key in tree
    }
    if "criterion" in tree:
        read["criterion"] = _read_criterion(tree["criterion"], source, "criterion")
    if "descriptive" in tree:
        if not isinstance(tree["descriptive"], list):
            raise ConfigError(
                f"{at(source, 'descriptive')}: expected a list, got {shown(tree['descriptive'])}"
            )
        read["descriptive"] = tuple(
            _read_criterion(each, source, "descriptive") for each in tree["descriptive"]
        )
    plain = {key: value for key, value in tree.items() if key not in read}
    claim: Claim = _read_section(Claim, {**plain, "decides": decided_by(tree)}, source, given=read)
    checked(claim.small.get("seeds", []), tuple[Seed, ...], at(source, "small", "seeds"))
    _require_study(claim.study, source)
    if claim.is_of_corpora and "seeds" in {*tree, *claim.small}:
        raise ConfigError(f"{at(source, 'seeds')}: not read by a study of corpora, which are numbered from 1")
    if not claim.seeds or len(set(claim.seeds)) < len(claim.seeds):
        raise ConfigError(f"{at(source, 'seeds')}: expected different seeds, at least one")
    if both := sorted(set(claim.seeds) & set(claim.pilots.seeds)):
        raise ConfigError(f"{at(source, 'pilots')}: seed {both[0]} is one of the claim; pilots have others")
    if both := sorted(set(claim.seeds) & set(claim.small_seeds)):
        raise ConfigError(
            f"{at(source, 'small')}: seed {both[0]} is one of the claim: small: {{seeds: [...]}} names others"
        )
    if any(len(difference) != 1 for difference in claim.differences):
        raise ConfigError(f"{at(source, 'differences')}: expected one kind each: - agents: …")
    if claim.criterion.sizes is not None and claim.scope == "the published setting":
        raise ConfigError(f"{at(source, 'criterion', 'sizes')}: expected differences with a size: - size: …")
    return claim


def decided_by(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a file that decide the answer, with the content of the study that it names.

    Of a criterion, texts do not count, nor does whether the least effect is half of a published one or a threshold.
    """
    decides = {"seeds": list(SEEDS), **{key: tree[key] for key in DECIDES if key in tree}}
    criterion = decides.get("criterion")
    if isinstance(criterion, Mapping):
        decides["criterion"] = _deciding(criterion)
    return {**decides, "study": _content_of(tree.get("study"))}


def _deciding(criterion: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: value for key, value in criterion.items() if key not in TEXTS}
    published, threshold = found.get("published"), found.pop("threshold", None)
    if isinstance(published, int | float) and "margin" not in found:
        threshold = SHARE * found.pop("published")
    if threshold is not None:
        found["least"] = float(threshold)
    if isinstance(found.get("sizes"), Mapping):
        found["sizes"] = {key: value for key, value in found["sizes"].items() if key != "published"}
    return found


def _content_of(study: Any) -> Any:
    """A study whose name is replaced by the content of the file of that name."""
    if not isinstance(study, Mapping) or len(study) != 1:
        return study
    [(kind, content)] = study.items()
    if not isinstance(content, str) or kind not in KINDS:
        return study
    if kind == OF_CLAIM:
        return _content_of(read_yaml(content, "claim", shipped_claims()).get("study"))
    return {kind: {key: value for key, value in STUDIES[kind].read(content)[0].items() if key != "about"}}


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


def _read_criterion(tree: Any, source: str, *path: str) -> Criterion:
    """Read a criterion.

    Raises:
        ConfigError: If a key or a value is not valid, or its kind does not read it or needs another one.
    """
    place = at(source, *path)
    content = dict(mapping(tree, place))
    if content.get("kind", "") is None:  # as YAML reads the word
        content["kind"] = "null"
    read: dict[str, Any] = {}
    if "statistic" in content:
        read["statistic"] = _read_section(Statistic, content.pop("statistic"), source, *path, "statistic")
    if content.get("sizes") is not None:
        read["sizes"] = _read_section(CriterionSizes, content.pop("sizes"), source, *path, "sizes")
    criterion = _read_section(Criterion, content, source, *path, given=read)
    given = [each.name for each in fields(Criterion) if getattr(criterion, each.name) != each.default]
    written = {key: at(source, *path, key) for key in given}
    refuse_unread(f"kind: {criterion.kind}", [criterion.kind], written, READS)
    for key in NEEDS[criterion.kind]:
        if key not in given:
            raise ConfigError(f"{place}: kind: {criterion.kind}: expected the key {key}")
    _require_sense(criterion, place)
    return criterion


def _require_sense(criterion: Criterion, place: str) -> None:
    """Validate the arms, the published effect, the controls and the statistic of a criterion with each other."""
    statistic = criterion.statistic
    if bool(statistic.measure) == bool(statistic.correlation) or len(statistic.correlation) not in (0, 2):
        raise ConfigError(f"{place}: statistic: expected a measure, or a correlation of two figures")
    if statistic.correlation and (criterion.kind not in ("effect", "null") or criterion.baseline != 0):
        raise ConfigError(f"{place}: a correlation is an effect or a null, with baseline: 0")
    if criterion.kind == "order":
        if (len(criterion.order) < 2) == (not criterion.pairs):
            raise ConfigError(f"{place}: expected an order of two arms or more, or pairs")
        number = len(criterion.order) or len(criterion.pairs)
        if criterion.published is not None and (
            not isinstance(criterion.published, tuple) or len(criterion.published) != number
        ):
            raise ConfigError(
                f"{place}: published: expected {number} numbers, got {shown(criterion.published)}"
            )
    elif isinstance(criterion.published, tuple) or criterion.published == 0:
        raise ConfigError(f"{place}: published: expected a number other than 0")
    if criterion.kind in ("effect", "structure"):
        if (criterion.published is None) == (criterion.threshold is None):
            raise ConfigError(f"{place}: expected either published, or a threshold of ours where it is none")
        if criterion.threshold == 0:
            raise ConfigError(f"{place}: threshold: expected a number other than 0")
        if criterion.margin is not None and criterion.published is None:
            raise ConfigError(f"{place}: margin: expected published, around which it lies")
    for key in ("published", "threshold", "margin"):
        if getattr(criterion, key) is not None and not getattr(criterion, f"{key}_from"):
            raise ConfigError(f"{place}: {key}: expected the key {key}_from")
    if criterion.kind == "structure" and (
        criterion.controls is None or ACCURACY not in criterion.controls or len(criterion.controls) < 2
    ):
        raise ConfigError(f"{place}: controls: expected {ACCURACY} and the number of distinct messages")
    if criterion.sizes is not None and len(criterion.sizes.values) < FEWEST_SIZES:
        raise ConfigError(f"{place}: sizes: expected {FEWEST_SIZES} sizes or more")


Section = TypeVar("Section")
NOTHING: Mapping[str, Any] = {}
"""No sections that are read already."""


def _read_section(
    kind: type[Section], tree: Any, source: str, *path: str, given: Mapping[str, Any] = NOTHING
) -> Section:
    """Build a dataclass from a section; messages name the line of the key that is wrong.

    Args:
        kind: The dataclass.
        tree: The section.
        source: The file.
        path: The keys that lead to the section.
        given: Values that are read already.

    Raises:
        ConfigError: If a key is unknown or missing, or a value has another type or is out of bounds.
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    values = dict(given)
    for key, value in mapping(tree, at(source, *path) if path else source).items():
        place = at(source, *path, key)
        if key not in hints:
            raise ConfigError(f"{place}: {unknown_name('key', key, hints)}")
        values[key] = checked(value, hints[key], place)
    for each in fields(kind):  # type: ignore[arg-type]
        if each.name not in values and each.default is MISSING and each.default_factory is MISSING:
            raise ConfigError(f"{at(source, *path) if path else source}: expected the key {each.name}")
    return kind(**values)
