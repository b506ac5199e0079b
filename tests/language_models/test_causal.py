import numpy as np
import pytest
import torch
from causal_model import make_model

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.play import make_play
from ecsuite.language_models.backend import Allowed, Request
from ecsuite.language_models.causal import CausalModel
from ecsuite.runtime.errors import ConfigError

pytestmark = pytest.mark.slow  # importing transformers takes seconds
ALLOWED = {
    "choices": Allowed(choices=("ab", "abc", "xyz")),
    "letters": Allowed(symbols=("a", "b"), max_len=5),
    "syllables": Allowed(symbols=("ka", "ki", "k"), max_len=3),
    "words": Allowed(symbols=("red", "re", "box"), separator=" ", max_len=3),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    make_model(folder, ["name the object:\nkami"], width=16, layers=1)
    return folder


def asked(backend, allowed, draw=0):
    return backend.reply(Request(system="", user="name it:", allowed=allowed, draw=draw))


@pytest.mark.parametrize("name", ALLOWED)
def test_every_draw_is_allowed_and_the_same_again(name, folder):
    backend, allowed = CausalModel(CausalModel.Options(model=str(folder), temperature=3.0)), ALLOWED[name]
    said = [asked(backend, allowed, draw).text for draw in range(12)]
    assert all(allowed.allows(text) for text in said) and len(set(said)) > 1
    assert said == [asked(backend, allowed, draw).text for draw in range(12)]


def test_the_most_likely_answer_is_the_one_of_the_logits(folder):
    backend = CausalModel(CausalModel.Options(model=str(folder), temperature=0.0))
    ids = backend.tokenizer("name it:", return_tensors="pt", add_special_tokens=False)["input_ids"]
    logits = backend.model(ids).logits[0, -1].detach().numpy()
    letters = tuple("abcdef")
    numbers = [backend.tokenizer(each)["input_ids"][0] for each in letters]
    assert asked(backend, Allowed(choices=letters)).text == letters[int(np.argmax(logits[numbers]))]
    assert not backend.is_drawn


def test_draws_follow_the_probabilities(folder):
    backend = CausalModel(CausalModel.Options(model=str(folder), temperature=2.0))
    ids = backend.tokenizer("name it:", return_tensors="pt", add_special_tokens=False)["input_ids"]
    logits = backend.model(ids).logits[0, -1].detach().double().numpy() / 2
    first, second = (logits[backend.tokenizer(each)["input_ids"][0]] for each in "ab")
    said = [asked(backend, Allowed(choices=("a", "b")), draw).text for draw in range(300)]
    assert abs(said.count("a") / 300 - 1 / (1 + np.exp(second - first))) < 0.08


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_answers_in_a_batch_are_those_of_one_after_the_other(temperature, folder):
    backend = CausalModel(CausalModel.Options(model=str(folder), temperature=temperature))
    requests = []
    for number, allowed in enumerate([*ALLOWED.values(), Allowed(max_len=2)] * 8):
        user = "name the object:\n" * (1 + number % 5) + "kami"[: number % 4]
        requests.append(Request(system="", user=user, allowed=allowed, draw=number))
    assert backend.replies(requests) == [backend.reply(each) for each in requests]


def test_a_model_computes_on_the_device_of_the_play(folder, monkeypatch):
    """`--device cpu` on a machine with a GPU."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    backend = f"play.participant.backend=transformers,model={folder}"
    experiment = load_experiment("naming", ["play.participant=language_model", backend])
    play = make_play(experiment, torch.device("cpu"))
    assert play.participants[0].backend.model.device.type == "cpu"


def test_what_can_not_be_written_or_read_is_refused_in_a_line(folder, tmp_path):
    backend = CausalModel(CausalModel.Options(model=str(folder)))
    with pytest.raises(ConfigError, match="its tokenizer has no tokens for 'ʘ'"):
        backend.require(Allowed(symbols=("ʘ", "a")))
    with pytest.raises(ConfigError, match="no such folder; for a model of the hub: hf:OWNER/NAME"):
        CausalModel(CausalModel.Options(model=str(tmp_path / "nowhere")))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"^model: .* can't be read: [^\n]*$"):
        CausalModel(CausalModel.Options(model=str(tmp_path)))


@pytest.mark.parametrize("temperature", [2.0, 0.0])
def test_probabilities_of_choices_are_those_of_all_ways_to_say_them(temperature, folder):
    backend = CausalModel(CausalModel.Options(model=str(folder), temperature=temperature))
    allowed, texts = Allowed(choices=("ab", "abc", "xyz", "b")), ("name it:", "what now? name it:")
    requests = [Request(system="", user=text, allowed=allowed, draw=3) for text in texts]
    ends = {backend.tokenizer.eos_token_id, backend.tokenizer("\n")["input_ids"][0]}

    def weighed(ids, said, share, found):
        longer = [each for each in allowed.choices if each.startswith(said) and each != said]
        letters = sorted({each[len(said)] for each in longer})
        if not letters:
            found[said] = found.get(said, 0) + share
            return found
        tokens = [backend.tokenizer(letter)["input_ids"][0] for letter in letters]
        stops = sorted(ends) if said in allowed.choices else []
        logits = backend.model(torch.tensor([ids])).logits[0, -1].detach().double()[[*tokens, *stops]]
        shares = torch.softmax(logits / (temperature or 1), 0).tolist()
        for letter, token, part in zip(letters, tokens, shares, strict=False):
            weighed([*ids, token], said + letter, share * part, found)
        if stops:
            found[said] = found.get(said, 0) + share * sum(shares[len(tokens) :])
        return found

    for request, reply in zip(requests, backend.replies(requests), strict=True):
        ids = backend.tokenizer(request.user, add_special_tokens=False)["input_ids"]
        assert reply.choice_probabilities == pytest.approx(weighed(ids, "", 1.0, {}), rel=1e-4)
    assert asked(backend, Allowed(symbols=("a",))).choice_probabilities is None
