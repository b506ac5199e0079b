"""Tagged words: columns with and without tags, WikiAnn's prefixes, and CoNLL-U as converted by XTREME."""

import pytest

from ecsuite.eval.xtreme.scoring.labels import PARTS_OF_SPEECH, has_tags, read_conllu, read_tagged
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError

ENTITY_TAGS = TASKS["panx"].tags


@pytest.fixture
def stored(tmp_path):
    def store(text, name="dev-xx.tsv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return store


def plain(sentences):
    return [(" ".join(sentence.words), sentence.tags and " ".join(sentence.tags)) for sentence in sentences]


def row(number, form, tag, head=0):
    return f"{number}\t{form}\t_\t{tag}\t_\t_\t{head}\t_\t_\t_\n"


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\n \n\n"])
def test_sentences_end_at_blank_lines(stored, end):
    path = stored(f"\nA\tDET\ndog\tNOUN\n\n\nBarks\tVERB{end}")
    assert plain(read_tagged(path, PARTS_OF_SPEECH)) == [("A dog", "DET NOUN"), ("Barks", "VERB")]
    assert has_tags(path)


def test_withheld_tags_are_none(stored):
    path = stored("A\ndog\n\nBarks\n")
    assert plain(read_tagged(path, PARTS_OF_SPEECH)) == [("A dog", None), ("Barks", None)]
    assert not has_tags(path)


def test_the_language_prefix_of_wikiann_is_removed(stored):
    path = stored("da:Ny\tB-LOC\nda::\tO\nda:da:\tO\n", "train")
    assert plain(read_tagged(path, ENTITY_TAGS, language="da")) == [("Ny : da:", "B-LOC O O")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A\tDET\ndog NOUN\n", "2: expected a word, a tab and a tag, found 1 column"),
        ("A\tDET\n\nb\tX\ndog\tNOUN\tx\n", "4: expected a word, a tab and a tag, found 3 columns"),
        ("A\tDET\tx\n", "1: expected a word, a tab and a tag, found 3 columns"),
        ("A\n\ndog\tNOUN\n", "3: expected a word without tag, as in the first line, found 2 columns"),
        ("A\tDET\n\ndog\t\n", "3: no tag after the tab; expected one of B-LOC, B-ORG"),
        ("A\tO\n\tO\n", "2: expected a word before the tab, found nothing"),
        ("A\tB-MISC\n", "1: tag 'B-MISC'; expected one of B-LOC, B-ORG, B-PER, I-LOC, I-ORG, I-PER, O"),
    ],
)
def test_the_first_bad_line_is_named(stored, text, message):
    path = stored(text.replace("DET", "O").replace("NOUN", "O").replace("\tX\n", "\tO\n"))
    with pytest.raises(ConfigError) as error:
        read_tagged(path, ENTITY_TAGS)
    assert str(error.value).startswith(f"{path}:{message}".replace("NOUN", "O"))


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_no_sentence_is_an_error(stored, text):
    path = stored(text)
    with pytest.raises(ConfigError) as error:
        read_tagged(path, ENTITY_TAGS)
    assert str(error.value) == (
        f"{path}: expected lines `word<TAB>tag` and a blank line after each sentence, found no sentence"
    )
    assert not has_tags(path)


def test_a_fused_word_has_the_tag_nearest_to_the_root(stored):
    path = stored(
        "# text = della casa\n"
        + row("1-2", "della", "_")
        + row(1, "di", "ADP", 3)
        + row(2, "la", "DET", 1)
        + row(3, "casa", "NOUN", 0)
    )
    assert plain(read_conllu([path], "xx")) == [("della casa", "ADP NOUN")]


@pytest.mark.parametrize(("language", "tag"), [("xx", "NOUN"), ("fr", "PRON"), ("it", "PRON")])
def test_equally_near_parts_are_ordered_by_the_list_of_the_language(stored, language, tag):
    """NOUN is before PRON for most languages, after it for French, and not in the list for Italian."""
    path = stored(
        row("1-2", "ab", "_") + row(1, "a", "PRON", 3) + row(2, "b", "NOUN", 3) + row(3, "c", "VERB", 0)
    )
    assert plain(read_conllu([path], language)) == [("ab c", f"{tag} VERB")]


def test_a_cycle_of_heads_ends(stored):
    path = stored(row("1-2", "ab", "_") + row(1, "a", "X", 2) + row(2, "b", "NOUN", 1))
    assert plain(read_conllu([path], "xx")) == [("ab", "NOUN")]


def test_a_head_that_is_no_number_is_the_root(stored):
    path = stored(row("1-2", "ab", "_") + row(1, "a", "X", "²") + row(2, "b", "NOUN", "9" * 5000))
    assert plain(read_conllu([path], "xx")) == [("ab", "NOUN")]


def test_empty_nodes_are_skipped(stored):
    path = stored(row(1, "a b\u200cc", "NOUN") + row("1.1", "unsaid", "VERB") + row(2, "d", "SYM"))
    assert plain(read_conllu([path], "xx")) == [("abc d", "NOUN SYM")]


@pytest.mark.parametrize(
    ("words", "is_kept"),
    [("_ _ _", False), ("_ _ .", False), ("_ a .", True), ("_", False), ("a", True), ("_ .", False)],
)
def test_sentences_with_withheld_text_are_skipped(stored, words, is_kept):
    held = "".join(row(number, word, "X") for number, word in enumerate(words.split(), 1))
    path = stored(f"{held}\n{row(1, 'kept', 'VERB')}")
    assert plain(read_conllu([path], "xx"))[-1] == ("kept", "VERB")
    assert len(read_conllu([path], "xx")) == 1 + is_kept


def test_several_treebanks_and_no_last_blank_line(stored):
    paths = [stored(row(1, "one", "NUM"), "a.conllu"), stored(row(1, "two", "NUM") + "\n", "b.conllu")]
    assert plain(read_conllu(paths, "xx")) == [("one", "NUM"), ("two", "NUM")]
    assert has_tags(stored("# newdoc\n# text = one\n" + row(1, "one", "NUM")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# a\n1\tdog\tNOUN\n", ":2: expected the 10 columns of CoNLL-U, found 3"),
        (row(1, "dog", "N"), ":1: tag 'N'; expected one of ADJ, ADP, ADV"),
        (row("a", "dog", "NOUN"), ":1: expected a word index such as 1, 1-2 or 1.1, found 'a'"),
        (row("1-", "dog", "NOUN"), ":1: expected a word index such as 1, 1-2 or 1.1, found '1-'"),
        (row("²", "dog", "NOUN"), ":1: expected a word index such as 1, 1-2 or 1.1, found '²'"),
        (row("9" * 5000, "dog", "NOUN"), ":1: expected a word index such as 1, 1-2 or 1.1, found '999"),
        (
            row("1-2", "ab", "_") + row(1, "a", "X"),
            ":1: expected words 1-2 in the sentence, found none or only some",
        ),
        (
            row("2-1", "ab", "_") + row(1, "a", "X"),
            ":1: expected words 2-1 in the sentence, found none or only some",
        ),
        (row(1, "dog", "N" * 5000), ":1: tag 'NNN"),
        ("# nothing\n", ": expected CoNLL-U with text, found no sentence"),
    ],
)
def test_errors_in_conllu(stored, text, message):
    path = stored(text)
    with pytest.raises(ConfigError) as error:
        read_conllu([path], "xx")
    assert str(error.value).startswith(f"{path}{message}") and len(str(error.value)) < 400
