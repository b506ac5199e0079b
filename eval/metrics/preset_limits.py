"""What an XferBench score of a reduced preset can't tell, in one line: docs/mini.md has the figures."""

_LIMITS = {
    "mini": "mini ranks classes of corpora; for games: mini-3m, danish (39 PFLOP, GPU)",
    "mini-3m": "mini-3m ranks games roughly (rho 0.7), by several seeds; surer: danish (GPU)",
}
"""By preset. Spearman's correlation of `mini` with published scores is 0.91 over 17 sources, and -0.14 within games;
that of `mini-3m` is 0.91 and 0.70 on held-out sources (docs/mini_configuration.md). The author of XferBench finds
R² = 0.99 between `danish` and all ten languages."""


def limits_of(signature: str) -> str | None:
    """The line about a score, by the preset in its signature; None if there is nothing to say."""
    name, *options = signature.split("|")
    presets = [value for key, _, value in (each.partition(":") for each in options) if key == "preset"]
    return _LIMITS.get(presets[0]) if name == "xferbench" and presets else None
