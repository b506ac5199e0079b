"""`ecsuite data features`: write features of images, or synthetic features."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import Device, Quiet, Seed, given_options
from ecsuite.eval.views.console import Reporter
from ecsuite.files.atomic_files import prepare_output_file
from ecsuite.parts.config import refuse_unread
from ecsuite.runtime.errors import ConfigError

READS = {
    "--images": ("images", "encoder", "device"),
    "synthetic features": ("seed", "num_classes", "images_per_class", "num_features", "num_attributes"),
}
"""Options that each kind of output uses."""


def features(
    ctx: typer.Context,
    out: Annotated[Path, typer.Argument(help="The npz file to write.")],
    images: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of images, or of subfolders of images, one per class."),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="ENCODER",
            help="Image encoder: a folder, or a name on the Hugging Face hub; default a ResNet.",
        ),
    ] = None,
    device: Device = "auto",
    quiet: Quiet = False,
    seed: Seed = 0,
    num_classes: Annotated[
        int, typer.Option(rich_help_panel="Synthetic features", help="Number of synthetic classes.")
    ] = 40,
    images_per_class: Annotated[
        int, typer.Option(rich_help_panel="Synthetic features", help="Synthetic rows per class.")
    ] = 40,
    num_features: Annotated[
        int, typer.Option(rich_help_panel="Synthetic features", help="Width of a synthetic feature vector.")
    ] = 64,
    num_attributes: Annotated[
        int,
        typer.Option(
            rich_help_panel="Synthetic features", help="Number of binary attributes of a synthetic row."
        ),
    ] = 16,
) -> None:
    """Write a feature file: an encoder's features of your images, or synthetic features to try a game with."""
    if out.suffix != ".npz":
        raise ConfigError(f"{out}: expected the name of a feature file, ending in .npz")
    source = "synthetic features" if images is None else "--images"
    refuse_unread(source, [source], given_options(ctx), READS)
    prepare_output_file(out)
    from ecsuite.games.worlds.feature_files import synthetic_features, write_features

    if images is None:
        arrays = synthetic_features(seed, num_classes, images_per_class, num_features, num_attributes)
    else:
        from ecsuite.games.worlds.images import DEFAULT_ENCODER, encode_folder

        with Reporter(quiet=quiet) as reporter:
            arrays = encode_folder(
                images, encoder or DEFAULT_ENCODER, device=device, progress=reporter.progress
            )
    write_features(out, arrays)
    num_rows, width = arrays["features"].shape
    classes = f" of {arrays['class_id'].max() + 1:,} classes" if "class_id" in arrays else ""
    print(f"{num_rows:,} rows{classes}, {width:,} features each, in {out}")
