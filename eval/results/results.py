"""Results: the runs, corpora and scores files at some paths, as one collection to average and compare."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from ecsuite.eval.metrics import table_order, traits_of
from ecsuite.eval.results.comparison import Combination, Comparison, Means, Pairs, compare_samples
from ecsuite.eval.results.equal_sizes import EqualSizes
from ecsuite.eval.results.files import SEED, name_by_folders, sources_at, sweep_file
from ecsuite.eval.results.samples import Estimate, FormedProtocols, Sample, samples_of, short_settings
from ecsuite.eval.results.sources import MOST_SETTINGS, Source, setting_column
from ecsuite.formats.directory import CORPUS
from ecsuite.games.runs.run_folder import SWEEP
from ecsuite.runtime.errors import ConfigError, look_up, unknown_name
from ecsuite.tables.cells import value_text
from ecsuite.tables.table import as_frame

ALWAYS = ("accuracy", "reward")
"""Figures of a table in addition to the scores, if runs have them."""
ONLY_IN_ONE = "only in one"
"""Reason why a score of a single source is left out."""
CHECKSUMS = ("data.", "code.")
"""Prefixes of the checksums of data and code files, which distinguish runs with different files."""
MANY_SETTINGS = 4
"""Number of settings up to which a row of a table has all, even if some follow from others."""
MISSING = "(none)"
"""Value in a row's identifier for a setting that a run does not have; differs from null."""


def _no_note(_: str) -> None:
    """Ignore a note."""


class Results(tuple[Source, ...]):
    """Sources of scores: runs, corpora and scores files.

    Example:
        >>> from ecsuite.eval.results.results import Results
        >>> len(Results())
        0
    """

    __slots__ = ()

    @classmethod
    def read(cls, paths: Iterable[str | Path], note: Callable[[str], object] = _no_note) -> "Results":
        """Read the sources at paths, without copies of run folders.

        Runs of one sweep have the settings that it varies; other runs, and runs of several sweeps, have the settings
        that differ between them (see `varied`), and are sorted by these.

        Args:
            paths: Run folders, folders of sweeps, corpora, scores files, and folders with any of these.
            note: Called with a line about copies that are left out.

        Raises:
            ConfigError: If there is nothing at a path, or a file can't be read.
            DamagedError: If a stored file was changed.
            FormatError: If a newer version wrote a file.
        """
        places = list(dict.fromkeys(map(Path, paths)))
        sources = cls(source for place in places for source in sources_at(place)).without_copies(note)
        if len(places) == 1 and sweep_file(places[0]) is not None:
            return sources
        found = sources.varied()
        keys = dict.fromkeys(key for source in found if source.is_run for key in source.settings)
        runs = sorted(
            (source for source in found if source.is_run),
            key=lambda run: [_order(run.settings.get(key)) for key in keys],
        )
        return cls((*runs, *(source for source in found if not source.is_run)))

    def __repr__(self) -> str:
        """Number of sources, and the names of the first ones."""
        num_runs = sum(source.is_run for source in self)
        names = ", ".join(source.title for source in self[:3]) + (", …" if len(self) > 3 else "")
        return f"<Results: {num_runs:,} runs, {len(self) - num_runs:,} other sources: {names}>"

    def filter(
        self, settings: Mapping[str, Any] | None = None, where: Callable[[Source], object] | None = None
    ) -> "Results":
        """Select sources by settings and by a condition.

        Args:
            settings: Values by `section.key`, such as `{"channel.vocab_size": 5}`; None: any.
            where: The condition; None: no condition.

        Raises:
            ConfigError: If no source has such a setting.
        """
        known = dict.fromkeys(key for source in self for key in (*source.settings, *source.fixed))
        for key in settings or ():
            if key not in known:
                raise unknown_name("setting", key, known)
        return Results(
            source
            for source in self
            if all(
                {**source.fixed, **source.settings}.get(key) == value
                for key, value in (settings or {}).items()
            )
            and (where is None or where(source))
        )

    def runs(self) -> "Results":
        """The runs, and corpora with scores, whose settings are their system and name.

        Raises:
            ConfigError: If there is no run or scored corpus.
        """
        runs: list[Source] = []
        sources = self.merged().with_distinct_names()
        of_systems = any(source.system for source in sources)
        for source in sources:
            if source.is_run:
                runs.append(source)
            elif source.records:
                named = {"system": source.system} if of_systems else {}
                runs.append(replace(source, settings={**named, "corpus": source.name}))
        if not runs:
            where = ", ".join(str(source.file) for source in self)
            raise ConfigError(
                f"{where}: expected a run folder, a folder of runs, or the scores of a collection"
            )
        return Results(runs)

    def without_copies(self, note: Callable[[str], object] = _no_note) -> "Results":
        """The sources without copies of run folders, which would count as further seeds; a note names some."""
        kept: dict[Any, Source] = {}
        copies: dict[Path, Source] = {}  # original run by folder
        for number, source in enumerate(self):
            key: Any = number
            if source.is_run and source.file.name == SWEEP:  # names have a digest of all settings
                key = source.name, source.seed, repr([source.settings, source.measures, source.failure])
            elif source.is_run and source.group and (corpus := source.metadata.get("sha256")):
                key = source.group, source.seed, repr(corpus)
            first = kept.get(key, source)
            one, other = (first, source) if len(first.records) >= len(source.records) else (source, first)
            kept[key] = one
            place = other.folder or other.file
            if (one.folder or one.file).absolute() != place.absolute():  # not the same path twice
                copies[place] = one
        if copies:
            place, run = next(iter(copies.items()))
            others = f" and {len(copies) - 1:,} more" if len(copies) > 1 else ""
            here = run.folder or run.file
            note(f"{place}{others}: left out as a copy of {here}, as each run counts once")
        return Results(kept.values())

    def merged(self) -> "Results":
        """Merge sources of one corpus whose scores are in several files, into a run if one of them is a run.

        Sources with different signatures of one score stay separate.
        """
        kept: list[Source] = []
        places: dict[object, int] = {}
        for source in self:
            path = source.corpus
            if path is not None:
                path = (path / CORPUS if path.is_dir() else path).resolve()
            key = (path, source.how, source.name, source.system)
            place = len(kept) if path is None else places.setdefault(key, len(kept))
            if place == len(kept):
                kept.append(source)
                continue
            first, other = (source, kept[place]) if source.is_run else (kept[place], source)
            signatures = {record.name: record.signature for record in first.records}
            if (
                (first.is_run and other.is_run)
                or (first.digest and other.digest and first.digest != other.digest)
                or any(signatures.get(each.name, each.signature) != each.signature for each in other.records)
            ):
                kept.append(source)
                continue
            more = [record for record in other.records if record.name not in signatures]
            kept[place] = replace(first, records=(*first.records, *more))
        return Results(kept)

    def with_distinct_names(self) -> "Results":
        """The sources with folders in the names of non-runs whose name other content has too."""
        namesakes: dict[tuple[str, str | None], list[Source]] = {}
        for source in self:
            if not source.is_run:
                namesakes.setdefault((source.name, source.system), []).append(source)
        named = []
        for source in self:
            place = str(source.corpus or source.file)
            others = {
                str(other.corpus or other.file)
                for other in namesakes.get((source.name, source.system), ())
                if not source.digest or other.digest != source.digest
            } - {place}
            name = name_by_folders(place, sorted(others)) if others and not source.is_run else None
            named.append(replace(source, name=name or source.name))
        return Results(named)

    def varied(self) -> "Results":
        """The sources with the settings in which their runs differ, except the seed.

        A setting that only some runs have, such as an option of one kind of channel, counts if it differs between these
        runs, or if only it distinguishes some runs; so do the checksums of data and of users' files.
        """
        runs = [source for source in self if source.is_run]
        is_one_sweep = len({run.file for run in runs}) == 1
        settings = {id(run): _settings_to_vary(run, is_one_sweep=is_one_sweep) for run in runs}
        keys = dict.fromkeys(key for each in settings.values() for key in each)
        varying = [
            key for key in keys
            if not key.startswith(CHECKSUMS) and len({repr(each[key]) for each in settings.values() if key in each}) > 1
        ]  # fmt: skip
        further = [key for key in keys if key not in varying]
        num_groups = _num_told_apart(settings.values(), varying)
        if _num_told_apart(settings.values(), [*varying, *further]) > num_groups:
            for key in further:
                if (more := _num_told_apart(settings.values(), [*varying, key])) > num_groups:
                    varying, num_groups = [*varying, key], more
        return Results(
            replace(source, settings={key: own[key] for key in varying if key in own})
            if (own := settings.get(id(source))) is not None
            else source
            for source in self
        )

    def group(self, by: Sequence[str] | None = None) -> "Results":
        """The sources with the table row of each, and the block of settings that the row averages over.

        Args:
            by: Settings of a row; None: all that vary or, if these are many, a subset that determines the others.

        Raises:
            ConfigError: If a setting is unknown, or named twice.
        """
        if by is None and self and all(source.row for source in self):
            return self  # grouped already, among more sources
        known = list(dict.fromkeys(key for source in self for key in source.settings))
        keys = known if by is None else list(by)
        if by is None and len(known) > MANY_SETTINGS:  # settings that do not follow from earlier ones
            keys, num_groups = [], 1
            for key in known:
                found = {repr([source.settings.get(each) for each in (*keys, key)]) for source in self}
                if len(found) > num_groups:
                    keys, num_groups = [*keys, key], len(found)
        for key in keys:
            if key not in known:
                raise (
                    unknown_name("setting", key, known)
                    if known
                    else ConfigError(f"--by {key}: no setting differs between these runs")
                )
            if keys.count(key) > 1:
                raise ConfigError(f"--by: {key} is named twice")
        rest = [key for key in known if key not in keys] if by is not None else []
        placed = [
            replace(
                source,
                settings={key: source.settings[key] for key in keys if key in source.settings},
                group=repr([source.settings.get(key, MISSING) for key in keys]),
                block=repr([source.settings.get(key, MISSING) for key in rest]) if rest else "",
            )
            for source in self
        ]
        names = _row_names(placed)
        return Results(replace(source, row=names[source.group]) for source in placed)

    def common_scores(self) -> tuple[list[str], dict[str, str]]:
        """Scores that at least two sources have (or the only source), in the order of tables, without sizes.

        Returns:
            The names, and the reasons why other scores are left out.
        """
        per_source = [_reasons(source) for source in self]
        asked = {name for source in self for name in source.scores}
        every = dict.fromkeys(name for names in per_source for name in names if name in asked)
        common, left_out = [], {}
        for name in sorted(every, key=table_order):
            if traits_of(name).question == "sizes":
                continue
            if sum(name in names and names[name] is None for names in per_source) >= min(2, len(self)):
                common.append(name)
            else:
                reasons = [names[name] or ONLY_IN_ONE for names in per_source if name in names]
                left_out[name] = reasons[0]
        return common, left_out

    def compare(
        self,
        metrics: Sequence[str] | None = None,
        baseline: str | None = None,
        *,
        by: Sequence[str] | None = None,
        as_rows: bool = False,
        distinct: bool = False,
        with_incomplete: bool = False,
        sizes: EqualSizes | None = None,
        pairs: Pairs | None = None,
    ) -> Comparison:
        """Compare the sources in every score that at least two of them have.

        Runs that differ only in their seed are one source, unless this leaves a single source.

        Args:
            metrics: Names of scores, and of measures of trainings; None: the requested scores, or all except sizes.
            baseline: Name of the source that all others are compared with; None: compare all pairs.
            by: Settings that distinguish the sources: their effect over all other settings and seeds; None: all that
                vary.
            as_rows: Whether sources with equal settings are one source, including corpora.
            distinct: Whether runs that differ only in their seed are separate sources.
            with_incomplete: Whether to include runs that were ended by the clock, a stop or pruning.
            sizes: Subsamples of larger corpora for scores that depend on size; None: new ones.
            pairs: Function that chooses the pairs of samples to compare; None: by the baseline.

        Raises:
            ConfigError: If a source has no scores, no score occurs in two sources, or a name is unknown.
        """
        counted = Results(source for source in self if source.counts(with_incomplete=with_incomplete))
        counted, names, left_out, merges_seeds = counted._placed(
            metrics, self, by=by, as_rows=as_rows, distinct=distinct
        )
        samples = {name: samples_of(counted._having(name), name, merges_seeds=merges_seeds) for name in names}
        compared = compare_samples(samples, baseline, sizes, pairs)
        fullest = max(compared, key=lambda score: len(score.samples))
        without = {
            each.name: each.failure or each.ending
            for each in self
            if not each.counts(with_incomplete=with_incomplete)
        }
        for source in counted:
            if not any(source.has(name) for name in names):
                why = _reasons(source).get(names[0]) or "no such score"
                without[source.name] = source.failure or f"{names[0]}: {why}"
        return Comparison(
            sources=tuple(dict.fromkeys(name for score in (fullest, *compared) for name in score.samples)),
            scores=tuple(compared),
            left_out=left_out,
            without=without,
        )

    def samples(self, metric: str) -> list[Sample]:
        """Samples of a score, as `compare` uses them.

        Raises:
            ConfigError: If no source has the score.
        """
        counted = Results(source for source in self if source.counts())
        counted, _, _, merges_seeds = counted._placed([metric], self)
        return samples_of(counted._having(metric), metric, merges_seeds=merges_seeds)

    def _placed(
        self,
        metrics: Sequence[str] | None,
        sources: "Results",
        *,
        by: Sequence[str] | None = None,
        as_rows: bool = False,
        distinct: bool = False,
    ) -> tuple["Results", list[str], dict[str, str], bool]:
        """Group counted sources in rows; with the scores to compare, those left out, and whether seeds are merged."""
        if sources and not self:
            first = sources[0]
            raise ConfigError(
                f"{first.name}: {first.failure or f'{first.ending}: --incomplete includes such runs'}"
            )
        is_table = as_rows or by is not None or (not distinct and all(each.is_run for each in self))
        placed = self.group(by) if is_table else self
        names, left_out = placed.common_scores() if metrics is None else (list(metrics), {})
        if not names:
            why = "; ".join(f"{name}: {reason}" for name, reason in islice(left_out.items(), 3))
            is_scored = left_out and ONLY_IN_ONE not in left_out.values()
            advice = "" if is_scored else "; run `ecsuite score` on each"
            raise ConfigError(f"no score occurs in two of the sources{': ' if why else ''}{why}{advice}")
        if as_rows or by is not None:
            return placed, names, left_out, True
        has_rows = len({each.name for each in samples_of(placed._having(names[0]), names[0])}) > 1
        merges_seeds = not distinct and has_rows
        if metrics is not None:
            for name in names:  # with a value in one source only, the others give the reason
                having = self._having(name)
                samples_of(having if len(having) > 1 else self, name)
        return placed if merges_seeds else self, names, left_out, merges_seeds

    def _having(self, name: str) -> "Results":
        """Sources with a value of a score or measure; all if none has one, so that reading them gives the reason."""
        return Results(source for source in self if source.has(name)) or self

    def means(
        self,
        *,
        by: Sequence[str] | None = None,
        figures: Sequence[str] | None = None,
        with_incomplete: bool = False,
        sizes: EqualSizes | None = None,
    ) -> Means:
        """Means over the runs with equal settings `by`, and the comparison of all pairs of rows.

        Args:
            by: Settings; None: all that vary or, if these are many, a subset that determines the others.
            figures: Names of measures and scores, all of which are compared; None: accuracy or reward, and all scores
                of the runs; of these the scores are compared or, without any, accuracy or reward.
            with_incomplete: Whether the means include runs that were ended by the clock, a stop or pruning.
            sizes: Subsamples of larger corpora; None: scores of corpora of unequal sizes are not compared.

        Raises:
            ConfigError: If a setting or a figure is unknown.
        """
        placed = self.group(by)
        known = list(dict.fromkeys(name for source in self for name in source.figures))
        scores = dict.fromkeys(name for source in self for name in source.scores)
        names = list(figures or ())
        if figures is None:  # the scores, accuracy or reward, and the accuracy on seen objects
            names = [
                name
                for name in known
                if name in ALWAYS
                or name in scores
                or (name.startswith("seen ") and name.endswith(" accuracy"))
            ]
        for name in names:
            if name not in known:
                raise unknown_name("figure", name, known)
            if names.count(name) > 1:
                raise ConfigError(f"--metrics: {name} is named twice")
        rows: dict[str, list[Source]] = {}
        for source in placed:
            rows.setdefault(source.group, []).append(source)
        counted = Results(source for source in placed if source.counts(with_incomplete=with_incomplete))
        keys = (
            list(dict.fromkeys(key for source in placed for key in source.settings))
            if by is None
            else list(by)
        )
        asked = figures
        if asked is None:
            asked = counted.common_scores()[0] or [name for name in ALWAYS if name in known][:1]
        asked = [name for name in asked if any(source.figures.get(name) is not None for source in counted)]
        compared = None
        if len(rows) > 1 and asked:
            sizes = sizes or EqualSizes(may_draw=False)
            compared = placed.compare(asked, as_rows=True, with_incomplete=with_incomplete, sizes=sizes)
        columns = [_column(list(rows), counted, name, compared) for name in names]
        return Means(
            keys=tuple(keys),
            figures=tuple(names),
            rows=tuple(
                _combination(
                    row, keys, [column[place] for column in columns], with_incomplete=with_incomplete
                )
                for place, row in enumerate(rows.values())
            ),
            comparison=compared,
            sources=self,
        )

    def to_frame(self, rows: Literal["run", "value"] = "run") -> Any:
        """The results as a `pandas.DataFrame`.

        A setting with the name of a measure or score, such as `loss`, gets the column `setting.loss`.

        Args:
            rows: `run`: one row per run (or corpus with scores) with its settings, including the key `set` of a sweep,
                seed, status, measures and scores. `value`: the record table, one row per value, with the source,
                settings, unit (whole, a seed and target language, a speaker, a pair), sizes, 95 % interval, chance
                level, signature, version and machine.

        Raises:
            ConfigError: If there is no run or scored corpus, `rows` is unknown, or pandas is not installed.
        """
        look_up("rows", rows, dict.fromkeys(("run", "value")))
        if rows == "value":
            return as_frame([row for source in self.with_distinct_names() for row in source.rows()])
        runs = self.runs()
        taken = {"run", "seed", "status"}.union(*(source.figures for source in runs))
        return as_frame(
            [
                {
                    "run": str(source.folder or source.name),
                    **{
                        setting_column(name, taken): value
                        for name, value in {**source.settings, **source.fixed, **source.settings}.items()
                    },
                    "seed": source.seed,
                    "status": source.status,
                    **source.figures,
                }
                for source in runs
            ]
        )


def _order(value: Any) -> tuple[str, float, str]:
    """Sort key: numbers by value, other values by their text."""
    return ("", value, "") if isinstance(value, int | float) else ("other", 0.0, str(value))


def _settings_to_vary(run: Source, *, is_one_sweep: bool) -> dict[str, Any]:
    """Settings of a run without its seed: the varied ones in one sweep, otherwise all, with checksums of files."""
    own = dict(run.settings)
    if run.file.name == SWEEP and not is_one_sweep:
        own = run.config or {"name": run.game, **own}
    elif run.group.startswith("{"):
        config = json.loads(run.group)
        own |= {
            f"{section}.{name}": str(checksum)[:8]
            for section in ("data", "code")
            if isinstance(files := config.get(section), dict)
            for name, checksum in files.items()
        }
    return {key: value for key, value in own.items() if key != SEED}


def _num_told_apart(settings: Iterable[Mapping[str, Any]], keys: Sequence[str]) -> int:
    return len({repr([(key in each, each.get(key)) for key in keys]) for each in settings})


def _row_names(placed: Sequence[Source]) -> dict[str, str]:
    """Names of rows by group: short settings, or the name of the game if settings are many, if they are unique."""
    firsts: dict[str, Source] = {}
    for source in placed:
        firsts.setdefault(source.group, source)
    short = {group: short_settings(source) for group, source in firsts.items()}
    games = {group: str(source.game) for group, source in firsts.items()}
    long = {
        group: ", ".join(f"{key}={value_text(value)}" for key, value in source.settings.items())
        for group, source in firsts.items()
    }
    is_long = any(len(source.settings) > MOST_SETTINGS for source in firsts.values())
    choices = [games, short, long] if is_long else [short, long]
    names = next((each for each in choices if len(set(each.values())) == len(each)), None)
    if names is None:
        namesakes = {
            name: [group for group, other in long.items() if other == name] for name in long.values()
        }
        names = {
            group: name if len(namesakes[name]) == 1 else f"{name} ({namesakes[name].index(group) + 1})"
            for group, name in long.items()
        }
    without = "all runs" if len(firsts) == 1 else "other runs"
    return {group: name or without for group, name in names.items()}


def _reasons(source: Source) -> dict[str, str | None]:
    """Reason per undefined score of a source; None for a score with a value, or if a file has only parts of it."""
    return {record.name: record.reason or None for record in source.records if not record.is_measure}


def _combination(
    row: Sequence[Source], keys: Sequence[str], cells: Sequence[Estimate], *, with_incomplete: bool
) -> Combination:
    runs = [source for source in row if source.counts(with_incomplete=with_incomplete)]
    counted = {
        source.folder if source.is_run and source.folder is not None else number
        for number, source in enumerate(runs)
    }
    return Combination(
        name=row[0].row,
        settings=tuple(row[0].settings.get(key) for key in keys),
        num_runs=len(counted),
        num_failed=sum(source.failure is not None for source in row),
        num_incomplete=sum(
            source.failure is None and not source.is_whole and not with_incomplete for source in row
        ),
        cells=tuple(cells),
        runs=tuple(runs),
        formed=FormedProtocols.of_runs(row),
    )


def _column(
    rows: Sequence[str], sources: Sequence[Source], name: str, compared: Comparison | None
) -> list[Estimate]:
    """Estimates of a figure, one per row, from the comparison or, if the figure is not compared, from its means."""
    score = (
        next((each for each in compared.scores if each.name == name), None) if compared is not None else None
    )
    best = set[str]() if score is None else score.best()
    defined = [source for source in sources if source.figures.get(name) is not None]
    if score is not None:
        found = list(score.samples.values())
    else:
        found = samples_of(defined, name) if defined else []
    samples = {sample.fingerprint: sample for sample in found}
    return [
        replace(samples[row].estimate, is_best=samples[row].name in best)
        if row in samples
        else Estimate(mean=None)
        for row in rows
    ]
