"""What a column of a table may hold: a user, an item, a rating, a time, or the number of its row.

By the words of its name and by its values; which columns are what is decided in ``table_guesses``.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpmc_core.datasets.own.cells import numbers

if TYPE_CHECKING:
    import pandas as pd

# the last word of a name that is none of _OF_AN_ID says what a column is about
_WORDS = {
    "user": """
        user uid usr customer client person people reviewer reader member student rater participant
        respondent subject profile viewer visitor listener player account voter consumer buyer
        critic judge email nutzer benutzer kunde kunden kundin teilnehmer teilnehmerin leser
        mitglied
        proband schueler schuler befragte kaufer utilisateur utilisatrice usager lecteur membre
        personne repondant eleve usuario usuaria cliente lector persona participante utente lettore
        partecipante utilizador gebruiker klant deelnemer uzytkownik anvandare kullanici
        пользователь клиент 用户 ユーザー
    """,
    "item": """
        item movie film product book isbn song track artist title asin joke game anime manga beer
        wine business restaurant hotel show series serie album recipe app course video article place
        venue poi food dish question sku podcast episode artikel produkt buch titel lied spiel
        gericht frage kurs produit livre titre chanson jeu oeuvre producto pelicula libro articulo
        cancion juego titulo obra prodotto titolo canzone gioco produto livro filme musica jogo
        boek фильм книга товар 商品 电影
    """,
    "rating": """
        rating rate score star grade points overall value mark vote preference liking opinion
        bewertung note sterne wertung punkte evaluation etoile puntuacion calificacion nota
        valoracion estrella puntaje voto valutazione punteggio stella avaliacao pontuacao
        beoordeling cijfer waardering sterren ocena betyg оценка рейтинг 评分
    """,
    "count": """
        play count counts listen view click purchase visit order download stream times quantity qty
        freq frequency amount hour cnt plays played watched bought purchased
    """,
    "time": """
        timestamp tstamp ts time date datetime when created updated year month day week unixtime
        zeit datum zeitstempel uhrzeit jahr fecha hora heure annee ano ora tijd время дата
        startdate enddate recordeddate
    """,
    "row": "unnamed index idx row rowname level rownum record line zeile lfd",
    "other": """
        age gender sex zip zipcode postcode country city state location occupation job income
        education language comment text summary body tag genre category brand style type price cost
        useful funny cool helpful helpfulness votes abv latitude longitude lat lng lon ip ipaddress
        status progress duration seconds finished group session condition block trial wave site
        class team verified weight height rank url link description
        alter geschlecht ort land beruf kommentar sexe pays ville sexo edad pais ciudad
    """,
}
_ROLES = {word: role for role, words in _WORDS.items() for word in words.split()}
_LONG = tuple(word for word in _ROLES if len(word) >= 5)
_OF_AN_ID = {
    "id", "ids", "no", "nr", "num", "number", "nummer", "numero", "key", "code", "name", "index",
    "idx",
}  # fmt: skip
# what is of all together, and of nobody in particular
_OF_MANY = {"num", "number", "n", "count", "cnt", "avg", "average", "mean", "total", "sum", "std"}
# each row of a table is one of them
_OF_A_ROW = {"rating", "review", "vote", "order", "transaction", "event", "response", "entry"}
_TIME = (
    r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d\d)|"
    r"\w{3,9},? \d{1,2},? \d{4}|\d{1,2}:\d\d(:\d\d)?|\d{1,2},? \w{3,9},? \d{4})\b.*"
)
LOOKED_AT = 100_000  # rows


def role_of(name: str) -> tuple[str, bool]:
    """What a column called ``name`` is about ("": it does not say), and whether it is an id of it.

    >>> role_of("userId"), role_of("user_age"), role_of("rating_id"), role_of("Book-Rating")
    (('user', True), ('other', False), ('row', True), ('rating', False))
    >>> role_of("review_profilename"), role_of("Kundennummer"), role_of("avg_rating"), role_of("ID")
    (('user', True), ('user', True), ('count', False), ('', True))
    """
    plain = unicodedata.normalize("NFKD", name)
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain)
    words = [part for word in re.findall(r"[^\W\d_]+", plain.lower()) for part in _parts(word)]
    about = list(words)
    while len(about) > 1 and about[-1] in _OF_AN_ID:
        about.pop()
    of_id, head = bool(words) and words[-1] in _OF_AN_ID, about[-1] if about else ""
    if of_id and head in _OF_A_ROW:
        return "row", True
    role = _ROLES.get(head) or _ROLES.get(head.removesuffix("s"), "")
    if role in ("rating", "count") and _OF_MANY & set(words[:-1]):
        return "count", False
    return role, of_id


def _parts(word: str) -> list[str]:
    """A word, in two where it is put together of one that is known and one that ends it."""
    if word in _ROLES or word in _OF_AN_ID:
        return [word]
    for end in _OF_AN_ID:
        begin = word.removesuffix(end)
        if begin != word and (begin in _ROLES or begin.endswith(_LONG)):
            return [begin if begin in _ROLES else next(w for w in _LONG if begin.endswith(w)), end]
    single = word.removesuffix("s")
    # of thousands of columns most end in none: all at once is asked first
    return [next(w for w in _LONG if single.endswith(w)) if single.endswith(_LONG) else word]


@dataclass(frozen=True)
class Column:
    """A column's name, the ``role`` that it says and whether it is an ``of_id``; of its first
    values: the shares that are ``filled``, of these that are ``numeric``, how many are
    ``distinct`` of how many, their ends, whether all are ``whole``, count up (``rising``), are
    ``times``, and their mean ``length`` in characters.
    """

    name: str
    role: str
    of_id: bool
    rows: int
    filled: float
    numeric: float
    distinct: int
    low: float
    high: float
    whole: bool
    rising: bool
    consecutive: bool
    times: bool
    length: float

    @property
    def unique(self) -> bool:
        """Whether no value is there twice."""
        return self.distinct >= self.rows * self.filled > 1

    @property
    def row_number(self) -> bool:
        """Whether it numbers the rows: its name says so, or nothing and it counts up."""
        if self.role == "row":
            return self.whole and self.unique and self.numeric == 1
        return self.consecutive and not self.role

    @property
    def small(self) -> bool:
        """Whether it holds few small numbers, as ratings are."""
        return self.numeric > 0.5 and self.distinct <= 12 and self.high <= 12

    def score(self, role: str) -> float:
        """How well it fits "user", "item" or "rating": about 5 where name and values agree."""
        if role == "rating":
            return self._rating()
        fits = {role: 4.0, "": 0.0, "count": -2.0}.get(self.role, -4.0)
        if self.of_id:
            fits += 0.5
        if not self.role and re.search("name|title", self.name.lower()):
            fits += 0.3
        if self.times or self.distinct < 2 or (self.numeric > 0.5 and not self.whole):
            fits -= 4
        if self.row_number:
            fits -= 6
        elif self.unique and self.rows > 5:
            fits -= 2
        if self.length > 60 or self.filled < 0.5:
            fits -= 3
        return fits - 0.5 * self.small

    def _rating(self) -> float:
        if self.numeric < 0.5 or self.times:
            return -1.0 if self.role in ("rating", "count") and not self.times else -9.0
        usual = -2.0 if self.distinct <= 25 and not self.of_id else -5.0
        fits = {"rating": 4.0, "count": 1.5, "": 0.0, "other": -2.5}.get(self.role, usual)
        fits += 1.5 if self.distinct <= 12 else 1.0 if self.distinct <= 25 else 0.5
        fits += 0.5 * (self.low >= 0 and self.high <= 100) - 0.5 * self.of_id
        if self.rising and self.rows > 5:
            fits -= 4
        if self.whole and self.high >= 10_000:
            fits -= 3
        if self.distinct < 2:
            fits -= 1
        return fits


def column_of(name: str, values: pd.Series) -> Column:
    """The column called ``name``, by its name and its first ``values``."""
    role, of_id = role_of(name)
    values = values.head(LOOKED_AT)
    if values.dtype.kind in "OT" or str(values.dtype) == "str":
        values = values.where(values.astype("str").str.strip() != "")
    held = values.dropna()
    parsed = numbers(held)
    share = float(parsed.notna().mean()) if len(held) else 0.0
    finite = parsed[np.isfinite(parsed)].to_numpy()
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (np.nan, np.nan)
    whole = bool(finite.size and (finite % 1 == 0).all())
    rising = bool(whole and len(finite) == len(values) > 2 and (finite[1:] > finite[:-1]).all())
    texts = held.head(1000).astype("str")
    if values.dtype.kind in "mM":
        times = True
    elif share < 0.5:
        times = bool(texts.str.fullmatch(_TIME).mean() > 0.9)
    else:
        seconds = low >= 3e8 and high <= 2.2e9
        epoch = whole and (seconds or (low >= 3e11 and high <= 2.2e12)) and not of_id
        times = epoch if role in ("", "row", "other") else role == "time"
    return Column(
        name=name, role=role, of_id=of_id, rows=len(values),
        filled=len(held) / max(len(values), 1), numeric=share, distinct=int(held.nunique()),
        low=low, high=high, whole=whole, rising=rising,
        consecutive=rising and bool((finite[1:] == finite[:-1] + 1).all()),
        times=times or (role == "time" and share < 0.5),
        length=float(texts.str.len().mean()) if len(held) else 0.0,
    )  # fmt: skip
