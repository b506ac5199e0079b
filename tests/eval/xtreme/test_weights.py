"""Backbones and embeddings come back from results as they were."""

import torch

from ecsuite.eval.models.training import Machine
from ecsuite.eval.xtreme.data import PublishedModel
from ecsuite.eval.xtreme.jobs import prepared

CPU = Machine(device="cpu", precision="fp32", num_threads=1)


def same(one, other):
    return one.keys() == other.keys() and all(
        torch.equal(weight, other[name]) for name, weight in one.items()
    )


def test_a_published_model_has_one_vocabulary_for_all_languages(tiny_bert):
    backbone, load_vocabulary = prepared(
        PublishedModel(name=str(tiny_bert)).identified(), None, {}, None, CPU
    )
    assert load_vocabulary("en") is load_vocabulary("ru") is backbone.sub_words
