"""Options that several commands share, including the options for reading a corpus and for running a study."""

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
"""Maximum seed on the command line; XferBench and others derive larger numbers from it, of at most 63 bits."""
MAX_SEEDS = 10_000
"""Maximum number of seeds of a study."""
MORE = "More options"
"""Group of rarely used options, which only `--help-all` shows."""

OUTPUT, COMPUTING = "Output", "Computing"
"""Groups of options that several commands share."""
DEVICES = OneOf("auto", "cpu", "cuda", "mps")


def advanced(*names: str, group: str = "", **settings: Any) -> Any:
    """Make a `typer.Option` that only `--help-all` shows.

    Args:
        names: Names on the command line, if they differ from `--` and the parameter's name.
        group: Heading under which `--help-all` shows the option.
        settings: See `typer.Option`.
    """
    return typer.Option(*names, rich_help_panel=f"{MORE}: {group}" if group else MORE, **settings)


def _require_usable(seed: int | None) -> int | None:
    """Check the bounds of `--seed`."""
    if seed is not None and not 0 <= seed <= MAX_SEED:
        raise ConfigError(f"--seed: expected 0 to {MAX_SEED:,}, got {seed}")
    return seed


def _require_one_form(ctx: typer.Context, value: Any) -> Any:
    """Check that `--json` and `--as` are not both given."""
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
        help="Format of printed tables: text, markdown, latex (with booktabs), csv or html.",
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
        help="Write the JSON to this file, or the tables if its name ends with .csv, .tex, .md or .html.",
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
        help="Measure for --plot: accuracy, the default, loss, length, ...; except for curves, any score.",
    ),
]
Plan = Annotated[
    bool,
    typer.Option(
        "--plan",
        rich_help_panel=COMPUTING,
        help="Show which jobs have stored results and which would run, and compute nothing.",
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
        help="here, local:N, slurm, workers (yours) or ray,address=HOST:6379; default one process per core.",
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
TrustCode = Annotated[
    bool, advanced("--trust-code", help="Import Python code of other people that runs name.")
]
Cache = Annotated[
    Path,
    advanced(
        group=COMPUTING,
        metavar="FOLDER",
        help="Folder of stored results, which are not computed again; relative to the current folder.",
    ),
]
Incomplete = Annotated[
    bool,
    typer.Option("--incomplete", help="Include runs that ended early, by a time limit, a stop or pruning."),
]
"""Whether to include runs that ended early."""
Results = Annotated[
    list[Path],
    typer.Argument(
        help="Run folders, corpora, files of `ecsuite score --out`, results.json files, or folders of these.",
        show_default=False,
    ),
]


def given_options(ctx: typer.Context) -> dict[str, str]:
    """Names of the parameters that the user gave, with their form on the command line, such as `--cap`."""
    given = {}
    for parameter in ctx.command.params:
        assert parameter.name is not None
        source = ctx.get_parameter_source(parameter.name)
        if source is not None and source.name == "COMMANDLINE":
            given[parameter.name] = parameter.opts[0]
    return given


def prepare_outputs(out: Path | None, plot: Path | None) -> None:
    """Check that the output files can be written, before computing."""
    from ecsuite.eval.views.figures.canvas import prepare_picture
    from ecsuite.files.atomic_files import prepare_output_file

    if plot is not None:
        prepare_picture(plot)
    if out is not None:
        prepare_output_file(out)


def read_seeds(text: str | None, first: int) -> tuple[int, ...] | None:
    """Parse seeds: a number of seeds (`10`), a range (`123-132`) or a list (`123,125`).

    Args:
        text: The value of the option; None gives None.
        first: The first seed if only a number of seeds is given.

    Raises:
        ConfigError: If the text is not valid, or a seed is out of bounds.
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
        # len() fails for ranges of more than 2^63.
        if not seeds or (isinstance(seeds, range) and seeds.stop - seeds.start > MAX_SEEDS):
            raise ValueError
    except ValueError:
        raise ConfigError(
            f"--seeds {text}: expected a number (10), a range (123-132) or a list (123,125); at most {MAX_SEEDS:,}"
        ) from None
    if not 0 <= min(seeds) <= max(seeds) <= MAX_SEED:
        raise ConfigError(f"--seeds {text}: expected seeds from 0 to {MAX_SEED:,}")
    return tuple(seeds)


def names_in(text: str) -> tuple[str, ...]:
    """Split a list of names at commas."""
    return tuple(name.strip() for name in text.split(","))


READING = "Reading a file"
"""Group of options for reading a corpus."""
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME=ROLE",
        help="Role of a column: message, attribute, feature, speaker, group, kept ...; can be repeated.",
    ),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusOptions:
    """Options of every command that reads a corpus: roles of columns, separators, EOS and so on."""

    column: Columns = None
    attributes: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="The columns that are attributes of the meaning: color,shape; the others are stored.",
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
            group=READING, help="Separator of symbols in a text: auto, spaces, letters, or a sign, such as -."
        ),
    ] = "auto"
    eos: Annotated[str, advanced(group=READING, help="The EOS symbol, or none; auto: detected.")] = "auto"
    numeric: Annotated[
        str,
        advanced(
            group=READING,
            help="Whether numbers in meanings are values of attributes, or features; auto: asked.",
        ),
    ] = "auto"
    missing: Annotated[
        str,
        advanced(group=READING, help="Rows without a value: keep, leave (out), or take missing as a value."),
    ] = "auto"
    meanings: Annotated[
        Path | None,
        advanced(
            group=READING, metavar="FILE", help="A second file with the meaning of each message, row by row."
        ),
    ] = None

    def require_unset(self, reader: str, *, but: Sequence[str] = ()) -> None:
        """Check that no option for reading a corpus is given.

        Args:
            reader: What does not use the options, for the message.
            but: Names of options that are allowed.

        Raises:
            ConfigError: If another option differs from its default.
        """
        for option in fields(self):
            if option.name not in but and getattr(self, option.name) != option.default:
                raise ConfigError(f"--{option.name}: not read by {reader}; read where a corpus is read")

    def reading(self, where: Sequence[str] = ()) -> "Reading":
        """The options as a `Reading`.

        Args:
            where: Conditions on rows, in the syntax of `--where`.

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
        """Read the corpus of a path; notes on inferred properties go to standard error.

        Args:
            path: The file or folder.
            where: `COLUMN=VALUE` or `COLUMN!=VALUE`: only these messages.
            is_log: Whether rows are steps or rounds of agents.

        Raises:
            CorpusError: If the corpus can't be read, its only message is empty, for example in a file with an empty
                list, or no message meets the conditions.
        """
        from ecsuite.formats.reading import read_as

        corpus = read_as(path, replace(self.reading(where), is_log=is_log))
        for each in corpus.metadata.get("notes", ()):
            note(f"note: {each}")
        if len(corpus.messages) == 1 and not len(corpus.messages.values):
            raise CorpusError(
                f"{path}: its only message is empty: expected one message per line, such as [3, 1, 4]"
            )
        return corpus


def roles_in(given: Sequence[str]) -> dict[str, str]:
    """Parse `NAME=ROLE` into roles by name of column; a name may contain `=`.

    Raises:
        ConfigError: If an item is not valid, or a name is given twice.
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
    """Options for the execution of a study's jobs, and for its output."""

    plan: Plan = False
    on: On = None
    slurm: Slurm = None
    device: Device = "auto"
    quiet: Quiet = False
    as_json: Json = False
    form: As = Form.TEXT

    def __post_init__(self) -> None:
        """Validate the device before anything is read."""
        if self.device != "auto":
            from ecsuite.runtime.devices import require_device_name  # imports torch

            require_device_name(self.device)

    def place(self) -> "Place":
        """Execution backend of the jobs; `ConfigError` if it is unknown."""
        from ecsuite.jobs.engines import place_of

        return place_of(self.on or "local", self.slurm)

    def planning(self) -> AbstractContextManager[None]:
        """Context in which jobs are planned for the execution backend."""
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
        """Run the command of a benchmark: print the plan of a study, or run the study and show its results.

        Args:
            benchmark: The benchmark.
            study: The study.
            cache: Folder of stored results, if the benchmark has none of its own.
            out: The file for the JSON, or, if it ends in .csv, for the record table.
            plot: The file for the figure.
            retries: Whether jobs with a stored failure are computed again.
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
    """Options of a command with `--cache` and `--out`."""

    cache: Cache
    workers: Workers = None
    out: Out = None

    def place(self) -> "Place":
        """Execution backend of the jobs; `ConfigError` if it is unknown, or `--workers` is given as well."""
        from ecsuite.jobs.engines import Place

        if self.on is not None and self.workers is not None:
            raise ConfigError("--on, --workers: expected one of these; --workers 8 is --on local:8")
        if self.on is None and self.slurm is None:
            return Place(num_workers=self.workers)
        return RunOptions.place(self)

    def publish(self, benchmark: "Benchmark[Study, Any]", study: Study, *, plot: Path | None = None) -> None:
        """Run `show` with the folder and the file of these options."""
        self.show(benchmark, study, cache=self.cache, out=self.out, plot=plot)

    def prepare_output(self) -> None:
        """Check that the file of `--out` can be written, before anything is computed."""
        if self.out is not None:
            from ecsuite.files.atomic_files import prepare_output_file

            prepare_output_file(self.out)

    def print_plan(self, jobs: "Iterable[Job]") -> None:
        """Print the plan for `--plan`; see `print_plan`."""
        from ecsuite.commands.plans import print_plan

        print_plan(jobs, cache=self.cache, as_json=self.as_json, form=self.form)

    def run(self, measure: "Callable[[Runner], Finding]", *, has_jobs: bool = True) -> Finding:
        """Run a measurement outside of a benchmark; see `ecsuite.eval.experiments.benchmark.run`.

        Args:
            measure: The measurement.
            has_jobs: Whether it has jobs; otherwise only progress and requests to stop are handled.
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
