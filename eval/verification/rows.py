"""A row of a verification: a claim, what comes out here, and whether the two agree."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard

from ecsuite.runtime.errors import shown

Verdict = Literal["identical", "agrees", "differs", "damaged", "unverifiable", "not verified"]
"""Equal to the last bit; equal within the bound; neither; a file is not what its checksum says; it can't be computed
again, and the reason says why; it was left out because it takes long, or nobody can tell."""
Kind = Literal["file", "corpus", "evaluation", "score"]
"""What a claim is of: the bytes of a file, what agents say, figures of agents, scores of a language."""

LEAST = 0.1
"""Relative bounds are shares of the larger of both values, and of no less than this."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A claim and what came of it."""

    kind: Kind
    """What it is of."""
    name: str
    """Of what file, figure or score."""
    verdict: Verdict
    """Whether it agrees."""
    claimed: Any = None
    """The claimed value; None of a file, and where it is undefined."""
    here: Any = None
    """The value that was computed here; None where none was, or it is undefined."""
    difference: float | None = None
    """The second less the first, of numbers."""
    bound: float | None = None
    """Largest difference that agrees, 0 where bits must be equal; None of what is no number."""
    reason: str = ""
    """What differs beside the value, why, or why it was not computed."""
    signature: str | None = None
    """The signature of a score."""

    def to_json(self) -> dict[str, Any]:
        """The row, JSON-ready."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """How far a value may be from the claimed one."""

    share: float = 0.0
    """Share of the larger of both values; 0: bits must be equal."""
    least: float = LEAST
    """What it is a share of at least."""
    interval: tuple[float, float] | None = None
    """The claimed interval, within which a value may lie; None: the share decides."""

    def allowed(self, claimed: float, here: float) -> float:
        """Largest difference that agrees."""
        if self.interval is not None:
            low, high = self.interval
            return high - claimed if here > claimed else claimed - low
        return self.share * max(abs(claimed), abs(here), self.least) if self.share else 0.0

    def holds(self, claimed: float, here: float) -> bool:
        """Whether a value agrees."""
        return abs(here - claimed) <= self.allowed(claimed, here)


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def compared(
    kind: Kind,
    name: str,
    claimed: Any,
    here: Any,
    bound: Bound,
    *,
    why: str = "",
    also: str = "",
    signature: str | None = None,
    has_signature: bool = True,
) -> Row:
    """A row of a claimed value and the one that was computed here.

    Args:
        kind: What it is of.
        name: Its name.
        claimed: The claimed value; None: it is said to be undefined.
        here: The value computed here.
        bound: How far they may be apart.
        why: What is otherwise here than there, told where they are not identical.
        also: What differs beside the value, which then does not agree.
        signature: The claimed signature of a score.
        has_signature: Whether the score here has that, without which equal values agree and are not identical.
    """
    difference, allowed = None, None
    if is_number(claimed) and is_number(here):
        difference, allowed = here - claimed, bound.allowed(claimed, here)
        agrees = bound.holds(claimed, here)
    else:
        agrees = claimed == here
    verdict: Verdict = "agrees" if agrees and not also else "differs"
    if verdict == "agrees" and has_signature and type(claimed) is type(here) and claimed == here:
        verdict, why = "identical", ""
    return Row(
        kind=kind,
        name=name,
        verdict=verdict,
        claimed=claimed,
        here=here,
        difference=difference,
        bound=allowed,
        reason="; ".join(filter(None, (also, why))),
        signature=signature,
    )


def told(kind: Kind, what: str, claimed: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[Row]:
    """One row of what is said by name: how much of it is so here; what is not known here is left out."""
    names = [name for name in claimed if name in here]
    others = [name for name in names if claimed[name] != here[name]]
    also = "; ".join(f"{name} {_short(claimed[name])} there, {_short(here[name])} here" for name in others)
    if names:
        yield compared(kind, what, len(names), len(names) - len(others), Bound(), also=also)


def _short(value: Any) -> str:
    return f"{value:g}" if is_number(value) else shown(value)


def differences(claimed: Any, here: Any, bound: Bound, path: str = "") -> Iterator[str]:
    """The places in which JSON differs from what is claimed by more than a bound; keys that nobody claimed do not.

    Args:
        claimed: What is claimed.
        here: What came out.
        bound: How far numbers may be apart.
        path: Where it stands.
    """
    if isinstance(claimed, Mapping) and isinstance(here, Mapping):
        for key, value in claimed.items():
            yield from differences(value, here.get(key), bound, f"{path}.{key}" if path else str(key))
    elif isinstance(claimed, Sequence) and isinstance(here, Sequence) and not isinstance(claimed, str):
        if len(claimed) != len(here):
            yield path
        else:
            for place, (one, other) in enumerate(zip(claimed, here, strict=True)):
                yield from differences(one, other, bound, f"{path}[{place}]")
    elif is_number(claimed) and is_number(here):
        if not bound.holds(claimed, here):
            yield path
    elif claimed != here:
        yield path
