"""An audit of a log: known answers of logs by any program, whatever the columns are called."""

import itertools
import json
import math

import numpy as np
import pytest

from ecsuite.eval.run_metrics.log_audit import audit_log
from ecsuite.formats.corpora import Reading
from ecsuite.formats.reading import read_as
from test_json_keys import require_listed


def steps(kind, seed=0, num_episodes=40, num_steps=8, agents=("guide", "walker")):
    """Rows of a guide who speaks and a walker who moves; `followed`: the walker does what was said a step ago."""
    rng, rows = np.random.default_rng(seed), []
    for episode in range(num_episodes):
        goal, word, heard = rng.integers(4), rng.integers(4), None
        for step in range(num_steps):
            seen = goal if kind == "copies" else rng.integers(4)
            said = {"constant": 0, "random": rng.integers(4), "copies": word}.get(kind, seen)
            moves = goal if kind == "copies" else rng.integers(4)
            moves = heard if kind == "followed" and heard is not None else moves
            begin = {"episode": episode, "step": step}
            guide = {"message": "abcd"[said], "observation": "nesw"[seen], "action": None}
            walker = {"message": "", "observation": "x", "action": int(moves)}
            rows += [{**begin, "agent": agents[0], **guide}, {**begin, "agent": agents[1], **walker}]
            heard = said
    return rows


def audited(rows, seed=0, delay=1, **reading):
    found = audit_log(read_as(rows, Reading(is_log=True, **reading)), seed=seed, delay=delay)
    return {each.name: each for each in found.scores}, found


def of_file(ecsuite, *arguments):
    return json.loads(ecsuite("audit", *arguments, "--json")[1])


def p_of(score):
    return score.chance.p_value(score.value)[0]


def test_messages_that_are_observations_or_constant_or_followed():
    scores, found = audited(steps("seen"))
    entropy = scores["signalling"].details["most"]
    assert scores["signalling"].value == pytest.approx(entropy) and 1.9 < entropy <= 2
    assert p_of(scores["signalling"]) < 0.01 and scores["outsider"].value == 1
    assert p_of(scores["coordination"]) > 0.05 and p_of(scores["listening"]) > 0.05
    assert found.conclusion.endswith("no evidence that agents act on them.")
    scores, found = audited(steps("constant"))
    for name in ("signalling", "coordination", "listening"):
        assert scores[name].value == 0 and scores[name].chance.level == 0
    assert found.conclusion.startswith("No evidence")
    scores, found = audited(steps("followed"))
    assert scores["coordination"].value == pytest.approx(scores["coordination"].details["most"])
    assert p_of(scores["listening"]) < 0.01 and "actions depend on the messages" in found.conclusion
    assert p_of(audited(steps("followed"), delay=2)[0]["coordination"]) > 0.01


@pytest.mark.usefixtures("all_draws")
@pytest.mark.parametrize("kind", ["random", "copies"])
def test_p_values_without_association_are_uniform(kind):
    found = [audited(steps(kind, seed, num_episodes=12, num_steps=3))[0] for seed in range(25)]
    for name in ("signalling", "coordination", "outsider"):
        p_values = np.sort([p_of(each[name]) for each in found])
        above = np.arange(1, len(found) + 1) / len(found) - p_values
        bound = 1.95 / math.sqrt(len(found))  # Kolmogorov's of 0.1 %
        assert above.max() < bound, name
        assert name == "outsider" or (1 / len(found) - above).max() < bound, name  # its shares have ties


def test_null_of_rows_that_are_exchanged_alone_and_of_agents_that_never_met():
    rows = steps("copies")
    episodes, _ = audited(rows)
    alone, _ = audited([{key: row[key] for key in row if key != "episode"} for row in rows])
    assert p_of(episodes["signalling"]) > 0.05 > p_of(alone["signalling"])
    rng, rows = np.random.default_rng(0), []
    for pair in range(20):
        for _ in range(6):
            of_round = dict.fromkeys(("message", "target", "action"), int(rng.integers(3)))
            rows.append({"pair": pair, "speaker": f"s{pair}", "listener": f"l{pair}", **of_round})
    scores, found = audited(rows)
    assert p_of(scores["partners"]) < 0.05 and found.exchange == "episodes, whose agents are others"
    met = [{**row, "speaker": "s", "listener": "l"} for row in rows]
    assert audited(met)[0]["partners"].reason.startswith("all agents met")
    rows = [
        {"pair": who, "speaker": who[0], "listener": who[1], "message": said, "action": said}
        for who in ("ad", "cb", "ca")
        for said in ("x", "y", "y", "z")
    ]
    assert audited([row for row in rows if row["pair"] != "ca"])[0]["partners"].chance is not None
    assert audited([row for row in rows if row["pair"] != "ad"])[0]["partners"].value is None


def test_value_by_hand():
    rows = [
        {"speaker": 0, "listener": 1, "message": said, "target": seen, "action": done}
        for said, seen, done in (("a", "x", 0), ("a", "y", 0), ("b", "y", 1), ("b", "y", 1))
    ]
    scores, _ = audited(rows)
    # H(message) + H(target) - H(both): 1 + (2 - 3/4 log2 3) - 3/2
    assert scores["signalling"].value == pytest.approx(1.5 - 0.75 * math.log2(3))
    assert scores["coordination"].value == pytest.approx(1)
    assert scores["consistency"].value is None and "rounds" in scores["consistency"].reason
    assert scores["listening"].value is None and "context" in scores["listening"].reason
    rng = np.random.default_rng(0)
    names = ("message", "target", "context", "action")
    rows = [{"speaker": 0, "listener": 1, **dict.fromkeys(names, int(n))} for n in rng.integers(3, size=90)]
    scores, _ = audited(rows)
    assert scores["coordination"].value > 1.5 and scores["listening"].value == 0


def test_results_depend_neither_on_the_order_of_rows_nor_on_names():
    rows = steps("followed", num_episodes=6)
    shuffled = [rows[place] for place in np.random.default_rng(1).permutation(len(rows))]
    names = {"agent": "agent_id", "action": "actions", "observation": "obs", "episode": "traj_ids"}
    renamed = [{names.get(key, key): row[key] for key in row} for row in rows]
    expected = {name: each.value for name, each in audited(rows)[0].items() if name != "outsider"}
    for other in (shuffled, renamed):
        found = {name: each.value for name, each in audited(other)[0].items() if name != "outsider"}
        assert found == pytest.approx(expected)


def test_features_are_binned_and_positions_in_a_context_are_its_items():
    rng = np.random.default_rng(0)
    seen = rng.normal(size=(400, 2))
    middle = np.median(seen[:, 0])
    rows = [
        {"message": "lo" if x < middle else "hi", "obs_0": x, "obs_1": y, "action": int(rng.integers(2))}
        for x, y in seen.tolist()
    ]
    scores, _ = audited(rows)
    assert scores["signalling of obs_0"].value == pytest.approx(1, abs=0.02)
    assert scores["signalling of obs_1"].value < 0.05
    rows = []
    for _ in range(200):
        options, answer = rng.permutation(4).tolist(), int(rng.integers(4))
        said = dict.fromkeys(("message", "target"), options[answer])
        rows.append({**said, "candidates": options, "answer": answer})
    scores, found = audited(rows)
    assert scores["coordination"].value == pytest.approx(2, abs=0.05)
    assert any("position" in each for each in found.notes)


def test_interactions_of_egg(ecsuite, tmp_path):
    """Four things, each with its word, and listeners who choose it among all: as arrays, and as a dump."""
    rng = np.random.default_rng(0)
    things = rng.integers(4, size=120)
    options = np.stack([rng.permutation(4) for _ in things])
    is_meant = options == things[:, None]
    np.savez(
        tmp_path / "egg.npz", message=things[:, None] + 1, labels=is_meant.argmax(1), sender_input=np.eye(4)[things],
        receiver_input=np.eye(4)[options], receiver_output=is_meant + rng.normal(size=options.shape) / 10,
    )  # fmt: skip
    dump = [f"input: {thing} -> message: {thing + 1},0 -> output: {thing}" for thing in things]
    (tmp_path / "egg.txt").write_text("\n".join(dump))
    for file in ("egg.npz", "egg.txt"):
        values = {each["name"]: each["value"] for each in of_file(ecsuite, file)["scores"]}
        assert [values["signalling"], values["coordination"]] == pytest.approx([2, 2], abs=0.05)


def test_recordings_of_parallel_environments(ecsuite, tmp_path):
    """A row an agent and step, a row a step with values by agent, and flattened rollouts as arrays."""
    rng, rows, by_step, heard = np.random.default_rng(0), [], [], 0
    for episode, step in itertools.product(range(12), range(6)):
        goal, sees = np.eye(3)[rng.integers(3)].tolist(), rng.normal(size=5).tolist()
        said, begin, heard = int(np.argmax(goal)), {"episode": episode, "step": step}, heard if step else 0
        rows.append({**begin, "agent": "speaker_0", "observation": goal, "message": said, "action": None})
        rows.append({**begin, "agent": "listener_0", "observation": sees, "message": None, "action": heard})
        seen, actions = {"speaker_0": goal, "listener_0": sees}, {"speaker_0": said, "listener_0": said}
        by_step.append({**begin, "observations": seen, "actions": actions})
        heard = said
    names = ("episode", "message", "observation")
    arrays = {name: np.array([row[name] for row in rows[::2]]) for name in names}
    np.savez(tmp_path / "rollout.npz", action=arrays["message"], **arrays)
    for name, own in (("rows.jsonl", rows), ("steps.jsonl", by_step)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in own))
    roles = ("actions.speaker_0=message", "actions.listener_0=action", "observations.speaker_0=observation")
    options = [word for role in roles for word in ("--column", role)]
    for file, *more in (["rows.jsonl"], ["rollout.npz"], ["steps.jsonl", *options]):
        scores = {each["name"]: each for each in of_file(ecsuite, file, *more)["scores"]}
        for name in ("signalling", "coordination"):
            assert scores[name]["value"] == pytest.approx(scores[name]["details"]["most"]), (file, name)


def test_json_and_table(ecsuite, tmp_path):
    log = "".join(json.dumps(row) + "\n" for row in steps("seen", num_episodes=6))
    (tmp_path / "log.jsonl").write_text(log)
    data = of_file(ecsuite, "log.jsonl")
    require_listed("audit of a log", data)
    assert {each["name"]: each["value"] is None for each in data["scores"]}["partners"]
    assert data["needs_agents"] == ["severed", "constant", "self-sent"]
    code, text, _ = ecsuite("audit", "log.jsonl")
    assert code == 0 and "signalling" in text and "they need the agents" in text


ROLES = "agent,message,action,observation"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("agent,message,observation\nx,a,1\n", "no column of actions among agent, message, observation"),
        ("agent,action,observation\nx,a,1\n", "no column of messages among agent, action, observation"),
        (f"{ROLES}\nx,,1,1\ny,,2,1\n", "no row has a message"),
        (f"{ROLES}\nx,a,,1\ny,b,,1\n", "no row has an action"),
        ("", "empty file"),
        (f"{ROLES}\n", "a header and no rows"),
        ("message,action\na,1\n", "--episodes: not read by an audit of a log"),
    ],
)
def test_bad_logs_and_options_of_runs_are_refused_in_a_line(ecsuite, tmp_path, content, expected):
    (tmp_path / "log.csv").write_text(content)
    code, _, errors = ecsuite("audit", "log.csv", *(["--episodes", "9"] if "--episodes" in expected else []))
    assert code == 2 and expected in errors
