"""Ten artificial target languages, each a pure function of its number.

They vary as human languages do (word order, head direction, case, agreement, how endings are built, sounds) and share
what human languages share: Zipf-Mandelbrot words in parts of speech, phrases within phrases, words that select other
words, and discourses that keep to a topic and come back to what they mentioned.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ecsuite.eval.xferbench.lexicon import FRONTED, Dice, Endings, Lexeme, Ranked, Sounds

NOMINATIVE, ACCUSATIVE, GENITIVE, OBLIQUE = range(4)
NUM_NOUNS, NUM_NAMES, NUM_VERBS, NUM_ADJECTIVES, NUM_ADVERBS = 2400, 200, 900, 600, 80
NUM_FIELDS = 12
"""Semantic fields: a noun belongs to one, a verb or an adjective prefers one."""
MAX_DEPTH = 3
"""Clauses and phrases embed no deeper than this."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Typology:
    """What kind of language it is."""

    order: str
    """Order of subject, verb and object in a main clause."""
    head_final: bool
    """Whether modifiers, objects of adpositions and relative clauses precede what they belong to."""
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
    """Whether a subject pronoun is said; where not, the verb's ending tells."""
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


TYPOLOGIES = (
    Typology(order="SVO", head_final=False, endings="fused", num_genders=2, agreement=True, articles=True, clusters=0.1),
    Typology(order="SOV", head_final=True, endings="separate", num_cases=4, agreement=True, harmony=True, codas=0.4),
    Typology(order="SVO", head_final=False, endings="none", consonants=18, vowels=6, codas=0.3),
    Typology(order="VSO", head_final=False, endings="fused", num_genders=2, num_cases=3, agreement=True, codas=0.5),
    Typology(order="SOV", head_final=True, endings="none", consonants=12, codas=0.05),
    Typology(
        order="SVO", head_final=False, endings="fused", num_cases=4, num_genders=3, agreement=True, clusters=0.25,
        consonants=20, pronouns=False,
    ),
    Typology(order="SOV", head_final=True, endings="fused", num_cases=2, num_genders=2, agreement=True, consonants=20),
    Typology(order="SVO", head_final=False, endings="separate", num_cases=4, agreement=True, pronouns=False, consonants=10),
    Typology(order="VSO", head_final=False, endings="none", articles=True, consonants=9, codas=0.0),
    Typology(order="SVO", head_final=True, endings="separate", num_genders=3, agreement=True, articles=True, codas=0.5),
)  # fmt: skip


class Features(NamedTuple):
    """What a noun phrase passes on to the words that agree with it."""

    person: int
    """0 third, 1 first, 2 second."""
    plural: int
    """0 or 1."""
    gender: int
    """Index of the noun class."""


class Phrase(NamedTuple):
    """A noun phrase."""

    words: list[str]
    """As said."""
    features: Features
    """For agreement."""


class Language:
    """One of the languages: its lexicon and its grammar."""

    def __init__(self, number: int) -> None:
        """Make language `number`, 1 to 10.

        Raises:
            ValueError: If there is no such language.
        """
        if not 1 <= number <= len(TYPOLOGIES):
            raise ValueError(f"artificial language {number}: expected 1 to {len(TYPOLOGIES)}")
        self.number = number
        self.type = TYPOLOGIES[number - 1]
        self.dice = Dice(number)
        self.genders = range(self.type.num_genders)
        self._make_endings()
        self._make_function_words()
        self._make_lexicon()

    def _make_endings(self) -> None:
        kind = self.type
        self.sounds = Sounds(
            self.dice,
            num_consonants=kind.consonants,
            num_vowels=kind.vowels,
            clusters=kind.clusters,
            codas=kind.codas,
        )
        inflected = kind.endings != "none"
        fused = kind.endings == "fused"
        num_numbers, num_tenses = (2, 3) if inflected else (1, 1)
        num_persons = 3 if kind.agreement else 1
        noun = (kind.num_genders if fused else 1, num_numbers, kind.num_cases)
        self.noun_endings = Endings(self.sounds, noun, fused=fused)
        self.adjective_endings = Endings(self.sounds, (kind.num_genders, num_numbers, kind.num_cases), fused=fused)
        verb = (num_tenses, num_persons, num_numbers if kind.agreement else 1)
        self.verb_endings = Endings(self.sounds, verb, fused=fused)

    def _make_function_words(self) -> None:
        word = self.sounds.word
        self.articles = [self._lexeme(1) for _ in range(2)]
        self.demonstratives = Ranked([self._lexeme(1) for _ in range(3)], self.dice)
        self.numerals = Ranked([word(1) for _ in range(9)], self.dice)
        self.plural_word, self.possessive, self.relative, self.complement = (word(1) for _ in range(4))
        self.question, self.negation, self.conjunction = (word(1) for _ in range(3))
        self.connectives = Ranked([word(1 + rank // 3) for rank in range(6)], self.dice)
        self.tenses = ["", word(1), word(1)]
        self.adpositions = Ranked([word(1 + rank // 6) for rank in range(12)], self.dice)
        self.pronouns = {
            (person, plural): [self._lexeme(1) for _ in range(self.type.num_genders)]
            for person in range(3)
            for plural in range(2)
        }

    def _make_lexicon(self) -> None:
        nouns = [self._lexeme(1 + (rank > 30) + (rank > 400)) for rank in range(NUM_NOUNS)]
        verbs = [self._lexeme(1 + (rank > 20) + (rank > 500)) for rank in range(NUM_VERBS)]
        adjectives = [self._lexeme(2 + (rank > 200)) for rank in range(NUM_ADJECTIVES)]
        self.nouns = Ranked(nouns, self.dice)
        self.nouns_of_field = [
            Ranked([noun for noun in nouns if noun.field == field], self.dice) for field in range(NUM_FIELDS)
        ]
        self.names = Ranked([self._lexeme(2, name=True) for _ in range(NUM_NAMES)], self.dice)
        self.intransitive, self.transitive = Ranked(verbs[0::3], self.dice), Ranked(verbs[1::3] + verbs[2::9], self.dice)
        self.verbs_of_saying = Ranked(verbs[2::30], self.dice)
        self.adjectives_of_field = [
            Ranked([word for word in adjectives if word.field == field], self.dice) for field in range(NUM_FIELDS)
        ]
        self.adverbs = Ranked([self.sounds.word(2) for _ in range(NUM_ADVERBS)], self.dice)

    def _lexeme(self, num_syllables: int, *, name: bool = False) -> Lexeme:
        form = self.sounds.word(num_syllables)
        front = self.type.harmony and self.dice.chance(0.4)
        form = form.translate(FRONTED) if front else form
        gender, field = int(self.dice.random() * self.type.num_genders), int(self.dice.random() * NUM_FIELDS)
        return Lexeme(form.capitalize() if name else form, front, gender, field)

    def lines(self) -> Iterator[str]:
        """Write without end: paragraphs of one to four sentences, each a line."""
        while True:
            self.topic = int(self.dice.random() * NUM_FIELDS)
            self.mentioned: list[Lexeme] = []
            yield " ".join(self.sentence() for _ in range(self.dice.pick((1, 2, 3, 4))))

    def sentence(self) -> str:
        """A sentence with its capital letter and full stop."""
        words = self.clause(0)
        if self.dice.chance(0.15):
            words = [self.connectives.draw(), *words]
        if self.dice.chance(0.12):
            words[-1] += ","
            words += [self.conjunction, *self.clause(1)]
        mark = "."
        if self.dice.chance(0.08):
            mark = "?"
            words = self.join([self.question], words)
        text = " ".join(words)
        return text[0].upper() + text[1:] + mark

    def join(self, head: list[str], dependent: list[str]) -> list[str]:
        """A head and what depends on it, in the language's direction."""
        return dependent + head if self.type.head_final else head + dependent

    def clause(self, depth: int, *, subject: Phrase | None = None, with_object: bool | None = None) -> list[str]:
        """A clause.

        Args:
            depth: How deep it is embedded.
            subject: Where given, the subject; without words where a relative clause leaves it out.
            with_object: False where a transitive verb's object is left out, in a relative clause.
        """
        dice = self.dice
        parts: dict[str, list[str]] = {"O": []}
        if with_object is None and depth < MAX_DEPTH and dice.chance(0.15):
            verb = self.verbs_of_saying.draw()
            parts["O"] = self.join([self.complement], self.clause(depth + 1))
        elif with_object is None and dice.chance(0.4):
            verb = self.intransitive.draw()
        else:
            verb = self.transitive.draw()
            if with_object is None:
                parts["O"] = self.noun_phrase(ACCUSATIVE, depth + 1, verb.field).words
        subject = subject or self.noun_phrase(NOMINATIVE, depth, verb.field)
        parts["S"], parts["V"] = subject.words, self.verb(verb, subject.features)
        adjuncts = self.adpositional(depth + 1) if dice.chance(0.4 / (1 + depth)) else []
        if dice.chance(0.15):
            adjuncts = [*adjuncts, self.adverbs.draw()]
        if self.type.head_final:
            parts["V"] = adjuncts + parts["V"]
            adjuncts = []
        return [word for slot in self.type.order for word in parts[slot]] + adjuncts

    def verb(self, verb: Lexeme, subject: Features) -> list[str]:
        """A verb with tense and negation, as endings or as words, that agrees with its subject."""
        tense = self.dice.pick((0, 0, 0, 1, 1, 2))
        helpers = [self.negation] if self.dice.chance(0.1) else []
        if self.type.endings == "none":
            helpers += [self.tenses[tense]] if tense else []
            tense = 0
        person, plural = (subject.person, subject.plural) if self.type.agreement else (0, 0)
        return self.join(helpers, [self.verb_endings.inflect(verb, tense, person, plural)])

    def adpositional(self, depth: int) -> list[str]:
        """A prepositional or postpositional phrase."""
        return self.join([self.adpositions.draw()], self.noun_phrase(OBLIQUE, depth).words)

    def noun_phrase(self, case: int, depth: int, field: int | None = None) -> Phrase:
        """A pronoun, a name, or a noun with what modifies it; in a field where a verb selects it."""
        case = case if case < self.type.num_cases else NOMINATIVE
        choice = self.dice.random()
        if choice < 0.2:
            return self.pronoun(case)
        if choice < 0.28:
            name = self.names.draw()
            return Phrase([self.noun_endings.inflect(name, self._marked(name), 0, case)], Features(0, 0, name.gender))
        phrase = self.full_phrase(case, depth, field)
        if depth < MAX_DEPTH and self.dice.chance(0.06):
            other = self.full_phrase(case, depth + 1, field)
            return Phrase([*phrase.words, self.conjunction, *other.words], Features(0, 1, phrase.features.gender))
        return phrase

    def pronoun(self, case: int) -> Phrase:
        """A personal pronoun; unsaid as a subject where the verb's ending suffices."""
        features = Features(self.dice.pick((0, 0, 1, 1, 2)), int(self.dice.chance(0.3)), self.dice.pick(self.genders))
        if case == NOMINATIVE and not self.type.pronouns:
            return Phrase([], features)
        pronoun = self.pronouns[features.person, features.plural][features.gender]
        return Phrase([self.noun_endings.inflect(pronoun, self._marked(pronoun), 0, case)], features)

    def full_phrase(self, case: int, depth: int, field: int | None) -> Phrase:
        """A noun with its article or demonstrative, number, adjectives, possessor and relative clause."""
        dice = self.dice
        noun = self.noun(field)
        features = Features(0, int(dice.chance(0.3)), noun.gender)
        head = [self.noun_endings.inflect(noun, self._marked(noun), self._shown(features.plural), case)]
        if dice.chance(0.3):
            head = self.join(head, self.adjective(noun, features, case))
        if features.plural and dice.chance(0.3):
            head = [self.numerals.draw(), *head]
        elif features.plural and self.type.endings == "none":
            head = [self.plural_word, *head]
        if self.type.articles:
            head = [self._agreeing(self.articles[dice.chance(0.4)], features, case), *head]
        elif dice.chance(0.15):
            head = [self._agreeing(self.demonstratives.draw(), features, case), *head]
        if depth >= MAX_DEPTH:
            return Phrase(head, features)
        if dice.chance(0.15):
            head = self.join(head, self.possessor(depth + 1))
        if dice.chance(0.1):
            head = self.join(head, self.relative_clause(features, depth + 1))
        return Phrase(head, features)

    def adjective(self, noun: Lexeme, features: Features, case: int) -> list[str]:
        """An adjective that suits the noun, mostly, and agrees with it."""
        field = noun.field if self.dice.chance(0.8) else self.dice.pick(range(NUM_FIELDS))
        return [self._agreeing(self.adjectives_of_field[field].draw(), features, case)]

    def possessor(self, depth: int) -> list[str]:
        """A noun phrase in the genitive, or with the possessive word where there is no genitive."""
        words = self.noun_phrase(GENITIVE, depth).words
        return words if self.type.num_cases > GENITIVE else self.join([self.possessive], words)

    def relative_clause(self, head: Features, depth: int) -> list[str]:
        """A clause in which the head is the unsaid subject or object."""
        if self.dice.chance(0.6):
            clause = self.clause(depth, subject=Phrase([], head))
        else:
            clause = self.clause(depth, with_object=False)
        return self.join([self.relative], clause)

    def noun(self, field: int | None) -> Lexeme:
        """A noun: one mentioned before, one that the verb selects, one of the topic, or any."""
        choice = self.dice.random()
        if choice < 0.25 and self.mentioned:
            noun = self.dice.pick(self.mentioned[-4:])
        elif choice < 0.6 and field is not None:
            noun = self.nouns_of_field[field].draw()
        elif choice < 0.8:
            noun = self.nouns_of_field[self.topic].draw()
        else:
            noun = self.nouns.draw()
        self.mentioned.append(noun)
        return noun

    def _agreeing(self, word: Lexeme, features: Features, case: int) -> str:
        return self.adjective_endings.inflect(word, features.gender, self._shown(features.plural), case)

    def _marked(self, noun: Lexeme) -> int:
        return noun.gender if self.type.endings == "fused" else 0

    def _shown(self, plural: int) -> int:
        return plural if self.type.endings != "none" else 0


def write(number: int, num_bytes: int) -> list[str]:
    """Text of language `number`, 1 to 10: lines of at least `num_bytes` bytes in all; more bytes continue fewer.

    Raises:
        ValueError: If there is no such language.
    """
    lines, size = [], 0
    for line in Language(number).lines():
        lines.append(line)
        size += len(line.encode())
        if size >= num_bytes:
            return lines
    raise AssertionError("a language never ends")
