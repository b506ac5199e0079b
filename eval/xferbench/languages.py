"""The grammar of the artificial target languages, each a pure function of its number.

They differ in type (`typologies.py`) and share what human languages share: Zipf-Mandelbrot words in parts of
speech, phrases within phrases, words that select other words and agree with them, and discourses that keep to a
topic and come back to what they mentioned.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ecsuite.eval.xferbench.lexicon import FRONTED, Dice, Endings, Lexeme, Ranked, Sounds
from ecsuite.eval.xferbench.typologies import TYPOLOGIES

NOMINATIVE, ACCUSATIVE, GENITIVE, OBLIQUE = range(4)
NUM_NOUNS, NUM_NAMES, NUM_ADJECTIVES, NUM_ADVERBS = 2400, 200, 600, 80
NUM_VERBS, NUM_VERBS_OF_SAYING = 800, 20
NUM_FIELDS = 12
"""Semantic fields: a noun belongs to one, a verb or an adjective prefers one."""
MAX_DEPTH = 3
"""Clauses and phrases embed no deeper than this."""


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
        self.type = TYPOLOGIES[number - 1]
        self.dice = Dice(number)
        self.topic = 0
        self.mentioned: list[Lexeme] = []
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
        self.articles = Ranked([self._lexeme(1) for _ in range(2)], self.dice)
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
        self.transitive, self.intransitive = Ranked(verbs[0::2], self.dice), Ranked(verbs[1::2], self.dice)
        self.verbs_of_saying = Ranked([self._lexeme(2) for _ in range(NUM_VERBS_OF_SAYING)], self.dice)
        self.adjectives_of_field = [
            Ranked([word for word in adjectives if word.field == field], self.dice)
            for field in range(NUM_FIELDS)
        ]
        self.adverbs = Ranked([self.sounds.word(2) for _ in range(NUM_ADVERBS)], self.dice)

    def _lexeme(self, num_syllables: int, *, name: bool = False) -> Lexeme:
        form = self.sounds.word(num_syllables)
        front = self.type.harmony and self.dice.chance(0.4)
        form = form.translate(FRONTED) if front else form
        gender, field = self.dice.pick(self.genders), self.dice.pick(range(NUM_FIELDS))
        return Lexeme(form.capitalize() if name else form, front, gender, field)

    def lines(self) -> Iterator[str]:
        """Write without end: paragraphs of one to four sentences, each a line."""
        while True:
            self.topic = self.dice.pick(range(NUM_FIELDS))
            self.mentioned.clear()
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

    def clause(self, depth: int, *, subject: Phrase | None = None, object_gap: bool = False) -> list[str]:
        """A clause.

        Args:
            depth: How deep it is embedded.
            subject: Where given, the subject; without words where a relative clause leaves it out.
            object_gap: Whether the verb is transitive and a relative clause leaves its object out.
        """
        dice = self.dice
        parts: dict[str, list[str]] = {"O": []}
        if object_gap:
            verb = self.transitive.draw()
        elif depth < MAX_DEPTH and dice.chance(0.15):
            verb = self.verbs_of_saying.draw()
            parts["O"] = self.join([self.complement], self.clause(depth + 1))
        elif dice.chance(0.4):
            verb = self.intransitive.draw()
        else:
            verb = self.transitive.draw()
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
        if tense and self.type.endings == "none":
            helpers = [*helpers, self.tenses[tense]]
        return self.join(helpers, [self.verb_endings.inflect(verb, tense, subject.person, subject.plural)])

    def adpositional(self, depth: int) -> list[str]:
        """A prepositional or postpositional phrase."""
        return self.join([self.adpositions.draw()], self.noun_phrase(OBLIQUE, depth).words)

    def noun_phrase(self, case: int, depth: int, field: int | None = None) -> Phrase:
        """A pronoun, a name, or a noun with what modifies it; in a field where a verb selects it."""
        choice = self.dice.random()
        if choice < 0.2:
            return self.pronoun(case)
        if choice < 0.28:
            name = self.names.draw()
            word = self.noun_endings.inflect(name, name.gender, 0, case)
            return Phrase([word], Features(0, 0, name.gender))
        phrase = self.full_phrase(case, depth, field)
        if depth < MAX_DEPTH and self.dice.chance(0.06):
            other = self.full_phrase(case, depth + 1, field)
            words = [*phrase.words, self.conjunction, *other.words]
            return Phrase(words, Features(0, 1, phrase.features.gender))
        return phrase

    def pronoun(self, case: int) -> Phrase:
        """A personal pronoun; unsaid as a subject where the verb's ending suffices."""
        person, plural = self.dice.pick((0, 0, 1, 1, 2)), int(self.dice.chance(0.3))
        features = Features(person, plural, self.dice.pick(self.genders))
        if case == NOMINATIVE and not self.type.pronouns:
            return Phrase([], features)
        pronoun = self.pronouns[person, plural][features.gender]
        return Phrase([self.noun_endings.inflect(pronoun, features.gender, 0, case)], features)

    def full_phrase(self, case: int, depth: int, field: int | None) -> Phrase:
        """A noun with its article or demonstrative, number, adjectives, possessor and relative clause."""
        dice = self.dice
        noun = self.noun(field)
        features = Features(0, int(dice.chance(0.3)), noun.gender)
        head = [self.noun_endings.inflect(noun, noun.gender, features.plural, case)]
        if dice.chance(0.3):
            head = self.join(head, [self.adjective(noun, features, case)])
        if features.plural and dice.chance(0.3):
            head = [self.numerals.draw(), *head]
        elif features.plural and self.type.endings == "none":
            head = [self.plural_word, *head]
        if self.type.articles:
            head = [self.agreeing(self.articles.draw(), features, case), *head]
        elif dice.chance(0.15):
            head = [self.agreeing(self.demonstratives.draw(), features, case), *head]
        if depth >= MAX_DEPTH:
            return Phrase(head, features)
        if dice.chance(0.15):
            head = self.join(head, self.possessor(depth + 1))
        if dice.chance(0.1):
            head = self.join(head, self.relative_clause(features, depth + 1))
        return Phrase(head, features)

    def adjective(self, noun: Lexeme, features: Features, case: int) -> str:
        """An adjective that suits the noun, mostly, and agrees with it."""
        field = noun.field if self.dice.chance(0.8) else self.dice.pick(range(NUM_FIELDS))
        return self.agreeing(self.adjectives_of_field[field].draw(), features, case)

    def possessor(self, depth: int) -> list[str]:
        """A noun phrase in the genitive, or with the possessive word where there is no genitive."""
        words = self.noun_phrase(GENITIVE, depth).words
        return words if self.type.num_cases > GENITIVE else self.join([self.possessive], words)

    def relative_clause(self, head: Features, depth: int) -> list[str]:
        """A clause in which the head is the unsaid subject or object."""
        if self.dice.chance(0.6):
            clause = self.clause(depth, subject=Phrase([], head))
        else:
            clause = self.clause(depth, object_gap=True)
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

    def agreeing(self, word: Lexeme, features: Features, case: int) -> str:
        """An article, a demonstrative or an adjective as its noun demands."""
        return self.adjective_endings.inflect(word, features.gender, features.plural, case)


def write(number: int, num_bytes: int) -> list[str]:
    """Lines of language `number`, 1 to 10, of at least `num_bytes` bytes in all; more bytes continue fewer.

    Raises:
        ValueError: If there is no such language.
    """
    text = Language(number).lines()
    lines: list[str] = []
    size = 0
    while size < num_bytes:
        lines.append(next(text))
        size += len(lines[-1].encode())
    return lines
