"""The artificial target languages: typology, lexicon and grammar; each language is a pure function of its number.

The languages differ in type and share properties of human languages: word frequencies by Zipf-Mandelbrot's law, parts
of speech, embedded phrases, selection and agreement between words, and discourses with a topic and repeated mentions of
the same nouns. All random draws come from `RandomStream`, which uses only `random.Random.random`: Python guarantees its
sequence for an integer seed, so that a language is the same on every machine and Python version.
"""

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from random import Random
from typing import Generic, Literal, NamedTuple, TypeVar

import msgspec

from ecsuite.parts.config import packaged_yaml


@dataclass(frozen=True, kw_only=True, slots=True)
class Typology:
    """Typological features of a language."""

    order: str
    """Order of subject, verb and object in a main clause."""
    head_final: bool
    """Whether modifiers, objects of adpositions and relative clauses precede their head."""
    endings: Literal["none", "separate", "fused"]
    """Isolating, agglutinative or fusional."""
    num_cases: int = 1
    """1 (no case) to 4, in the order nominative, accusative, genitive, oblique."""
    num_genders: int = 1
    """Noun classes; adjectives, articles and pronouns agree with them."""
    agreement: bool = False
    """Whether the verb agrees with its subject in person and number."""
    articles: bool = False
    """Whether nouns take an article."""
    pronouns: bool = True
    """Whether subject pronouns are used; otherwise the verb's ending marks the person."""
    harmony: bool = False
    """Whether a word's vowels are all back or all front."""
    consonants: int = 14
    """Size of the consonant inventory."""
    vowels: int = 5
    """Size of the vowel inventory."""
    clusters: float = 0.0
    """Share of syllables that begin with two consonants."""
    codas: float = 0.2
    """Share of syllables that end with a consonant."""


TYPOLOGIES: tuple[Typology, ...] = msgspec.convert(
    packaged_yaml(__package__, "typologies.yaml"), tuple[Typology, ...]
)
"""Typologies of the languages 1 to 10."""


Item = TypeVar("Item")

CONSONANTS = "tnkslrmpdvbghfjzcwšžčñx"
"""Ordered roughly from common to rare in the world's languages."""
VOWELS = "aieoué"
FRONTED = str.maketrans("aou", "äöü")
"""Vowel harmony: replaces the vowels of a front word and of its endings."""
OFFSET = 2.7
"""The item of rank r has weight 1 / (r + OFFSET): Boldt & Mortensen (2024), equation 2."""


class RandomStream:
    """A stream of random choices."""

    def __init__(self, seed: int) -> None:
        """Start the stream of `seed`."""
        self.random = Random(seed).random

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self.random() < probability

    def pick(self, items: Sequence[Item]) -> Item:
        """Draw an item uniformly."""
        return items[int(self.random() * len(items))]

    def sample(self, items: Sequence[Item], count: int) -> list[Item]:
        """Draw `count` different items in their original order."""
        drawn = sorted(range(len(items)), key=lambda _: self.random())[:count]
        return [items[index] for index in sorted(drawn)]


class Ranked(Generic[Item]):
    """Items ordered from common to rare, drawn by Zipf-Mandelbrot's law."""

    def __init__(self, items: Sequence[Item], rng: RandomStream) -> None:
        """Rank the items in the given order."""
        self.items = items
        self.rng = rng
        self.cumulative = list(accumulate(1 / (rank + OFFSET) for rank in range(1, len(items) + 1)))

    def draw(self) -> Item:
        """Draw an item."""
        return self.items[bisect(self.cumulative, self.rng.random() * self.cumulative[-1])]


class Sounds:
    """Phonotactics of a language: its letters and its syllables."""

    def __init__(
        self, rng: RandomStream, *, num_consonants: int, num_vowels: int, clusters: float, codas: float
    ) -> None:
        """Draw the letters; `clusters`, `codas`: shares of syllables with two initial consonants, with a coda."""
        consonants = rng.sample(CONSONANTS, num_consonants)
        self.onsets = Ranked(consonants, rng)
        self.seconds = Ranked([letter for letter in consonants if letter in "lrjvn"] or consonants, rng)
        self.codas = Ranked(rng.sample(consonants, max(3, num_consonants // 2)), rng)
        self.vowels = Ranked(VOWELS[:num_vowels], rng)
        self.rng, self.cluster_share, self.coda_share = rng, clusters, codas
        self.taken: set[str] = set()

    def syllable(self) -> str:
        """A syllable: onset, vowel, optional coda."""
        first = self.onsets.draw()
        second = self.seconds.draw() if self.rng.chance(self.cluster_share) else ""
        coda = self.codas.draw() if self.rng.chance(self.coda_share) else ""
        return first + (second if second != first else "") + self.vowels.draw() + coda

    def word(self, num_syllables: int) -> str:
        """A unique form; longer than `num_syllables` if all short forms are used."""
        for attempt in range(1000):
            form = "".join(self.syllable() for _ in range(num_syllables + attempt // 4))
            if form not in self.taken:
                self.taken.add(form)
                return form
        raise AssertionError("no unused form in a thousand attempts, up to 250 syllables")

    def ending(self) -> str:
        """A short ending: a vowel, with a consonant before or after it."""
        vowel, consonant = self.vowels.draw(), self.onsets.draw()
        return self.rng.pick((vowel, vowel + consonant, consonant + vowel))


class Lexeme(NamedTuple):
    """A word of the lexicon, not inflected."""

    stem: str
    """Form without ending, after vowel harmony."""
    front: bool
    """Whether its endings have front vowels."""
    gender: int
    """Index of the noun class."""
    field: int
    """Index of the semantic field; for a verb or an adjective, the field of its noun."""


class Endings:
    """A paradigm: an ending for each combination of feature values, in back and front words."""

    def __init__(self, sounds: Sounds, sizes: Sequence[int], *, fused: bool) -> None:
        """Draw endings.

        Args:
            sounds: Phonotactics of the language.
            sizes: Number of values of each feature that endings distinguish. Value 0 is unmarked.
            fused: One ending for each combination (fusional) rather than one for each value (agglutinative).
        """
        self.sizes = tuple(sizes)
        combinations = list(product(*map(range, sizes)))
        if fused:
            forms = {values: sounds.ending() if any(values) else "" for values in combinations}
        else:
            marks = [["", *(sounds.ending() for _ in range(1, size))] for size in sizes]
            forms = {
                values: "".join(mark[value] for mark, value in zip(marks, values, strict=True))
                for values in combinations
            }
        self.forms = {False: forms, True: {values: form.translate(FRONTED) for values, form in forms.items()}}

    def inflect(self, lexeme: Lexeme, *values: int) -> str:
        """The word with the ending for these feature values; values without a distinct ending are unmarked."""
        marked = tuple(value if value < size else 0 for value, size in zip(values, self.sizes, strict=True))
        return lexeme.stem + self.forms[lexeme.front][marked]


NOMINATIVE, ACCUSATIVE, GENITIVE, OBLIQUE = range(4)
NUM_NOUNS, NUM_NAMES, NUM_ADJECTIVES, NUM_ADVERBS = 2400, 200, 600, 80
NUM_VERBS, NUM_VERBS_OF_SAYING = 800, 20
NUM_FIELDS = 12
"""Number of semantic fields: nouns belong to a field; verbs and adjectives prefer a field."""
MAX_DEPTH = 3
"""Maximum depth of embedded clauses and phrases."""


class Features(NamedTuple):
    """Agreement features of a noun phrase."""

    person: int
    """0 third, 1 first, 2 second."""
    plural: int
    """0 or 1."""
    gender: int
    """Index of the noun class."""


class Phrase(NamedTuple):
    """A noun phrase."""

    words: list[str]
    """Inflected words, in order."""
    features: Features
    """Agreement features."""


class ArtificialLanguage:
    """An artificial language: its lexicon and its grammar."""

    def __init__(self, number: int) -> None:
        """Build language `number`, 1 to 10.

        Raises:
            ValueError: If there is no such language.
        """
        if not 1 <= number <= len(TYPOLOGIES):
            raise ValueError(f"artificial language {number}: expected 1 to {len(TYPOLOGIES)}")
        self.type = TYPOLOGIES[number - 1]
        self.rng = RandomStream(number)
        self.topic = 0
        self.mentioned: list[Lexeme] = []
        self.genders = range(self.type.num_genders)
        self._make_endings()
        self._make_function_words()
        self._make_lexicon()

    def _make_endings(self) -> None:
        kind = self.type
        self.sounds = Sounds(
            self.rng,
            num_consonants=kind.consonants,
            num_vowels=kind.vowels,
            clusters=kind.clusters,
            codas=kind.codas,
        )
        fused = kind.endings == "fused"
        num_numbers, num_tenses = (1, 1) if kind.endings == "none" else (2, 3)
        noun = (kind.num_genders if fused else 1, num_numbers, kind.num_cases)
        adjective = (kind.num_genders, num_numbers, kind.num_cases)
        verb = (num_tenses, *((3, num_numbers) if kind.agreement else (1, 1)))
        self.noun_endings = Endings(self.sounds, noun, fused=fused)
        self.adjective_endings = Endings(self.sounds, adjective, fused=fused)
        self.verb_endings = Endings(self.sounds, verb, fused=fused)

    def _make_function_words(self) -> None:
        word = self.sounds.word
        self.articles = Ranked([self._lexeme(1) for _ in range(2)], self.rng)
        self.demonstratives = Ranked([self._lexeme(1) for _ in range(3)], self.rng)
        self.numerals = Ranked([word(1) for _ in range(9)], self.rng)
        self.plural_word, self.possessive, self.relative, self.complement = (word(1) for _ in range(4))
        self.question, self.negation, self.conjunction = (word(1) for _ in range(3))
        self.connectives = Ranked([word(1 + rank // 3) for rank in range(6)], self.rng)
        self.tenses = ["", word(1), word(1)]
        self.adpositions = Ranked([word(1 + rank // 6) for rank in range(12)], self.rng)
        self.pronouns = {
            (person, plural): [self._lexeme(1) for _ in range(self.type.num_genders)]
            for person in range(3)
            for plural in range(2)
        }

    def _make_lexicon(self) -> None:
        nouns = [self._lexeme(1 + (rank > 30) + (rank > 400)) for rank in range(NUM_NOUNS)]
        verbs = [self._lexeme(1 + (rank > 20) + (rank > 500)) for rank in range(NUM_VERBS)]
        adjectives = [self._lexeme(2 + (rank > 200)) for rank in range(NUM_ADJECTIVES)]
        self.nouns = Ranked(nouns, self.rng)
        self.nouns_of_field = [
            Ranked([noun for noun in nouns if noun.field == field], self.rng) for field in range(NUM_FIELDS)
        ]
        self.names = Ranked([self._lexeme(2, name=True) for _ in range(NUM_NAMES)], self.rng)
        self.transitive, self.intransitive = Ranked(verbs[0::2], self.rng), Ranked(verbs[1::2], self.rng)
        self.verbs_of_saying = Ranked([self._lexeme(2) for _ in range(NUM_VERBS_OF_SAYING)], self.rng)
        self.adjectives_of_field = [
            Ranked([word for word in adjectives if word.field == field], self.rng)
            for field in range(NUM_FIELDS)
        ]
        self.adverbs = Ranked([self.sounds.word(2) for _ in range(NUM_ADVERBS)], self.rng)

    def _lexeme(self, num_syllables: int, *, name: bool = False) -> Lexeme:
        form = self.sounds.word(num_syllables)
        front = self.type.harmony and self.rng.chance(0.4)
        form = form.translate(FRONTED) if front else form
        gender, field = self.rng.pick(self.genders), self.rng.pick(range(NUM_FIELDS))
        return Lexeme(form.capitalize() if name else form, front, gender, field)

    def lines(self) -> Iterator[str]:
        """Generate an infinite text: each line is a paragraph of one to four sentences."""
        while True:
            self.topic = self.rng.pick(range(NUM_FIELDS))
            self.mentioned.clear()
            yield " ".join(self.sentence() for _ in range(self.rng.pick((1, 2, 3, 4))))

    def sentence(self) -> str:
        """A sentence with its capital letter and full stop."""
        words = self.clause(0)
        if self.rng.chance(0.15):
            words = [self.connectives.draw(), *words]
        if self.rng.chance(0.12):
            words[-1] += ","
            words += [self.conjunction, *self.clause(1)]
        mark = "."
        if self.rng.chance(0.08):
            mark = "?"
            words = self.join([self.question], words)
        text = " ".join(words)
        return text[0].upper() + text[1:] + mark

    def join(self, head: list[str], dependent: list[str]) -> list[str]:
        """A head and its dependent, in the word order of the language."""
        return dependent + head if self.type.head_final else head + dependent

    def clause(self, depth: int, *, subject: Phrase | None = None, object_gap: bool = False) -> list[str]:
        """A clause.

        Args:
            depth: Depth of embedding.
            subject: The subject, without words if a relative clause omits it; None draws one.
            object_gap: Whether the verb is transitive and its object is omitted, as in a relative clause.
        """
        rng = self.rng
        parts: dict[str, list[str]] = {"O": []}
        if object_gap:
            verb = self.transitive.draw()
        elif depth < MAX_DEPTH and rng.chance(0.15):
            verb = self.verbs_of_saying.draw()
            parts["O"] = self.join([self.complement], self.clause(depth + 1))
        elif rng.chance(0.4):
            verb = self.intransitive.draw()
        else:
            verb = self.transitive.draw()
            parts["O"] = self.noun_phrase(ACCUSATIVE, depth + 1, verb.field).words
        subject = subject or self.noun_phrase(NOMINATIVE, depth, verb.field)
        parts["S"], parts["V"] = subject.words, self.verb(verb, subject.features)
        adjuncts = self.adpositional(depth + 1) if rng.chance(0.4 / (1 + depth)) else []
        if rng.chance(0.15):
            adjuncts = [*adjuncts, self.adverbs.draw()]
        if self.type.head_final:
            parts["V"] = adjuncts + parts["V"]
            adjuncts = []
        return [word for slot in self.type.order for word in parts[slot]] + adjuncts

    def verb(self, verb: Lexeme, subject: Features) -> list[str]:
        """A verb that agrees with its subject, with tense and negation as endings or separate words."""
        tense = self.rng.pick((0, 0, 0, 1, 1, 2))
        helpers = [self.negation] if self.rng.chance(0.1) else []
        if tense and self.type.endings == "none":
            helpers = [*helpers, self.tenses[tense]]
        return self.join(helpers, [self.verb_endings.inflect(verb, tense, subject.person, subject.plural)])

    def adpositional(self, depth: int) -> list[str]:
        """A prepositional or postpositional phrase."""
        return self.join([self.adpositions.draw()], self.noun_phrase(OBLIQUE, depth).words)

    def noun_phrase(self, case: int, depth: int, field: int | None = None) -> Phrase:
        """A pronoun, a name, or a noun with modifiers; the noun is of semantic field `field` if a verb selects it."""
        choice = self.rng.random()
        if choice < 0.2:
            return self.pronoun(case)
        if choice < 0.28:
            name = self.names.draw()
            word = self.noun_endings.inflect(name, name.gender, 0, case)
            return Phrase([word], Features(0, 0, name.gender))
        phrase = self.full_phrase(case, depth, field)
        if depth < MAX_DEPTH and self.rng.chance(0.06):
            other = self.full_phrase(case, depth + 1, field)
            words = [*phrase.words, self.conjunction, *other.words]
            return Phrase(words, Features(0, 1, phrase.features.gender))
        return phrase

    def pronoun(self, case: int) -> Phrase:
        """A personal pronoun; omitted as a subject in languages that mark the person on the verb."""
        person, plural = self.rng.pick((0, 0, 1, 1, 2)), int(self.rng.chance(0.3))
        features = Features(person, plural, self.rng.pick(self.genders))
        if case == NOMINATIVE and not self.type.pronouns:
            return Phrase([], features)
        pronoun = self.pronouns[person, plural][features.gender]
        return Phrase([self.noun_endings.inflect(pronoun, features.gender, 0, case)], features)

    def full_phrase(self, case: int, depth: int, field: int | None) -> Phrase:
        """A noun with article or demonstrative, number, adjectives, possessor and relative clause."""
        rng = self.rng
        noun = self.noun(field)
        features = Features(0, int(rng.chance(0.3)), noun.gender)
        head = [self.noun_endings.inflect(noun, noun.gender, features.plural, case)]
        if rng.chance(0.3):
            head = self.join(head, [self.adjective(noun, features, case)])
        if features.plural and rng.chance(0.3):
            head = [self.numerals.draw(), *head]
        elif features.plural and self.type.endings == "none":
            head = [self.plural_word, *head]
        if self.type.articles:
            head = [self.agreeing(self.articles.draw(), features, case), *head]
        elif rng.chance(0.15):
            head = [self.agreeing(self.demonstratives.draw(), features, case), *head]
        if depth >= MAX_DEPTH:
            return Phrase(head, features)
        if rng.chance(0.15):
            head = self.join(head, self.possessor(depth + 1))
        if rng.chance(0.1):
            head = self.join(head, self.relative_clause(features, depth + 1))
        return Phrase(head, features)

    def adjective(self, noun: Lexeme, features: Features, case: int) -> str:
        """An adjective that agrees with the noun, in 80 % of cases from its semantic field."""
        field = noun.field if self.rng.chance(0.8) else self.rng.pick(range(NUM_FIELDS))
        return self.agreeing(self.adjectives_of_field[field].draw(), features, case)

    def possessor(self, depth: int) -> list[str]:
        """A noun phrase in the genitive, or with the possessive word in languages without genitive."""
        words = self.noun_phrase(GENITIVE, depth).words
        return words if self.type.num_cases > GENITIVE else self.join([self.possessive], words)

    def relative_clause(self, head: Features, depth: int) -> list[str]:
        """A clause in which the head noun is the omitted subject or object."""
        if self.rng.chance(0.6):
            clause = self.clause(depth, subject=Phrase([], head))
        else:
            clause = self.clause(depth, object_gap=True)
        return self.join([self.relative], clause)

    def noun(self, field: int | None) -> Lexeme:
        """Draw a noun: mentioned before, from the field that the verb selects, from the topic, or any noun."""
        choice = self.rng.random()
        if choice < 0.25 and self.mentioned:
            noun = self.rng.pick(self.mentioned[-4:])
        elif choice < 0.6 and field is not None:
            noun = self.nouns_of_field[field].draw()
        elif choice < 0.8:
            noun = self.nouns_of_field[self.topic].draw()
        else:
            noun = self.nouns.draw()
        self.mentioned.append(noun)
        return noun

    def agreeing(self, word: Lexeme, features: Features, case: int) -> str:
        """An article, a demonstrative or an adjective, inflected for agreement with its noun."""
        return self.adjective_endings.inflect(word, features.gender, features.plural, case)


def write(number: int, num_bytes: int) -> list[str]:
    """Lines of language `number`, 1 to 10, at least `num_bytes` bytes; a shorter text is a prefix of a longer one.

    Raises:
        ValueError: If there is no such language.
    """
    text = ArtificialLanguage(number).lines()
    lines: list[str] = []
    size = 0
    while size < num_bytes:
        lines.append(next(text))
        size += len(lines[-1].encode())
    return lines
