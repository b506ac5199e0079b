"""Keys of kept scores: they change with the version of the metric, and with that of draws."""

from ecsuite.eval.experiments.jobs import MetricInput


def test_downloaded_texts_are_in_the_key(tmp_path, monkeypatch):
    """With another download, the scores of the former texts were shown."""
    monkeypatch.setenv("ECSUITE_DATA", str(tmp_path))
    file = tmp_path / "wikipedia" / "da.jsonl"
    file.parent.mkdir()
    keys = []
    for text in ("en", "to", "en"):
        file.write_text(f'"{text}"\n')
        keys.append(MetricInput(name="xferbench,preset=danish").job_key())
    assert keys[0] == keys[2] != keys[1]
    assert "data" not in MetricInput(name="xferbench").job_key()
