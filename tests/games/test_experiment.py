"""Experiments: layers of parts with options, former names, and messages that name the place and the readers."""

import pytest

from ecsuite.games.config.experiment import load_experiment
from ecsuite.runtime.errors import ConfigError

MISTAKES = {
    "channel.temprature=2": "unknown key 'channel.temprature'; did you mean 'channel.temperature'? choices: ",
    "seed=1": "unknown key 'seed'; did you mean 'training.seed'? choices: ",
    "Seed=1": "unknown key 'Seed'; did you mean 'training.seed'? choices: ",
    "epochs=1": "unknown key 'epochs'; did you mean 'schedule.num_epochs' or 'training.num_epochs'? choices: ",
    "max_length=8": "unknown key 'max_length'; did you mean 'channel.max_len'? choices: ",
    "temperature=2": "unknown key 'temperature'; did you mean 'channel.temperature'? choices: ",
    "world=3": "--set: unknown world '3'; choices: ",
    "world={num_values: 3, pol: 4}": "unknown key 'world.pol'",
    "training=3": "training: expected a section with keys, got 3",
    "channel.temperature": "--set channel.temperature: expected key=value, such as channel.temperature=2",
    "channel.temperature=": "--set: channel.temperature: expected float, got None",
    "channel.temperature=[": "--set channel.temperature: '[' is not a YAML value",
    "channel.temperature=!!python/name:os.system": "--set channel.temperature: '!!python/name:os.system' is not a YAML",
    "channel.length=fixd": "--set: channel.length: unknown value 'fixd'; did you mean 'fixed'? choices: variable, ",
    "evaluation.batch_size=0": "--set: evaluation.batch_size: expected int >= 1, got 0",
    "world.held_out=1": "--set: world.held_out: expected float < 1.0, got 1",
    "receiver.perception.dropout=1": "--set: receiver.perception.dropout: expected float < 1.0, got 1",
    "sender.cell=gr": "--set: sender.cell: unknown cell 'gr'; did you mean 'gru'? choices: rnn, gru, ",
    "sender.num_layers=10": "--set: sender.num_layers: expected int <= 9, got 10",
    "sender=gruu": "--set: unknown sender 'gruu'; did you mean 'gru'? choices: ",
    "sender.kind=gru-2l,hiden=8": "--set: ",
    "channel=quantised": "--set: unknown channel 'quantised'; did you mean 'quantized'? choices: soft, gumbel, ",
    "channel=quantized,word_size": "--set: channel quantized: expected key=value after the comma, got 'word_size'",
    "channel=quantized,word_size=0": "--set: channel.word_size: expected int >= 1, got 0",
    "world=text,train_data=x.txt": "--set: world.train_data and valid_data: give both files",
    "task=concept,variant=ref": "--set: task.variant: unknown value 'ref'; did you mean 'reference'? ch",
    "schedule=linear,num_epochs=0": "--set: schedule.num_epochs: expected int >= 1, got 0",
    "schedule.kind=liner": "--set: unknown schedule 'liner'; did you mean 'linear'? choices: constant, linear",
    "task.num_distractors=0": "--set: task.num_distractors: expected int >= 1, got 0",
}  # fmt: skip


@pytest.mark.parametrize("assignment", MISTAKES)
def test_mistakes_in_overrides_are_named(assignment):
    with pytest.raises(ConfigError) as error:
        load_experiment("disc_tiny", [assignment])
    assert "\n" not in str(error.value)
    assert MISTAKES[assignment] in str(error.value)
    assert str(error.value).startswith("--set")
