"""What was played, by whom, and how it was trained, from the configs of runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ecsuite.agents.registry import CELLS, PERCEPTIONS, RECEIVERS, SENDERS
from ecsuite.eval.methods.prose import Cite, Paragraph, Sentence, listed
from ecsuite.eval.methods.settings import (
    line_of,
    options_text,
    section_sentences,
    value_text,
    values_of,
)
from ecsuite.games.registry import CHANNELS, LOSSES, MEETINGS, OPTIMIZERS, PLAYS, SCHEDULES, TASKS, WORLDS
from ecsuite.parts.registry import KIND
from ecsuite.runtime.printable import counted

SIZES = {"num_examples", "batch_size", "num_epochs"}
"""Settings of the training that say how many rounds there were."""

Tree = Mapping[str, Any]


def sections(configs: Sequence[Tree], name: str) -> list[Tree]:
    """A section in each config that has it."""
    return [config[name] for config in configs if isinstance(config.get(name), Mapping)]


def are_rounds(configs: Sequence[Tree]) -> bool:
    """Whether all are plays of rounds, in which nobody is trained."""
    return bool(configs) and all("participant" in (config.get("play") or ()) for config in configs)


def game_paragraph(configs: Sequence[Tree]) -> Paragraph:
    """The game: objects, task, channel."""
    names = values_of(configs, "name")
    word = "game" if len(names) == 1 else "games"
    begin: Sentence = [
        f"Agents {'played' if are_rounds(configs) else 'were trained on'} the {word} {listed(names)}", Cite.of(*names),
        " with ecsuite", Cite.of("ecsuite"), ".",
    ]  # fmt: skip
    sentences: list[Sentence] = [begin]
    if plays := sections(configs, "play"):
        alone = () if any(values_of(plays, "num_others")) else ("num_others", "other")
        sentences.append(section_sentences(plays, PLAYS, "What is played is", without=alone))
    for name, registry, begins in (
        ("world", WORLDS, "The world is"),
        ("task", TASKS, "The task is"),
        ("channel", CHANNELS, "The channel is"),
    ):
        if trees := sections(configs, name):
            sentences.append(section_sentences(trees, registry, begins))
    return Paragraph(about="game", sentences=tuple(sentences))


def agents_paragraph(configs: Sequence[Tree]) -> Paragraph | None:
    """The agents, and the society that they make; None where the play has none that are known."""
    sentences: list[Sentence] = []
    for role, registry in (("sender", SENDERS), ("receiver", RECEIVERS)):
        if trees := sections(configs, role):
            sentences.append(
                section_sentences(trees, registry, f"The {role} is", without=("cell", "perception"))
            )
            sentences += _within(trees, role)
    sentences += _society(sections(configs, "society"))
    if generations := sections(configs, "generations"):
        sentences.append([f"Of generations: {options_text(generations)}."])
    return Paragraph(about="agents", sentences=tuple(sentences)) if sentences else None


def _society(trees: Sequence[Tree]) -> Iterator[Sentence]:
    """How many agents there are, and who meets whom."""
    if not trees:
        return
    if any(values_of(trees, "agents")):
        yield [f"There are {value_text(values_of(trees, 'agents'))} agents that send and receive."]
    else:
        numbers = (f"{value_text(values_of(trees, role))} {role}" for role in ("senders", "receivers"))
        yield [f"There are {listed(numbers)}."]
    if meets := [tree["meets"] for tree in trees if isinstance(tree.get("meets"), Mapping)]:
        yield section_sentences(meets, MEETINGS, "Who plays with whom:")
    if options := options_text(trees, without=("senders", "receivers", "agents", "meets")):
        yield [f"Of the society: {options}."]


def _within(trees: Sequence[Tree], role: str) -> Iterator[Sentence]:
    """The cell and the perception of an agent."""
    if cells := [cell for cell in values_of(trees, "cell") if cell]:
        pieces: list[Any] = [f"Its cell is {value_text(cells)}"]
        lines = [line_of(CELLS, str(cell)) for cell in cells]
        pieces += [f" ({'; '.join(filter(None, lines))})"] if any(lines) else []
        yield [*pieces, Cite.of(*cells), "."]
    seen = [tree["perception"] for tree in trees if isinstance(tree.get("perception"), Mapping)]
    if seen:
        yield section_sentences(seen, PERCEPTIONS, "It sees objects through")


def training_paragraph(configs: Sequence[Tree], endings: Sequence[Tree]) -> Paragraph:
    """Loss, optimiser, sizes, precision, and when training stops.

    Args:
        configs: The settings of the runs.
        endings: What their metadata say of the end of training, of those that ended.
    """
    sentences: list[Sentence] = [*_loss(sections(configs, "loss"))]
    for name, registry, begins in (
        ("optimizer", OPTIMIZERS, "The optimiser is"),
        ("schedule", SCHEDULES, "The schedule of the learning rate is"),
    ):
        if trees := sections(configs, name):
            sentences.append(section_sentences(trees, registry, begins))
    training = sections(configs, "training")

    if training:
        epochs = value_text(values_of(training, "num_epochs"))
        long = f"{epochs} epoch{'' if epochs == '1' else 's'}"
        sizes = f"in batches of {value_text(values_of(training, 'batch_size'))}{_accumulated(training)}"
        what, how = "Training lasts", f", in {value_text(values_of(training, 'precision'))}"
        if are_rounds(configs):
            what, how = "Nobody is trained; the play lasts", ""
        text = f"{what} at most {long} of {_rounds(training, endings)}, {sizes}{_steps(endings)}{how}"
        sentences.append([f"{text}."])
        sentences += [*_stops(training), *_begins(training)]
    return Paragraph(about="training", sentences=tuple(sentences))


def _loss(trees: Sequence[Tree]) -> Iterator[Sentence]:
    """What training minimises; the loss of a task alone has no cost of symbols."""
    if trees and values_of(trees, KIND) == ["task"]:
        options = options_text(trees, without=(KIND,))
        yield [
            f"Training minimises the loss of the task{f' and a cost of symbols: {options}' if options else ''}."
        ]
    elif trees:
        yield section_sentences(trees, LOSSES, "Training minimises")


def _rounds(training: Sequence[Tree], endings: Sequence[Tree]) -> str:
    """How many rounds an epoch has: as set, unless the steps that were made say that the world has others."""
    for tree, end in zip(training, endings, strict=False):
        if not tree.keys() >= SIZES:  # a config that was not made by a run
            continue
        batches = -(-tree["num_examples"] // (tree["batch_size"] * tree.get("accumulate", 1)))
        if end.get("num_steps") not in (None, batches * tree["num_epochs"]):
            return "all rounds of the world"
    return f"{value_text(values_of(training, 'num_examples'))} rounds"


def _accumulated(training: Sequence[Tree]) -> str:
    values = values_of(training, "accumulate")
    return "" if values in ([], [1]) else f", with gradients of {value_text(values)} batches a step"


def _steps(endings: Sequence[Tree]) -> str:
    # In the order of runs, as the numbers of rounds and epochs that they come of are.
    values = list(dict.fromkeys(end["num_steps"] for end in endings if isinstance(end.get("num_steps"), int)))
    return f", that is {value_text(values)} steps" if values else ""


def _stops(training: Sequence[Tree]) -> Iterator[Sentence]:
    """When training stops before its epochs are over, and of which state the figures are."""
    texts = {
        "until_accuracy": "when an evaluation reaches an accuracy of {}",
        "max_minutes": "after {} minutes",
        "patience": "after {} evaluations without a better value",
    }
    reasons = [
        text.format(value_text(values))
        for key, text in texts.items()
        if (values := [value for value in values_of(training, key) if value is not None])
    ]
    every = value_text(values_of(training, "evaluate_every"))
    if reasons:
        yield [f"It stops before that {listed(reasons, 'or')}; agents are evaluated every {every} steps."]
    else:
        yield [f"Agents are evaluated every {every} steps, and nothing stops training before its end."]
    if kept := [value for value in values_of(training, "keep_best") if value is not None]:
        yield [f"Figures and messages are of the evaluation with the best {value_text(kept)}."]


def _begins(training: Sequence[Tree]) -> Iterator[Sentence]:
    """Agents that begin with the weights of others, or are not trained."""
    for role in ("sender", "receiver"):
        if any(values_of(training, f"init_{role}")):
            yield [f"The {role} begins with weights of another run."]
        if any(values_of(training, f"freeze_{role}")):
            yield [f"The weights of the {role} are not trained."]


def evaluation_paragraph(configs: Sequence[Tree], chance: Mapping[str, Sequence[Any]]) -> Paragraph | None:
    """Of what figures and corpora are, and the chance levels.

    Args:
        configs: The settings of the runs.
        chance: The chance levels of each figure that the metadata have.
    """
    evaluation = sections(configs, "evaluation")
    if not evaluation:
        return None

    def of(key: str) -> str:
        return value_text(values_of(evaluation, key))

    modes = {"greedy": "of the most likely symbols", "sample": "of sampled symbols"}
    how = value_text([modes.get(mode, mode) for mode in values_of(evaluation, "mode")])
    sentences: list[Sentence] = [
        [f"Figures are of {of('num_valid')} validation rounds, with messages {how}."],
        [f"A corpus has at most {of('corpus_size')} messages of each sender."],
    ]
    answer = "the best of some answers that read no message (by place, frequency and likeness)"
    if are_rounds(configs):
        window, answer = value_text(values_of(sections(configs, "play"), "window")), "answers drawn at random"
        sentences = [
            [
                f"Figures are of the last {window} rounds; a corpus has what each agent said last of each thing."
            ]
        ]
    for name, levels in chance.items():
        words = name.replace("_", " ")
        text = f"The chance level of {words}, that of {answer}, is {value_text(levels)}."
        sentences.append([text])
    return Paragraph(about="evaluation", sentences=tuple(sentences))


def models_paragraph(metadata: Iterable[Mapping[str, Any]]) -> Paragraph | None:
    """Which models answered, by what prompt, and what that took; None where nobody was asked.

    Args:
        metadata: What is known of each run.
    """
    sentences: list[Sentence] = []
    for each in metadata:
        participants = each.get("participants")
        for place, known in (participants if isinstance(participants, Mapping) else {}).items():
            if isinstance(known, Mapping) and known.get("models"):
                text = (
                    f"Answers of {place} are of {listed(known['models'])} (backend {known['backend']}, prompt of "
                    f"SHA-256 {known['prompt_sha256'][:16]}): {known['calls']:,} calls, {known['tokens']:,} tokens."
                )
                sentences += [[text]] if [text] not in sentences else []
    return Paragraph(about="models", sentences=tuple(sentences)) if sentences else None


def seeds_text(seeds: Sequence[int]) -> str:
    """Seeds in words: `seed 1`; `3 seeds (1, 2 and 3)`."""
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    return f"{counted(len(seeds), 'seed')} ({listed(seeds)})"
