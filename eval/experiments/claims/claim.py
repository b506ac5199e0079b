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
"""Default seeds of claims, reserved for them."""
OF_CORPORA = "collection"
"""The key of a study of existing corpora, whose runs are numbered from 1 instead of having seeds."""
STUDIES = {"sweep": SWEEP, "icy": ICY, "cbm": CBM, "xferbench": XFERBENCH, OF_CORPORA: SWEEP}
"""Readers of the studies of claims, by key."""
OF_CLAIM = "claim"
"""The key of a study that reuses the study of another claim."""
KINDS = (*STUDIES, OF_CLAIM)
"""The keys of studies."""
DECIDES = ("study", "seeds", "success", "criterion")
"""The keys that determine the answer, and are fixed before the runs."""
SHARE = 0.5
"""The minimum effect, as a share of the published effect."""
ACCURACY = "accuracy"
"""A required control of claims on structure, together with the number of distinct messages."""
FEWEST_SIZES = 3
"""Minimum number of sizes that must agree if the published size is not run."""

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
"""Optional keys that are specific to kinds of criteria, by kind."""
NEEDS: Mapping[str, tuple[str, ...]] = {
    "effect": ("arm", "baseline"),
    "null": ("arm", "baseline", *_MARGIN),
    "order": (),
    "structure": ("arm", "baseline", "controls"),
}
"""Required keys of each kind of criterion; effects also need a published size or a threshold of ours."""
TEXTS = ("about", "published_from", "published_bound", "read_by_eye", "threshold_from", "margin_from")
"""Keys of a criterion that do not affect the answer."""
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
"""Subject of a difference to the published setting. `part`: not all published arms are run; `counting`: the same figure
is measured more finely; `unread`: settings that could not be read."""
SETTING = ("agents", "learning", "updates", "task", "data", "measure")
"""Subjects of differences that make it another setting."""
Scope = Literal["the published setting", "another setting", "another size"]
"""Setting to which a verdict applies; it follows from the differences."""
Rerun = Literal["figure re-run", "direction re-run"]
"""Kind of a claim: compared with a published figure, or only with a published direction, by our threshold or margin."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Statistic:
    """A figure of each run, or a correlation of two figures over runs."""

    measure: str = ""
    """Name of a figure."""
    minus: str = ""
    """A figure of the same run to subtract; empty: none."""
    log: bool = False
    """Whether to take the natural logarithm of the figure, so that differences are log ratios."""
    undefined: float | None = None
    """Value of a run that failed or lacks the figure; None: the seed is left out of the comparison."""
    correlation: tuple[str, ...] = ()
    """Two figures to correlate over the runs of an arm; empty: no correlation."""
    within: tuple[str, ...] = ()
    """Settings whose combinations are cells, within which figures are correlated."""
    method: Literal["Spearman", "Pearson"] = "Spearman"
    """The coefficient; Spearman's uses the ranks in each cell."""

    @property
    def name(self) -> str:
        """Name in tables."""
        if self.correlation:
            return f"{self.method}'s correlation of {' and '.join(self.correlation)}"
        name = f"{self.measure} - {self.minus}" if self.minus else self.measure
        return f"ln {name}" if self.log else name

    @property
    def figures(self) -> tuple[str, ...]:
        """The figures of a run that the statistic reads."""
        return self.correlation or tuple(filter(None, (self.measure, self.minus)))


@dataclass(frozen=True, kw_only=True, slots=True)
class CriterionSizes:
    """Sizes at which a criterion is applied if the published size is not run."""

    setting: str
    """Name of the setting."""
    values: tuple[Any, ...]
    """The sizes, at least three."""
    published: float
    """The published size; the effect at the nearest size is reported."""

    @property
    def nearest(self) -> int:
        """Index of the size nearest to the published size."""
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
    """The published difference, with its sign; for an order the values of its arms, or the differences of its pairs."""
    published_from: str = ""
    """Table, text or figure of the published difference."""
    published_bound: Literal["lower", "upper"] | None = None
    """Whether the published difference is a bound of the true difference, as with capped runs; None: no bound."""
    read_by_eye: Weight | None = None
    """Error of a published value that was read from a figure by eye; None: it was printed."""
    threshold: float | None = None
    """Our own minimum difference, with its sign, if only a direction was published."""
    threshold_from: str = ""
    """Reason for the threshold."""
    margin: Weight | None = None
    """Half the width of the equivalence interval around 0 or, for an effect, around the published difference."""
    margin_from: str = ""
    """Reason for the margin."""
    order: tuple[Arm, ...] = ()
    """Arms, the arm with the highest mean first."""
    pairs: tuple[tuple[Arm, Arm], ...] = ()
    """Pairs of arms, the arm with the higher mean first."""
    controls: Mapping[str, Weight] | None = None
    """Tolerance by figure: how far the arm may be below the baseline."""
    sizes: CriterionSizes | None = None
    """Sizes at which it is applied; None: one size."""
    runs: Literal["all", "success"] = "all"
    """Whether all runs count, or only the runs that the paper's own rule counts."""

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
        """Whether a published figure decides, or a published direction with our own number."""
        return "direction re-run" if self.published is None else "figure re-run"

    @property
    def least(self) -> float | None:
        """The minimum difference of an effect, with its sign: half of the published difference, or our threshold."""
        return SHARE * self.published if isinstance(self.published, float) else self.threshold

    @property
    def published_differences(self) -> list[float] | None:
        """The published difference of each pair; None if not stated."""
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
        """All arms without repeats, in the order of the file; with several sizes, at each size."""
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
    """Source of setting and figures; secondary: another paper; memory: no text was available."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pilots:
    """Runs before the criterion was fixed."""

    seeds: tuple[Seed, ...]
    """Seeds of the pilots, different from the seeds of the claim."""
    runs: Natural
    """Number of pilot runs."""
    about: str = ""
    """Purpose of the pilots."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Success:
    """The paper's own rule for which runs count."""

    measure: str
    """A figure of a run."""
    at_least: float
    """The minimum value of a run that counts."""
    about: str
    """The rule in words, with its position in the paper."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A claim; the keys of its YAML file."""

    name: str
    """Name of the file."""
    about: str
    """The claim in a line, with its source."""
    source: CitedWork
    """The cited work."""
    claim: str
    """The statement of the source."""
    effect: str
    """Unit and subject of the effect, after its number in a sentence."""
    published: Mapping[str, Any]
    """The published setting."""
    ours: Mapping[str, Any]
    """The setting here, by the same keys."""
    differences: tuple[Mapping[DifferenceKind, str], ...]
    """Differences of the two settings, each with its kind."""
    study: Mapping[str, Any]
    """A command with the content or name of a study, or `claim` with the name of a claim."""
    seeds: tuple[Seed, ...] = SEEDS
    """The seeds of all runs, also of the splits of data."""
    pilots: Pilots
    """Runs before the criterion was fixed."""
    success: Success | None = None
    """The paper's rule for which runs count; None: no rule."""
    criterion: Criterion
    """The criterion of the verdict."""
    descriptive: tuple[Criterion, ...] = ()
    """Further criteria, which do not affect the verdict."""
    corrections: tuple[str, ...] = ()
    """Corrections of the criterion or the study after runs, with reasons; seeds do not change."""
    outdated: str = ""
    """Corrections after the stored runs, which were not repeated; empty: none."""
    published_figures: Mapping[str, Any] = field(default_factory=dict)
    """Figures printed in the source."""
    hours: float | None = None
    """Core hours of all runs, as measured by `--plan`; None: not measured."""
    small: Mapping[str, Any] = field(default_factory=dict)
    """Changes of the study, and `seeds`, for a check that takes minutes."""
    decides: Mapping[str, Any]
    """The keys of `DECIDES`, with names of studies replaced by their content."""

    @property
    def is_of_corpora(self) -> bool:
        """Whether its runs are existing corpora."""
        return OF_CORPORA in self.decides["study"]

    @property
    def scope(self) -> Scope:
        """The setting to which its verdict applies."""
        kinds = {kind for difference in self.differences for kind in difference}
        if kinds & {*SETTING}:
            return "another setting"
        return "another size" if "size" in kinds else "the published setting"

    @property
    def small_seeds(self) -> tuple[int, ...]:
        """The seeds of a check that takes minutes."""
        return tuple(self.small.get("seeds", (1, 2)))

    @property
    def digest(self) -> str:
        """Hash of `decides`, 16 hexadecimal digits: equal digests and equal runs give equal verdicts."""
        return hashlib.sha256(json.dumps(self.decides, sort_keys=True).encode()).hexdigest()[:16]


def shipped_claims() -> dict[str, Traversable]:
    """The shipped claims by name."""
    return shipped_configs(FOLDER)


def load_claim(name: str) -> Claim:
    """Read a shipped claim by its name, or a YAML file.

    Raises:
        ConfigError: If there is no such claim, or a key or a value is invalid; the message has the line.
    """
    return read_claim(read_yaml(name, "claim", shipped_claims()), name)


def read_claim(tree: Mapping[str, Any], source: str) -> Claim:
    """Read a claim from the content of its file; `source` starts error messages.

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
        raise ConfigError(f"{at(source, 'seeds')}: not allowed in a study of corpora, numbered from 1")
    if not claim.seeds or len(set(claim.seeds)) < len(claim.seeds):
        raise ConfigError(f"{at(source, 'seeds')}: expected different seeds, at least one")
    if both := sorted(set(claim.seeds) & set(claim.pilots.seeds)):
        raise ConfigError(
            f"{at(source, 'pilots')}: seed {both[0]} is a seed of the claim; pilots need others"
        )
    if both := sorted(set(claim.seeds) & set(claim.small_seeds)):
        raise ConfigError(
            f"{at(source, 'small')}: seed {both[0]} is a seed of the claim: set other seeds, small: {{seeds: [...]}}"
        )
    if any(len(difference) != 1 for difference in claim.differences):
        raise ConfigError(f"{at(source, 'differences')}: expected one kind each: - agents: …")
    if claim.criterion.sizes is not None and claim.scope == "the published setting":
        raise ConfigError(f"{at(source, 'criterion', 'sizes')}: expected differences with a size: - size: …")
    return claim


def decided_by(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a file that determine the answer, with the content of the named study.

    In a criterion, texts do not count, nor does the source of the minimum effect (published effect or threshold).
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
    """The content of a study, read from its file if the study is a name."""
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
            raise ConfigError(f"{at(source, 'study', kind, key)}: not allowed in the study of a claim")


def _read_criterion(tree: Any, source: str, *path: str) -> Criterion:
    """Read a criterion.

    Raises:
        ConfigError: If a key or a value is invalid, or a key is not read or is missing for the kind.
    """
    place = at(source, *path)
    content = dict(mapping(tree, place))
    if content.get("kind", "") is None:  # YAML reads the word null as None
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
    """Validate the combination of arms, published effect, controls and statistic of a criterion."""
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
            raise ConfigError(f"{place}: expected either published, or our own threshold")
        if criterion.threshold == 0:
            raise ConfigError(f"{place}: threshold: expected a number other than 0")
        if criterion.margin is not None and criterion.published is None:
            raise ConfigError(f"{place}: margin: expected the key published, the centre of the margin")
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
"""Default of `_read_section`: no parsed values."""


def _read_section(
    kind: type[Section], tree: Any, source: str, *path: str, given: Mapping[str, Any] = NOTHING
) -> Section:
    """Build a dataclass from a section; error messages have the line of the invalid key.

    Args:
        kind: The dataclass.
        tree: The section.
        source: The file.
        path: The keys that lead to the section.
        given: Values that are already parsed.

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
