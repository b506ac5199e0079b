"""What Croissant's responsible-AI fields say of a language, by who speaks it; whoever pushes it may say more.

The field names are those of the specification (mlcommons.org/croissant/RAI/1.0); conferences ask for them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ecsuite.hub.summary import Summary
from ecsuite.parts.config import decoded, parse_yaml
from ecsuite.runtime.errors import ConfigError, look_up, shown
from ecsuite.version import __version__

FIELDS = {
    "collection": "rai:dataCollection",
    "collection_type": "rai:dataCollectionType",
    "biases": "rai:dataBiases",
    "limitations": "rai:dataLimitations",
    "use_cases": "rai:dataUseCases",
    "social_impact": "rai:dataSocialImpact",
    "personal_information": "rai:personalSensitiveInformation",
    "annotation": "rai:machineAnnotationTools",
    "maintenance": "rai:dataReleaseMaintenancePlan",
}
"""Names of fields in a file of statements, and in Croissant."""
MANY = ("collection_type", "biases", "limitations", "use_cases", "personal_information", "annotation")
"""Fields that are lists in Croissant."""
DESCRIPTION = "description"
"""Further key of a file of statements: what it is, in place of the first sentence of the card."""
GENERATED_BY = {
    "game": "training of agents",
    "rounds": "rounds of agents",
    "grammar": "an artificial grammar",
}
"""By who speaks, what made the messages where no person did."""
UNKNOWN = "Not stated by whoever published it."

_COLLECTION = {
    "game": "Agents invented the messages while they were trained on a game; no person wrote or read them for it.",
    "rounds": "Agents played rounds with each other, without being trained in them: scripts, trained networks or "
    "language models, which the card names; no person wrote the messages.",
    "people": "People took part: they learned a language, or played with each other or with agents, and wrote.",
    "grammar": "A program wrote the messages by the rules of an artificial grammar; no person wrote them.",
    "other": UNKNOWN,
}
_BIASES = {
    "game": "The messages reflect the game, the agents' networks and the seeds, which the card names.",
    "rounds": "The messages reflect the rules, models and prompts of the agents; a language model may have read of "
    "such games before.",
    "people": "The messages reflect the people who took part, of whom nothing is stated, and those whom they met.",
    "grammar": "The messages follow the rules of the grammar alone.",
    "other": UNKNOWN,
}
_LIMITATIONS = {
    "game": "It is no natural language: symbols are numbers without a sound or a meaning of their own. Few seeds say "
    "little of a game; the intervals are over messages, not over seeds, unless the card says so.",
    "rounds": "Few runs say little of a play; a language model may not say the same again: what repeats is the run, "
    "from the answers that were kept.",
    "people": "How the people were chosen is not stated, so that nothing follows for others.",
    "grammar": "It is no natural language, and it has no more structure than its grammar.",
    "other": "How the messages were chosen is not stated, so that nothing follows for others.",
}
_PERSONAL = {
    "game": "None in the messages. The objects that they are about are those of the game.",
    "rounds": "None of people who took part: there were none. Nobody has read what language models wrote.",
    "people": "People wrote messages, and their answers are among the files. What they agreed to is not stated.",
    "grammar": "None.",
    "other": "Not stated: whoever uses it has to find out.",
}
_USES = "Research on how languages emerge, and on metrics of them; comparison with other systems by equal signatures."
_IMPACT = "None that is known: nobody speaks the language."
_MAINTENANCE = "Every version stays as a commit of the repository: cite the commit."


def statements_of(summary: Summary, given: Mapping[str, str]) -> dict[str, str]:
    """The statements by the names of `FIELDS`, in their order; those that are given stand first.

    Args:
        summary: What is pushed.
        given: See `read_statements`.
    """
    origin = summary.origin
    personal = _PERSONAL[origin]
    if summary.own_data:
        files = ", ".join(summary.own_data)
        personal = "None in the messages." if origin == "game" else personal
        personal += f" What is in the authors' data that they are about ({files}) is not stated."
    said = {
        "collection": _COLLECTION[origin],
        "collection_type": "Others" if origin == "other" else "Experiments",
        "biases": _BIASES[origin],
        "limitations": _LIMITATIONS[origin],
        "use_cases": _USES,
        "social_impact": _IMPACT if origin in GENERATED_BY else UNKNOWN,
        "personal_information": personal,
        "annotation": f"Scores: ecsuite {__version__}",
        "maintenance": _MAINTENANCE,
    }
    return said | {name: text for name, text in given.items() if name in FIELDS}


def responsible(summary: Summary, said: Mapping[str, str]) -> dict[str, Any]:
    """The statements as fields of Croissant."""
    fields: dict[str, Any] = {FIELDS[name]: [text] if name in MANY else text for name, text in said.items()}
    if summary.origin in GENERATED_BY:
        fields["rai:hasSyntheticData"] = True
        fields["prov:wasGeneratedBy"] = {
            "@type": "prov:Activity",
            "prov:label": GENERATED_BY[summary.origin],
            "sc:description": summary.plain,
        }
    return fields


def read_statements(file: Path | None) -> dict[str, str]:
    """The statements in a YAML file: texts by the names of `FIELDS`, and `description`.

    Raises:
        ConfigError: If it can't be read, has another key, or a value that is no text.
    """
    if file is None:
        return {}
    try:
        tree = parse_yaml(decoded(file.read_bytes(), file), str(file))
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror})") from None
    if not isinstance(tree, Mapping):
        raise ConfigError(f"{file}: expected texts by key, such as personal_information: none")
    for key, value in tree.items():
        look_up("statement", str(key), dict.fromkeys((DESCRIPTION, *FIELDS)))
        if not isinstance(value, str) or not value.strip():
            raise ConfigError(f"{file}: {key}: expected a text, got {shown(value)}")
    return {str(key): " ".join(value.split()) for key, value in tree.items()}
