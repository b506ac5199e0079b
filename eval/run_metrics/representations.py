"""What the agents of a run make of objects: vectors, to compare with each other or to read attributes from."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.agents.autocast import call_receiver
from ecsuite.games.players.pair import Pair
from ecsuite.games.views import View
from ecsuite.games.worlds.world import World

Vectors = NDArray[np.float64]
NOTHING_LEARNT = "no representation of objects is known that the {} learns"
"""Why a score of vectors of an agent is undefined."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Objects:
    """Some objects of a world, each once."""

    features: Tensor
    """As the agents get them, (num_objects, *object_shape)."""
    meanings: NDArray[np.generic]
    """What the world says of them, (num_objects, num_attributes)."""


def objects_of(world: World, most: int, seed: int) -> Objects | None:
    """At most so many objects of the corpus, drawn at random; None if the sender sees several at once."""
    if world.rounds.sender_sees_all or world.rounds.num_targets > 1:
        return None
    objects, meanings = [], []
    for batch in world.corpus_batches(4 * most):  # some may be there several times
        objects.append(batch.objects[batch.shown[:, 0]])
        meanings.append(world.describe(batch).meanings)
    found, described = np.concatenate(objects), np.concatenate(meanings)
    flat = np.ascontiguousarray(found).reshape(len(found), -1)
    _, first = np.unique(flat, axis=0, return_index=True)
    rows = np.sort(first)
    if len(rows) > most:
        rows = np.sort(np.random.default_rng([seed, *b"objects"]).choice(rows, most, replace=False))
    features = world.features(torch.from_numpy(np.ascontiguousarray(found[rows])), torch.float32)
    return Objects(features=features, meanings=described[rows].reshape(len(rows), -1))


@torch.inference_mode()
def inputs(objects: Objects) -> Vectors:
    """The objects themselves, (num_objects, num_features)."""
    return _vectors(objects.features)


@torch.inference_mode()
def of_sender(pair: Pair, objects: Objects) -> Vectors | None:
    """The first representation of objects that the sender learns, (num_objects, size); None: it learns none.

    That is the output of its perception, or where this learns nothing, as `identity`, of the network's first layer
    (`Sender.represent`).
    """
    meanings = pair.speaker.meanings(_view(objects), 1, None)
    learnt = meanings if pair.speaker.perception.learns else pair.speaker.network.represent(meanings)
    return None if learnt is None else _vectors(learnt)


@torch.inference_mode()
def of_receiver(pair: Pair, objects: Objects) -> Vectors | None:
    """The first representation of objects as candidates that the receiver learns, (num_objects, size); None: none.

    That is the output of its perception. Where this learns nothing, as `identity`, a candidate's score is the product
    of its features x and the projected state W s, which is that of W^T x and s: then it is W^T x. A receiver that
    sees no candidates has its states after the messages about the objects.
    """
    listener = pair.listener
    if listener.perception is None:
        return after_messages(pair, objects)
    vectors = listener.perception(objects.features)
    if not listener.perception.learns:
        if listener.projection is None:
            return None
        vectors = vectors @ listener.projection.weight
    return _vectors(vectors)


@torch.inference_mode()
def after_messages(pair: Pair, objects: Objects) -> Vectors:
    """The states of the receiver after the most likely messages about the objects, (num_objects, state_size)."""
    message = pair.speaker.message(_view(objects), 1, "greedy", None, 0)
    states, ends = call_receiver(pair.listener.network, message, torch.float32)
    return _vectors((ends[..., None] * states).sum(0))


def _view(objects: Objects) -> View:
    return View(features=objects.features, num_seen=1, indices=None)


def _vectors(tensor: Tensor) -> Vectors:
    return tensor.reshape(len(tensor), -1).double().numpy()
