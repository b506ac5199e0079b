"""What pairs of people did: how often they understood each other, and what they said as corpora."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.corpus import SPEAKER, Corpus
from ecsuite.eval.statistics.estimates import mean_and_half_width
from ecsuite.eval.views.figures.canvas import save
from ecsuite.eval.views.figures.curves import Curve, curves
from ecsuite.files.format_numbers import with_format
from ecsuite.people.chain_languages import LETTERS, NUM_LETTERS, letter_ids, object_concepts
from ecsuite.people.database import Row
from ecsuite.people.findings import BLOCK, Mean
from ecsuite.people.objects import DATASETS, letters_of
from ecsuite.people.pair_game import LISTENING, SPEAKING
from ecsuite.people.records import Record
from ecsuite.people.report import SIMULATED, blocks_name, mean_cell
from ecsuite.people.responses_table import unheard
from ecsuite.people.study import Study
from ecsuite.runtime.ragged import Ragged
from ecsuite.tables.cells import INTERVAL
from ecsuite.tables.table import Table, name_column, number_column, row_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Understood:
    """How often one pair understood each other."""

    pair: str
    dataset: str
    num_rounds: int
    """Rounds in which the listener has chosen."""
    has_finished: bool
    """Whether these are all rounds."""
    curve: tuple[float, ...]
    """Share of rounds in which the object was chosen, in each block of ten rounds that was begun."""


def understood(study: Study, records: Sequence[Record]) -> list[Understood]:
    """How often the pairs of a study understood each other; who withdrew takes the own choices away."""
    found = []
    for name, members in pairs_of(records).items():
        rights = {
            answer["step"]: answer["is_right"]
            for record in members
            for answer in record.answers
            if answer["kind"] == LISTENING
        }
        blocks: dict[int, list[int]] = {}
        for step, is_right in sorted(rights.items()):
            blocks.setdefault(step // BLOCK, []).append(is_right)
        found.append(
            Understood(
                pair=name,
                dataset=members[0].row["dataset"],
                num_rounds=len(rights),
                has_finished=len(rights) == study.rounds,
                curve=tuple(sum(block) / len(block) for block in blocks.values()),
            )
        )
    return found


def pairs_of(records: Sequence[Record]) -> dict[str, list[Record]]:
    """The participants of each pair by its name."""
    pairs: dict[str, list[Record]] = {}
    for record in sorted(records, key=lambda record: record.row["pair"] or 0):
        if record.pair is not None:
            pairs.setdefault(record.pair, []).append(record)
    return pairs


def _means(study: Study, pairs: Sequence[Understood], dataset: str) -> tuple[list[Mean], int]:
    """The share of rounds by block, over the pairs that have finished, and their number."""
    curves_of = [pair.curve for pair in pairs if pair.dataset == dataset and pair.has_finished]
    means = [mean_and_half_width(block) for block in zip(*curves_of, strict=True)]
    return [Mean(mean=mean, half_width=half_width) for mean, half_width in means], len(curves_of)


def pairs_table(study: Study, pairs: Sequence[Understood]) -> Table:
    """A row a dataset: the share of rounds in which the object was understood, by block of ten."""
    num_blocks = -(-study.rounds // BLOCK)
    columns = [name_column("dataset"), number_column("pairs")]
    columns += [number_column(blocks_name(block, BLOCK), parts=INTERVAL) for block in range(num_blocks)]
    rows = []
    for dataset in study.datasets:
        means, number = _means(study, pairs, dataset)
        cells = [mean_cell(mean, 2) for mean in [*means, *[None] * (num_blocks - len(means))]]
        rows.append(row_of(dataset, number, *cells))
    early = sum(not pair.has_finished for pair in pairs)
    notes = [
        "mean over pairs that finished ± half of its 95 % interval (Student's t); who guesses is right in "
        f"{1 / study.choices:.2f}"
    ]
    notes += [f"left out: {early} pairs that did not finish"] if early else []
    notes += [SIMULATED] if study.simulated else []
    title = f"Study {study.name}: rounds in which pairs understood each other"
    return Table(columns=columns, rows=rows, title=title, notes=notes)


def pairs_result(study: Study, pairs: Sequence[Understood]) -> dict[str, Any]:
    """The report, JSON-ready."""
    content = {
        "study": study.name,
        "protocol": study.played_protocol,
        "simulated": study.simulated,
        "chance": 1 / study.choices,
        "pairs": [asdict(pair) for pair in pairs],
    }
    return with_format("result", content)


def draw_pairs(study: Study, pairs: Sequence[Understood], file: Path) -> None:
    """Draw the share of rounds by block, a line a dataset."""
    lines = []
    for dataset in study.datasets:
        means, number = _means(study, pairs, dataset)
        name = f"{dataset} (N={number} pairs{', simulated' if study.simulated else ''})"
        blocks = [BLOCK * (block + 1) for block in range(len(means))]
        lines.append(Curve(x=blocks, y=[mean.mean for mean in means], name=name))
    levels = {"chance": 1 / study.choices}
    save(curves(lines, x="rounds", y="share understood", limits=(0, 1.03), levels=levels), file)


def pair_corpora(study: Study, records: Sequence[Record]) -> dict[str, Corpus]:
    """By name, what each pair said, a message a round: with who spoke, who listened, and whether it was understood."""
    corpora, alone = {}, unheard(records)
    for name, members in pairs_of(records).items():
        said = [
            (answer, record) for record in members for answer in record.answers if answer["kind"] == SPEAKING
        ]
        said.sort(key=lambda each: each[0]["step"])
        if said:
            corpora[name] = _corpus(
                study, name, members, said, {step for pair, step in alone if pair == name}
            )
    return corpora


def _corpus(
    study: Study,
    name: str,
    members: Sequence[Record],
    said: Sequence[tuple[Row, Record]],
    alone: Collection[int],
) -> Corpus:
    answers, speakers = [answer for answer, _ in said], [record.name for _, record in said]
    dataset, things = members[0].row["dataset"], [answer["thing"] for answer in answers]
    others = {
        record.name: next((other.name for other in members if other is not record), "") for record in members
    }
    return Corpus(
        Ragged.from_rows([letter_ids(letters_of(answer["typed"])) for answer in answers]),
        meanings=np.array([DATASETS[dataset].values(thing) for thing in things]),
        attribute_names=("colour", "shape"),
        symbol_names=LETTERS,
        **object_concepts(dataset, things),
        columns={
            SPEAKER: np.array(speakers),
            "listener": np.array([others[speaker] for speaker in speakers]),
            "success": np.array(
                [None if answer["step"] in alone else answer["is_right"] for answer in answers]
            ),
            "round": np.array([answer["step"] + 1 for answer in answers]),
        },
        metadata={
            "speaker": study.speakers[1],
            "pair": name,
            "dataset": dataset,
            "vocab_size": NUM_LETTERS,
        },
    )
