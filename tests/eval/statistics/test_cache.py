"""What is made once while a corpus is scored."""

from languages import corpus_of

from ecsuite.eval.statistics.cache import cached_per_corpus, corpus_cache


def test_it_is_made_once_of_the_corpus_that_is_scored():
    scored, other = (corpus_of([[1], [2]], [[0], [1]]) for _ in range(2))
    calls = []

    @cached_per_corpus
    def size(corpus):
        calls.append(corpus)
        return len(corpus.messages)

    with corpus_cache(scored):
        with corpus_cache(scored):  # as in a process that started as a copy
            assert size(scored) == size(scored) == 2
        assert size(scored) == 2 and len(calls) == 1
        assert size(other) == size(other) == 2 and len(calls) == 3
    size(scored)
    assert len(calls) == 4
