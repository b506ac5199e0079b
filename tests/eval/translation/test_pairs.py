"""Reading pairs, errors in files, and splits without leaks."""

from ecsuite.eval.translation.pairs import split_pairs


def write(path, pairs):
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    return path


def split(tmp_path, pairs):
    return split_pairs(write(tmp_path / "pairs.tsv", pairs), num_valid=4, num_test=8)
