"""What the ICY paper prints of accuracy after a fixed number of updates: Perkins (2021), Tables 16, 17, 18 and 20.

Tables 16 and 17 say that CONCAT was trained to 0.95, but their CONCAT over `soft` and `gumbel` fits 0.99. Receivers are
those of the published program, which differ from what the paper says of them: `cnn,blocks=3`, `fc2l,form=sum`,
`hier:CELL,stop=first,reset=on`, and over the channel `gumbel,form=program`. Table 18 does not say whether its
figures are the sender's or the receiver's.
"""

from collections.abc import Mapping

from ecsuite.agents.spec import Role, parse_agent

SENDER_GRAMMARS = ("concat", "proj", "pairsum", "perm", "rot", "shufdet", "hol")
RECEIVER_GRAMMARS = ("concat", "proj", "pairsum", "perm", "rot", "shuf", "shufdet", "hol")
PAIR_GRAMMARS = ("concat", "perm", "rot", "shufdet", "pairsum")

Figures = Mapping[str, float]


def _rows(grammars: tuple[str, ...], rows: Mapping[str, tuple[float | None, ...]]) -> dict[str, Figures]:
    """Figures by model and grammar, where there are any."""
    return {
        model: {name: value for name, value in zip(grammars, figures, strict=True) if value is not None}
        for model, figures in rows.items()
    }


TABLE_16: Mapping[str, Mapping[str, Figures]] = {
    "soft": _rows(
        SENDER_GRAMMARS,
        {
            "fc1l": (1.000, 0.88, 0.538, 1.000, 0.49, 0.77, 0.255),
            "fc2l": (1.000, 0.924, 0.54, 1.000, 0.49, 0.77, 0.253),
            "husendz:rnn": (0.995, 0.846, 0.629, 0.995, 0.68, 0.95, 0.242),
            "husenda:rnn": (0.995, 0.87, 0.68, 0.987, 0.74, 0.985, 0.254),
            "sru-2l-z": (0.993, 0.790, 0.76, 0.971, 0.72, 0.931, 0.249),
            "transformer": (0.994, 0.812, 0.53, 0.984, 0.58, 0.82, 0.249),
            "transformer-2l": (0.995, 0.818, 0.61, 0.990, 0.548, 0.85, 0.246),
        },
    ),
    "gumbel": _rows(
        SENDER_GRAMMARS,
        {
            "fc1l": (0.997, 0.846, 0.53, 1.000, 0.49, 0.750, 0.249),
            "fc2l": (0.998, 0.84, 0.49, 1.000, 0.49, 0.74, 0.256),
            "husendz:rnn": (0.991, 0.85, 0.64, 0.989, 0.72, 0.96, 0.249),
            "husenda:rnn": (0.994, 0.858, 0.63, 0.993, 0.68, 0.94, 0.256),
            "sru-2l-z": (0.992, 0.76, 0.722, 0.95, 0.691, 0.89, 0.255),
            "transformer": (0.993, 0.78, 0.53, 0.981, 0.53, 0.81, 0.251),
            "transformer-2l": (0.992, 0.784, 0.52, 0.979, 0.50, 0.77, 0.243),
        },
    ),
    "reinforce": _rows(
        SENDER_GRAMMARS,
        {
            "fc1l": (0.961, 0.739, 0.423, 0.984, 0.46, 0.67, 0.252),
            "fc2l": (0.969, 0.75, 0.42, 0.981, 0.459, 0.68, 0.246),
            "husendz:rnn": (0.959, 0.731, 0.52, 0.93, 0.61, 0.70, 0.249),
            "husenda:rnn": (0.956, 0.65, 0.53, 0.94, 0.607, 0.74, 0.248),
            "sru-2l-z": (0.955, 0.67, 0.629, 0.87, 0.65, 0.715, 0.241),
            "transformer": (0.956, 0.68, 0.364, 0.93, 0.49, 0.63, 0.255),
            "transformer-2l": (0.951, 0.67, 0.304, 0.91, 0.42, 0.45, 0.245),
        },
    ),
}
"""Senders: channel, model, grammar."""

TABLE_17: Mapping[str, Mapping[str, Figures]] = {
    "soft": _rows(
        RECEIVER_GRAMMARS,
        {
            "cnn": (0.997, 0.57, 0.59, 0.965, 0.92, 0.63, 0.82, 0.106),
            "fc2l": (1.000, 0.77, 0.50, 1.000, 0.44, 0.63, 0.84, 0.101),
            "hier:gru": (0.996, 0.57, 0.51, 0.95, 0.94, 0.972, 0.970, 0.111),
            "hier:dgrecv": (0.993, 0.52, 0.43, 0.972, 0.96, 0.89, 0.91, 0.097),
            "lstm": (0.994, 0.529, 0.42, 0.93, 0.83, 0.721, 0.88, 0.091),
            "dgrecv": (0.993, 0.532, 0.38, 0.963, 0.90, 0.70, 0.91, 0.096),
            "gru-2l": (0.996, 0.568, 0.57, 0.93, 0.94, 0.90, 0.973, 0.112),
            "sru-2l": (0.994, 0.55, 0.47, 0.91, 0.89, 0.90, 0.962, 0.099),
        },
    ),
    "gumbel": _rows(
        RECEIVER_GRAMMARS,
        {
            "cnn": (0.994, 0.53, 0.49, 0.93, 0.79, 0.58, 0.85, 0.107),
            "fc2l": (1.000, 0.657, 0.37, 1.000, 0.38, 0.485, 0.75, 0.107),
            "hier:gru": (0.994, 0.54, 0.46, 0.96, 0.943, 1.000, 0.999, 0.099),
            "hier:dgrecv": (0.998, 0.54, 0.50, 0.963, 0.982, 1.000, 1.000, 0.096),
            "lstm": (0.997, 0.511, 0.30, 0.977, 0.84, 0.85, 0.937, 0.094),
            "dgrecv": (0.996, 0.62, 0.61, 1.000, 0.95, 0.88, 0.93, 0.103),
            "gru-2l": (0.995, 0.54, 0.42, 0.95, 0.95, 0.94, 0.981, 0.10),
            "sru-2l": (0.995, 0.45, 0.28, 0.87, 0.80, 0.947, 0.967, 0.100),
        },
    ),
    "reinforce": _rows(
        RECEIVER_GRAMMARS,
        {
            "cnn": (0.8, 0.28, 0.32, 0.7, 0.59, 0.5, 0.70, 0.098),
            "fc2l": (0.93, 0.67, 0.44, 0.96, 0.47, 0.48, 0.69, 0.103),
            "hier:gru": (0.973, 0.49, 0.43, 0.981, 0.8, 1.000, 0.98, 0.097),
            "hier:dgrecv": (0.96, 0.508, 0.47, 0.976, 0.6, 0.7, 0.93, 0.096),
            "lstm": (0.989, 0.44, 0.25, 0.90, 0.568, 0.77, 0.90, 0.100),
            "dgrecv": (0.93, 0.59, 0.5, 0.991, 0.87, 0.989, 0.95, 0.120),
            "gru-2l": (0.986, 0.46, 0.37, 0.93, 0.80, 0.92, 0.98, 0.100),
            "sru-2l": (0.961, 0.36, 0.21, 0.77, 0.60, 0.82, 0.85, 0.094),
        },
    ),
}
"""Receivers: channel, model, grammar."""

TABLE_18: Mapping[str, Mapping[str, Figures]] = {
    "soft": _rows(
        PAIR_GRAMMARS,
        {
            "dgsend dgrecv": (0.919, 0.859, 0.33, 0.893, 0.61),
            "gru gru": (0.949, 0.94, 0.89, 0.976, 0.73),
            "husendz:gru hier:gru": (0.85, 0.80, 0.53, 0.74, 0.63),
            "rnn-2l-z rnn-2l": (0.870, 0.80, 0.83, 0.954, 0.66),
            "rnn-z rnn": (0.87, 0.829, None, 0.946, 0.72),
            "gru-z gru": (0.887, 0.88, 0.891, 0.913, 0.78),
        },
    ),
    "gumbel": _rows(
        PAIR_GRAMMARS,
        {
            "dgsend dgrecv": (0.46, 0.38, 0.32, 0.25, 0.096),
            "gru gru": (0.381, 0.433, 0.388, 0.344, 0.350),
            "husendz:gru hier:gru": (0.36, 0.7, 0.26, 0.202, 0.27),
            "rnn-2l-z rnn-2l": (0.935, 0.28, 0.48, 0.82, 0.492),
            "rnn-z rnn": (0.80, 0.25, 0.501, 0.56, None),
            "gru-z gru": (0.909, 0.85, 0.746, 0.89, 0.51),
        },
    ),
    "reinforce": _rows(
        PAIR_GRAMMARS,
        {
            "dgsend dgrecv": (0.18, 0.30, 0.262, 0.27, 0.17),
            "gru gru": (0.36, 0.68, 0.34, 0.38, 0.50),
            "husendz:gru hier:gru": (0.40, 0.34, 0.31, 0.34, 0.36),
            "rnn-2l-z rnn-2l": (0.72, 0.56, 0.42, 0.28, 0.38),
            "rnn-z rnn": (0.827, 0.750, None, 0.279, 0.282),
            "gru-z gru": (0.58, 0.80, 0.445, 0.61, 0.577),
        },
    ),
}
"""Pairs after 10,000 updates end to end: channel, sender and receiver, grammar."""

TABLE_20: Mapping[str, Figures] = _rows(
    ("perm", "proj", "rot", "shufdet", "hol"),
    {
        "fc1l": (0.995, 0.848, 0.478, 0.741, 0.258),
        "fc2l": (0.995, 0.78, 0.481, 0.715, 0.252),
        "lstm": (0.967, 0.823, 0.721, 0.894, 0.251),
        "lstm-2l": (0.961, 0.817, 0.705, 0.9, 0.249),
    },
)
"""Senders over `soft`, CONCAT to 0.99, 5 seeds: model, grammar."""


def published_budget(model: str, role: Role, channel: str) -> Figures:
    """The paper's accuracies of a model at CONCAT's budget; Table 20 where it stands in two; empty if in none."""
    spec = parse_agent(role, model)
    if "hidden" in dict(spec.options):
        return {}
    table = (TABLE_16 if role == "sender" else TABLE_17).get(channel, {})
    extra = TABLE_20.get(spec.name, {}) if role == "sender" and channel == "soft" else {}
    return {**table.get(spec.name, {}), **extra}


def published_pair(sender: str, receiver: str, channel: str) -> Figures:
    """The paper's accuracies of a pair after training end to end; empty where there are none."""
    specs = parse_agent("sender", sender), parse_agent("receiver", receiver)
    if any("hidden" in dict(spec.options) for spec in specs):
        return {}
    return TABLE_18.get(channel, {}).get(" ".join(spec.name for spec in specs), {})
