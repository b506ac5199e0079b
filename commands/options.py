"""Options that several commands have, each written once; those of reading a corpus, and of running a study."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from ecsuite.commands.completion import OneOf
from ecsuite.runtime.errors import ConfigError, CorpusError
from ecsuite.runtime.printable import note, show_notes
from ecsuite.tables.forms import Form

if TYPE_CHECKING:
    from ecsuite.corpus import Corpus
    from ecsuite.eval.experiments.benchmark import Benchmark
    from ecsuite.formats.corpora import Reading
    from ecsuite.jobs.engines import Place
    from ecsuite.jobs.graph import Runner
    from ecsuite.jobs.job import Job

Study = TypeVar("Study")
Finding = TypeVar("Finding")

MAX_SEED = 2**31 - 1
"""Largest seed on the command line: XferBench and others make larger numbers of it, of at most 63 bits."""
MAX_SEEDS = 10_000
"""Most seeds of a study."""
MORE = "More options"
"""The group of options that few need: `--help-all` shows them, `--help` does not."""

OUTPUT, COMPUTING = "Output", "Computing"
"""Groups of options that several commands have."""
DEVICES = OneOf("auto", "cpu", "cuda", "mps")


def advanced(*names: str, group: str = "", **settings: Any) -> Any:
    """An option that few need, as `typer.Option`.

    Args:
        names: As on the command line, where that is not `--` and the parameter's name.
        group: What it belongs to, for the heading under which `--help-all` shows it.
        settings: See `typer.Option`.
    """
    return typer.Option(*names, rich_help_panel=f"{MORE}: {group}" if group else MORE, **settings)


def _require_usable(seed: int | None) -> int | None:
    """The callback of `--seed`: refuses a seed that is out of bounds."""
    if seed is not None and not 0 <= seed <= MAX_SEED:
        raise ConfigError(f"--seed: expected 0 to {MAX_SEED:,}, got {seed}")
    return seed


def _require_one_form(ctx: typer.Context, value: Any) -> Any:
    """The callback of `--json` and `--as`: refuses both."""
    others = (ctx.params.get("as_json", False), ctx.params.get("form", Form.TEXT) != Form.TEXT)
    if any(others) and value not in (False, Form.TEXT):
        raise ConfigError("--json, --as: expected one of these")
    return value


Json = Annotated[
    bool,
    typer.Option(
        "--json",
        rich_help_panel=OUTPUT,
        callback=_require_one_form,
        help="Print JSON only, on standard output.",
    ),
]
As = Annotated[
    Form,
    typer.Option(
        "--as",
        rich_help_panel=OUTPUT,
        metavar="FORM",
        callback=_require_one_form,
        help="How tables are printed: text, markdown, latex (with booktabs), csv or html.",
    ),
]


def _take_quiet(is_quiet: bool) -> bool:
    show_notes(not is_quiet)
    return is_quiet


Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        rich_help_panel=OUTPUT,
        help="Print no progress and no notes.",
        is_eager=True,
        callback=_take_quiet,
    ),
]
Device = Annotated[
    str, typer.Option(rich_help_panel=COMPUTING, metavar="DEVICE", help=f"{DEVICES}."), DEVICES
]
_SEED = typer.Option(callback=_require_usable, help="Seed of every random draw.")
Seed = Annotated[int, _SEED]
OptionalSeed = Annotated[int | None, _SEED]
Seeds = Annotated[
    str | None,
    typer.Option(metavar="SEEDS", help="A number of seeds (10), a range (123-132) or a list (123,125)."),
]
SET = "Change any setting of the YAML; can be repeated."
Set = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=SET)]
Out = Annotated[
    Path | None,
    typer.Option(
        rich_help_panel=OUTPUT,
        metavar="FILE",
        help="Write the JSON to this file, or the tables into one that ends with .csv, .tex, .md or .html.",
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        rich_help_panel=OUTPUT, metavar="FILE", help="Draw a picture into this file: .svg, .pdf or .png."
    ),
]
Measure = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=OUTPUT,
        help="Of --plot: accuracy, the default, loss, length, ...; but for curves, any score.",
    ),
]
Plan = Annotated[
    bool,
    typer.Option(
        "--plan",
        rich_help_panel=COMPUTING,
        help="Show which jobs are kept and which would run, and compute nothing.",
    ),
]
Workers = Annotated[
    int | None, advanced(group=COMPUTING, min=1, help="Number of processes; default one per core.")
]
On = Annotated[
    str | None,
    advanced(
        group=COMPUTING,
        metavar="PLACE",
        help="here, local:N, slurm, workers (yours) or ray,address=HOST:6379; default a process a core.",
    ),
]
Slurm = Annotated[
    str | None,
    advanced(
        group=COMPUTING,
        metavar="KEY=VALUE,...",
        help="Options of sbatch, such as partition=low,gres=gpu:1,time=2:00:00.",
    ),
]
OutFolder = Annotated[
    Path | None,
    typer.Option(rich_help_panel=OUTPUT, metavar="FOLDER", help="The folder to write; default runs/NAME."),
]
TrustCode = Annotated[bool, advanced("--trust-code", help="Import the foreign parts of the runs.")]
Cache = Annotated[
    Path,
    advanced(
        group=COMPUTING,
        metavar="FOLDER",
        help="Folder of finished work, which is not computed again; relative to where the command is called.",
    ),
]
Incomplete = Annotated[
    bool,
    typer.Option("--incomplete", help="Count runs that were ended by the clock, a stop or pruning, too."),
]
"""Whether runs count that did not end as their settings say."""
Results = Annotated[
    list[Path],
    typer.Argument(
        help="Run folders, corpora, files of `ecsuite score --out`, results.json files, or folders of these.",
        show_default=False,
    ),
]


def given_options(ctx: typer.Context) -> dict[str, str]:
    """The parameters of a command that the user gave: how each is written, such as `--cap`, by its name."""
    given = {}
    for parameter in ctx.command.params:
        assert parameter.name is not None
        source = ctx.get_parameter_source(parameter.name)
        if source is not None and source.name == "COMMANDLINE":
            given[parameter.name] = parameter.opts[0]
    return given


def prepare_outputs(out: Path | None, plot: Path | None) -> None:
    """Check before the work starts that files can be written."""
    from ecsuite.eval.views.figures.canvas import prepare_picture
    from ecsuite.files.atomic_files import prepare_output_file

    if plot is not None:
        prepare_picture(plot)
    if out is not None:
        prepare_output_file(out)


def read_seeds(text: str | None, first: int) -> tuple[int, ...] | None:
    """Seeds as users write them: a number of seeds (`10`), a range (`123-132`) or a list (`123,125`).

    Args:
        text: What the user wrote; None gives None.
        first: Where seeds begin if only their number is given.

    Raises:
        ConfigError: If it is none of these, or a seed is out of bounds.
    """
    if text is None:
        return None
    try:
        start, dash, end = text.partition("-")
        if "," in text:
            seeds: Sequence[int] = [int(part) for part in text.split(",") if part.strip()]
        elif dash:
            seeds = range(int(start), int(end) + 1)
        else:
            seeds = range(first, first + int(text))
        # Not len(), which has no number for a range of more than 2^63.
        if not seeds or (isinstance(seeds, range) and seeds.stop - seeds.start > MAX_SEEDS):
            raise ValueError
    except ValueError:
        raise ConfigError(
            f"--seeds {text}: expected how many (10), a range (123-132) or a list (123,125); at most {MAX_SEEDS:,}"
        ) from None
    if not 0 <= min(seeds) <= max(seeds) <= MAX_SEED:
        raise ConfigError(f"--seeds {text}: expected seeds from 0 to {MAX_SEED:,}")
    return tuple(seeds)


def names_in(text: str) -> tuple[str, ...]:
    """The names in a list separated by commas."""
    return tuple(name.strip() for name in text.split(","))


READING = "Reading a file"
"""The group of these options."""
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME=ROLE",
        help="What a column is: message, attribute, feature, speaker, group, kept ...; can be repeated.",
    ),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusOptions:
    """Options of every command that reads a corpus: columns, how messages are split, where they end."""

    column: Columns = None
    attributes: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES", help="Only these columns were meant: color,shape; the others are stored."
        ),
    ] = None
    layout: Annotated[
        str | None,
        advanced(
            group=READING,
            metavar="NAME",
            help="The layout of the file: `ecsuite list layouts`, or a YAML file.",
        ),
    ] = None
    split: Annotated[
        str,
        advanced(
            group=READING, help="Between symbols of a text: auto, spaces, letters, or a sign, such as -."
        ),
    ] = "auto"
    eos: Annotated[
        str, advanced(group=READING, help="The symbol at which messages end, or none; auto: found.")
    ] = "auto"
    numeric: Annotated[
        str,
        advanced(
            group=READING, help="Numbers that were meant are values of attributes, or features; auto: asked."
        ),
    ] = "auto"
    missing: Annotated[
        str,
        advanced(
            group=READING, help="Rows that lack a value: keep, leave (out), or take missing as a value."
        ),
    ] = "auto"
    meanings: Annotated[
        Path | None,
        advanced(group=READING, metavar="FILE", help="A second file: what each message meant, row by row."),
    ] = None

    def require_unset(self, reader: str, *, but: Sequence[str] = ()) -> None:
        """Refuse an option that is given where no file of a corpus is read.

        Args:
            reader: What does not read it, for the message.
            but: The names of those that are read.

        Raises:
            ConfigError: If one has another value than its default.
        """
        for option in fields(self):
            if option.name not in but and getattr(self, option.name) != option.default:
                raise ConfigError(f"--{option.name}: not read by {reader}; read where a corpus is read")

    def reading(self, where: Sequence[str] = ()) -> "Reading":
        """How files are read.

        Args:
            where: Which rows are read, as `--where` says it.

        Raises:
            ConfigError: If a role is not written as `NAME=ROLE`.
        """
        from ecsuite.formats.corpora import Reading

        return Reading(
            columns=roles_in(self.column) if self.column else {},
            attributes=names_in(self.attributes) if self.attributes else (),
            where=tuple(where),
            layout=self.layout,
            split=self.split,
            eos=self.eos,
            numeric=self.numeric,  # type: ignore[arg-type]
            missing=self.missing,  # type: ignore[arg-type]
            meanings=None if self.meanings is None else str(self.meanings),
        )

    def read(self, path: Path, where: Sequence[str] = (), *, is_log: bool = False) -> "Corpus":
        """Read the corpus of a path; what was taken for what goes to standard error.

        Args:
            path: The file or folder.
            where: `COLUMN=VALUE` or `COLUMN!=VALUE`: only these messages.
            is_log: Whether rows are steps or rounds of agents.

        Raises:
            CorpusError: If it cannot be read, its only message is empty, as in a file of an empty list, or it has no
                such messages.
        """
        from ecsuite.formats.reading import read_as

        corpus = read_as(path, replace(self.reading(where), is_log=is_log))
        for each in corpus.metadata.get("notes", ()):
            note(f"note: {each}")
        if len(corpus.messages) == 1 and not len(corpus.messages.values):
            raise CorpusError(
                f"{path}: its only message is empty: expected a message a line, such as [3, 1, 4]"
            )
        return corpus


def roles_in(given: Sequence[str]) -> dict[str, str]:
    """Roles by name of column, of `NAME=ROLE` each; a name may have `=` in it.

    Raises:
        ConfigError: If one is not written so, or a name is given twice.
    """
    roles: dict[str, str] = {}
    for each in given:
        name, equals, role = each.rpartition("=")
        if not equals or not name or not role:
            raise ConfigError(f"--column {each}: expected NAME=ROLE, such as --column code=message")
        if name in roles:
            raise ConfigError(f"--column {name}: given twice")
        roles[name] = role
    return roles


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOptions:
    """Options on where the jobs of a study are computed, and on its output."""

    plan: Plan = False
    on: On = None
    slurm: Slurm = None
    device: Device = "auto"
    quiet: Quiet = False
    as_json: Json = False
    form: As = Form.TEXT

    def __post_init__(self) -> None:
        """Refuse a device that is none before anything is read."""
        if self.device != "auto":
            from ecsuite.runtime.devices import require_device_name  # which imports torch

            require_device_name(self.device)

    def place(self) -> "Place":
        """The place where jobs are computed; `ConfigError` if there is no such place."""
        from ecsuite.jobs.engines import place_of

        return place_of(self.on or "local", self.slurm)

    def planning(self) -> AbstractContextManager[None]:
        """Plan jobs for where they are computed."""
        return nullcontext() if self.on is None else self.place().planning()

    def show(
        self,
        benchmark: "Benchmark[Study, Any]",
        study: Study,
        *,
        cache: Path | None = None,
        out: Path | None = None,
        plot: Path | None = None,
        retries: bool = False,
    ) -> None:
        """Do what the command of a benchmark does: print the plan of a study, or run it and show what came out.

        Args:
            benchmark: The benchmark.
            study: What is asked of it.
            cache: Folder of kept results, where the benchmark has none of its own.
            out: The file for the JSON, or, if it ends in .csv, for the record table.
            plot: The file for the figure.
            retries: Whether jobs whose failure is kept are computed again.
        """
        from ecsuite.commands.plans import print_plan
        from ecsuite.eval.experiments.benchmark import CSV, run, write_records
        from ecsuite.eval.views.figures.canvas import prepare_picture
        from ecsuite.files.atomic_files import prepare_output_file

        if plot is not None:
            benchmark.require_figure(study)
            prepare_picture(plot)
        device, place, folder = benchmark.device(study), self.place(), benchmark.store or cache
        assert folder is not None
        if self.plan:
            print_plan(
                benchmark.plan(study),
                cache=folder,
                as_json=self.as_json,
                form=self.form,
                num_places=1 if place.launcher is not None else place.workers_for(device),
                notes=benchmark.notes_on_plan(study),
                groups=benchmark.plan_groups(study),
                why_nothing=partial(benchmark.why_nothing_is_stored, study),
                measure=partial(benchmark.seconds_of, study),
            )
            return
        if out is not None:
            prepare_output_file(out)

        def measure(runner: "Runner") -> Any:
            lines = [] if self.quiet or self.as_json else benchmark.announce(study, runner)
            for line in lines or ():
                runner.note(line)
            return benchmark.measure(study, replace(runner, announces=lines is None))

        finding = run(measure, folder=folder, place=place, device=device, quiet=self.quiet, retries=retries)
        if out is not None and out.suffix == CSV:
            write_records(out, benchmark.record(study, finding))
            out = None
        benchmark.report(study, finding).publish(out=out, picture=plot, as_json=self.as_json, form=self.form)


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyOptions(RunOptions):
    """The options of a command whose results go where the user says."""

    cache: Cache
    workers: Workers = None
    out: Out = None

    def place(self) -> "Place":
        """The place where jobs are computed; `ConfigError` if there is none, or `--workers` is given as well."""
        from ecsuite.jobs.engines import Place

        if self.on is not None and self.workers is not None:
            raise ConfigError("--on, --workers: expected one of these; --workers 8 is --on local:8")
        if self.on is None and self.slurm is None:
            return Place(num_workers=self.workers)
        return RunOptions.place(self)

    def publish(self, benchmark: "Benchmark[Study, Any]", study: Study, *, plot: Path | None = None) -> None:
        """`show` it, with the folder and the file of these options."""
        self.show(benchmark, study, cache=self.cache, out=self.out, plot=plot)

    def prepare_output(self) -> None:
        """Refuse a file of `--out` that cannot be written, before anything is computed."""
        if self.out is not None:
            from ecsuite.files.atomic_files import prepare_output_file

            prepare_output_file(self.out)

    def print_plan(self, jobs: "Iterable[Job]") -> None:
        """Print which jobs are kept and which would run, for `--plan`; see `print_plan`."""
        from ecsuite.commands.plans import print_plan

        print_plan(jobs, cache=self.cache, as_json=self.as_json, form=self.form)

    def run(self, measure: "Callable[[Runner], Finding]", *, has_jobs: bool = True) -> Finding:
        """Run what is no benchmark; see `ecsuite.eval.experiments.benchmark.run`.

        Args:
            measure: Computes it.
            has_jobs: Whether jobs are computed; without any, only its progress and requests to stop are looked after.
        """
        if not has_jobs:
            from ecsuite.eval.views.console import Reporter
            from ecsuite.jobs.graph import Runner
            from ecsuite.jobs.signals import stop_signals

            with Reporter(cache_dir=self.cache, quiet=self.quiet) as reporter, stop_signals() as should_stop:
                runner = Runner(progress=reporter.progress, note=reporter.note, should_stop=should_stop)
                return measure(runner)
        from ecsuite.eval.experiments.benchmark import run

        return run(
            measure,
            folder=self.cache,
            place=self.place(),
            quiet=self.quiet,
            announces=not self.as_json,
        )
