"""Tables of ratings as people bring them, each with its right reading.

A kind is written as its columns, ``name=letter`` each: what stands in a column is its letter's
(``CELLS``); ``*`` are the columns of a wide table. ``corpus`` makes files of every kind.
"""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

__all__ = ["Case", "corpus"]

USERS, ITEMS = 14, 9
Known = dict[tuple[str, str], float]


@dataclass(frozen=True)
class Case:
    """A file and the ratings that are in it."""

    name: str
    file: str
    data: bytes
    right: Known


# one rating a row
LONG = {
    "plain": "user=u item=i rating=v",
    "other order": "rating=v item=i user=u",
    "MovieLens": "userId=n movieId=m rating=h timestamp=t",
    "MovieLens with titles": "userId=n movieId=m rating=h timestamp=t title=i genres=g",
    "tags": "userId=n movieId=m tag=x timestamp=t",
    "index of pandas": "=r user_id=n anime_id=m rating=v",
    "index of pandas, saved again": "Unnamed:_0=r Unnamed:_0.1=r user_id=n anime_id=m rating=v",
    "index with gaps": "=k user=u item=i rating=v",
    "board games": "=r user=u rating=v comment=e ID=m name=i",
    "numbered ratings": "rating_id=r user_id=n movie_id=m rating=v",
    "ages of users": "user_age=a user_gender=s user_id=n movie_id=m rating=v",
    "books": "User-ID=n Book-Rating=v ISBN=b",
    "books with ages": "User-ID=n ISBN=b Book-Rating=v Age=a Location=x",
    "beers": "index=r brewery_id=c review_time=t review_overall=h review_profilename=u "
    "beer_style=g beer_name=i beer_abv=w beer_beerid=m",
    "businesses": "review_id=q user_id=u business_id=i stars=v useful=z funny=z cool=z date=d",
    "shop reviews": "Id=r ProductId=i UserId=u ProfileName=u HelpfulnessNumerator=z Score=v Time=t "
    "Summary=x Text=x",
    "shop reviews of one scale": "reviewerID=u asin=i reviewerName=u helpful=z overall=v "
    "reviewText=x unixReviewTime=t",
    "dates first": "date=d user=u item=i score=v",
    "times in milliseconds": "ts=l uid=n track_id=m rating=v",
    "German": "Kunde=u Produkt=i Bewertung=v Datum=d",
    "German participants": "Teilnehmer=u Frage=i Note=v",
    "French": "utilisateur=u film=i note=v date=d",
    "Spanish": "usuario=u pelicula=i puntuacion=v fecha=d",
    "Italian": "utente=u libro=i voto=v",
    "Russian": "пользователь=u фильм=i оценка=v",
    "camel case": "reviewerName=u productTitle=i starRating=v",
    "capitals": "USERID=n MOVIEID=m RATING=v",
    "ids of many digits": "steamid=y game=i rating=v",
    "noughts before ids": "user=0 item=i rating=v",
    "words for nothing as names": "user=o item=i rating=v",
    "decimal ratings": "user=u item=i rating=f",
    "ratings below 0": "user=u joke=i rating=j",
    "an average beside": "user_id=n item_id=m rating=v avg_rating=w rating_count=c",
    "who, what, how much": "who=u what=i much=v",
    "order and price": "order_id=q customer_id=n product_id=m price=w quantity=z rating=v",
    "games played": "user=u game=i behaviour=g hours=f",
    "survey answers": "respondent=n question=i answer=v",
    "R with row names": "rownames=r user=u item=i rating=v",
    "Goodreads": "book_id=m user_id=n rating=v",
    "indices": "user_index=n item_index=m label=v",
    "hotel": "Hotel_Name=i Reviewer_Nationality=g Review_Date=d Reviewer=u Reviewer_Score=f",
    "recipes": "user_id=n recipe_id=m date=d rating=v review=x",
    "a year": "user=u film=i year=Y rating=v",
    "flags": "user_id=n item_id=m is_recommended=s rating=v verified=s",
    "clothes": "=r Clothing_ID=m Age=a Title=x Review_Text=x Rating=v Customer=u",
}
# one user (or item) a row
WIDE = {
    "plain": "user=U *",
    "index of pandas": "=R user=U *",
    "index with gaps": "=K user=U *",
    "numbers and ids": "no=R user=Y *",
    "noughts before ids": "no=R user=0 *",
    "words for nothing as names": "user=O *",
    "a time": "user=U timestamp=T *",
    "a date": "Zeitstempel=D Name=U *",
    "ids": "id=U *",
    "names": "name=U *",
    "participants": "Teilnehmer=U *",
    "rows alone": "=R *",
    "nothing but ratings": "*",
    "ages": "user=U age=A gender=S *",
    "survey": "StartDate=D EndDate=D Status=Z Progress=H Duration=W Finished=F ResponseId=Q *",
    "sums": "user=U * total=+",
    "means": "user=U * mean=~",
    "years of birth": "user=U born=B *",
}
ITEM_NAMES = {
    "letters": lambda k: f"i{k}",
    "numbers": lambda k: f"{k + 1}",
    "numbers beyond": lambda k: f"{k + 101}",
    "numbers with a bar": lambda k: f"{k // 3 + 1}_{k % 3 + 1}",
    "films": lambda k: f"Film {k}",
}
WORDS = ("NA", "None", "null", "nan", "n/a", "NULL", "NaN")


def cell(letter: str, k: int, user: int, item: int, value: int) -> str:
    """What stands in row ``k`` of a column, of the rating ``value`` of an item by a user."""
    mixed = (k * 7919 + 13) % 1000
    made: dict[str, object] = {
        "u": f"p{user}", "n": 10 + 3 * user, "y": 76561198000000000 + user,
        "0": ("007", "07", "7", "0012", "12")[user % 5] + "a" * (user // 5 > 0) * (user // 5),
        "o": WORDS[user] if user < len(WORDS) else f"u{user}",
        "i": f"Film {item}", "m": 500 + 17 * item, "b": f"{'0X'[item % 2]}1951534{item:02d}",
        "v": value, "h": value - 0.5, "f": f"{value - 0.3:.1f}", "j": f"{value * 3 - 9.25:.2f}",
        "t": 1_234_817_823 + 9_973 * mixed, "l": (1_234_817_823 + 9_973 * mixed) * 1000 + mixed,
        "d": f"20{10 + mixed % 9}-0{1 + mixed % 8}-1{mixed % 7}", "r": k, "k": k + k // 5,
        "q": f"r{k:05d}", "a": 18 + 5 * (user % 4), "s": user % 2, "z": mixed % 3,
        "g": ("IPA", "Stout", "Lager")[item % 3], "w": f"{4 + (item % 5) / 2}", "c": 10 + item % 3,
        "x": f"some words of {mixed}", "e": "", "Y": 1990 + item,
    }  # fmt: skip
    return str(made[letter])


def rated(users: int, items: int, seed: int) -> list[tuple[int, int, int]]:
    """Who gives what to what: nearly every item, and not in an order that tells anything."""
    rng = np.random.default_rng(seed)
    rows = [(u, i) for u in range(users) for i in range(items) if rng.random() < 0.8]
    return [(u, i, int(rng.integers(1, 6))) for u, i in rng.permutation(rows).tolist()]


def long_table(kind: str, seed: int) -> tuple[list[str], list[list[str]], Known]:
    columns = [word.rpartition("=")[::2] for word in LONG[kind].split()]
    letters = [letter for _, letter in columns]
    rows = rated(USERS, ITEMS, seed)
    table = [[cell(letter, k, *row) for letter in letters] for k, row in enumerate(rows)]
    who = next(k for k, letter in enumerate(letters) if letter in "uny0o")
    what = next(k for k, letter in enumerate(letters) if letter in "imb")
    much = next((k for k, letter in enumerate(letters) if letter in "vhfj"), None)
    if much is not None and letters[much] == "w":
        much = None
    known = {(r[who], r[what]): 1.0 if much is None else float(r[much]) for r in table}
    return [name.replace("_", " ") if ":" in name else name for name, _ in columns], table, known


def wide_table(
    kind: str, items: int, names: str, seed: int
) -> tuple[list[str], list[list[str]], Known]:
    users = {"numbers and ids": 5, "noughts before ids": 5}.get(kind, 24)
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 6, (users, items))
    gaps = rng.random((users, items)) < 0.2
    called = [ITEM_NAMES[names](k) for k in range(items)]
    header: list[str] = []
    table: list[list[str]] = [[] for _ in range(users)]
    who = [str(k + 1) for k in range(users)]
    for word in WIDE[kind].split():
        name, _, letter = word.rpartition("=")
        if letter == "*":
            header += called
            for k, row in enumerate(table):
                row += ["" if gaps[k, i] else str(values[k, i]) for i in range(items)]
            continue
        header.append(name)
        for k, row in enumerate(table):
            kept = values[k][~gaps[k]]
            made = {
                "U": f"p{k}", "Y": f"{12345678901234567 + k}",
                "0": ("007", "07", "7", "0012", "12")[k % 5], "R": str(k), "K": str(k + k // 4),
                "O": WORDS[k] if k < len(WORDS) else f"u{k}", "T": str(1_700_000_000 + 13 * k),
                "D": f"2024-0{1 + k % 9}-1{k % 9} 1{k % 9}:03:2{k % 9}", "A": str(18 + 7 * k % 50),
                "S": str(1 + k % 2), "Z": "0", "H": "100", "W": str(60 + 37 * k % 400), "F": "True",
                "Q": f"R_{k * 7919 % 9973:04x}", "+": str(kept.sum()), "B": str(1950 + k % 40),
                "~": f"{kept.mean():.3f}",
            }[letter]  # fmt: skip
            row.append(made)
            if letter in "UY0OQ":
                who[k] = made
    if "=R *" in WIDE[kind] and "user" not in WIDE[kind]:
        who = [str(k) for k in range(users)]
    known = {
        (who[k], called[i]): float(values[k, i])
        for k in range(users) for i in range(items) if not gaps[k, i]
    }  # fmt: skip
    return header, table, known


def quoted(word: str, separator: str) -> str:
    if set(word) & {separator, '"', "\n"}:
        return '"' + word.replace('"', '""') + '"'
    return word


def text(header: list[str], rows: list[list[str]], separator: str = ",", end: str = "\n") -> str:
    lines = [header, *rows] if header else rows
    return end.join(separator.join(quoted(c, separator) for c in line) for line in lines) + end


def swapped(known: Known, users: dict[str, str], items: dict[str, str]) -> Known:
    return {(users.get(u, u), items.get(i, i)): v for (u, i), v in known.items()}


def corpus() -> Iterator[Case]:
    """Every file."""
    yield from _long_files()
    yield from _wide_files()
    yield from _odd_files()


def _long_files() -> Iterator[Case]:
    separators = (",", ";", "\t", "|", "::")
    encodings = ("utf-8", "utf-8-sig", "utf-16", "utf-8", "utf-16-le")
    for k, kind in enumerate(LONG):
        header, rows, known = long_table(kind, k)
        separator, encoding = separators[k % 4], encodings[k // 4 % 5]
        yield Case(f"{kind}, commas", "a.csv", text(header, rows).encode(), known)
        made = text(header, rows, separator, ("\n", "\r\n", "\r")[k % 3])
        yield Case(f"{kind}, {separator!r} {encoding}", "a.csv", made.encode(encoding), known)
    for kind in ("plain", "MovieLens", "Goodreads", "German", "decimal ratings", "tags"):
        header, rows, known = long_table(kind, 5)
        for separator in separators:
            name = f"{kind} without header, {separator!r}"
            yield Case(name, "a.dat", text([], rows, separator).encode(), known)
    for kind in ("MovieLens", "Goodreads", "capitals"):
        header, rows, known = long_table(kind, 6)
        for head in (header, []):
            lines = text(head, rows, " ").splitlines()
            wider = "\n".join(f" {line.replace(' ', '   ')} " for line in lines)
            yield Case(f"{kind}, blanks, {bool(head)}", "a.txt", "\n".join(lines).encode(), known)
            yield Case(f"{kind}, many blanks, {bool(head)}", "a.txt", wider.encode(), known)


def _wide_files() -> Iterator[Case]:
    for k, kind in enumerate(WIDE):
        for items in (12, 60):
            names = "letters"
            header, rows, known = wide_table(kind, items, names, k)
            separator = ",;\t|"[(k + items) % 4]
            made = text(header, rows, separator).encode(("utf-8", "utf-16")[items == 60])
            yield Case(f"wide {kind}, {items} items", "w.csv", made, known)
    for kind in ("ids", "participants", "index of pandas", "plain", "rows alone"):
        for names in ITEM_NAMES:
            for items in (8, 60):
                header, rows, known = wide_table(kind, items, names, 3)
                made = text(header, rows).encode()
                yield Case(f"wide {kind} of {names}, {items} items", "w.csv", made, known)


def _odd_files() -> Iterator[Case]:
    header, rows, known = long_table("plain", 1)
    titles = {f"Film {k}": title for k, title in enumerate(
        ('"Crocodile" Dundee', '"Great, the', "Good, Bad; Ugly", "a  b", "7", "é", "A\u2028B",
         "zero\u200bwidth", "x" * 114)
    )}  # fmt: skip
    renamed = swapped(known, {}, titles)
    titled = [[u, titles[i], v] for u, i, v in rows]
    plain = "\n".join("\t".join(row) for row in [header, *titled])
    yield Case("letters that are quotes", "a.tsv", plain.encode(), renamed)
    words = swapped(known, {}, {"Film 3": '"Great" Escape'})
    spoken = [[u, '"Great" Escape' if i == "Film 3" else i, v] for u, i, v in rows]
    plain = "\n".join("\t".join(row) for row in [header, *spoken])
    yield Case("words in quotes before others", "a.tsv", plain.encode(), words)
    plays = "\n".join(f"{u}\tmb {i}\tartist {i}\t{v}" for u, i, v in rows)
    artists = swapped(known, {}, {f"Film {k}": f"artist Film {k}" for k in range(ITEMS)})
    yield Case("blanks between tabs", "a.tsv", plays.encode(), artists)
    aligned = "\n".join(f"{u:>8}{i.replace(' ', '_'):>12}{v:>8}" for u, i, v in [header, *rows])
    joined = swapped(known, {}, {f"Film {k}": f"Film_{k}" for k in range(ITEMS)})
    yield Case("columns in line", "a.txt", aligned.encode(), joined)
    cyrillic = text(
        ["пользователь", "фильм", "оценка"], [[f"Имя{u}", "Кино" * 9 + i, v] for u, i, v in rows]
    )
    named = {(f"Имя{u}", "Кино" * 9 + i): v for (u, i), v in known.items()}
    yield Case("UTF-16 that does not say so", "a.csv", cyrillic.encode("utf-16-le"), named)
    yield Case("quotes within quotes", "a.csv", text(header, titled).encode(), renamed)
    commas = [[u, f"{i}, The (19{i[-1]}0)", v] for u, i, v in rows]
    there = {f"Film {k}": f"Film {k}, The (19{k}0)" for k in range(ITEMS)}
    named = swapped(known, {}, there)
    yield Case("commas in titles, tabs", "a.tsv", text([], commas, "\t").encode(), named)
    yield Case(
        "separators in names of columns", "a.csv",
        text(["user; id", "film, with year", "rating"], commas, ";").encode(), named,
    )  # fmt: skip
    spaced = "\n".join(", ".join(quoted(c, ",") for c in row) for row in [header, *commas])
    yield Case("a blank after commas", "a.csv", spaced.encode(), named)
    every = "\n".join(",".join(f'"{c}"' for c in row) for row in [header, *rows])
    yield Case("everything in quotes", "a.csv", every.encode(), known)
    for mark in ("# exported 2024\n# n=48\n", "% ratings\n", "Report of ratings\n\n", "sep=,\n"):
        made = mark + text(header, rows)
        yield Case(f"lines of comment {mark[:5]!r}", "a.csv", made.encode(), known)
    r_file = "\n".join(
        [" ".join(f'"{name}"' for name in header)]
        + [f'"{k + 1}" "{u}" "{i}" {v}' for k, (u, i, v) in enumerate(rows)]
    )
    yield Case("R's table with names of rows", "a.txt", r_file.encode(), known)
    r_csv = "\n".join(
        [",".join(['""', *(f'"{name}"' for name in header)])]
        + [f'"{k + 1}","{u}","{i}",{v}' for k, (u, i, v) in enumerate(rows)]
    )
    yield Case("R's CSV with names of rows", "a.csv", r_csv.encode(), known)
    decimal = [[u, i, f"{float(v) - 0.5}".replace(".", ",")] for u, i, v in rows]
    half = {pair: value - 0.5 for pair, value in known.items()}
    yield Case("decimal commas", "a.csv", text(header, decimal, ";").encode("cp1252"), half)
    accents = [
        [f"Zoe\u0308 {u}" if k % 2 else f"Zoë {u}", i, v] for k, (u, i, v) in enumerate(rows)
    ]
    names = {f"p{k}": f"Zoë p{k}" for k in range(USERS)}
    composed = swapped(known, names, {})
    yield Case("accents composed and not", "a.csv", text(header, accents).encode(), composed)
    latin = [[f"Zoë {u}", i, v] for u, i, v in rows]
    yield Case("Latin letters", "a.csv", text(header, latin).encode("latin-1"), composed)
    blank = [[u, i, v if k % 7 else ("NA", "", "null")[k % 3]] for k, (u, i, v) in enumerate(rows)]
    some = {(u, i): float(v) for u, i, v in blank if v.isdigit()}
    yield Case("ratings that are missing", "a.csv", text(header, blank).encode(), some)
    coded = [[u, i, v if k % 5 else "99"] for k, (u, i, v) in enumerate(rows)]
    kept = {(u, i): float(v) for u, i, v in coded if v != "99"}
    yield Case("a code for missing", "a.csv", text(header, coded).encode(), kept)
    last = [*rows, ["Total", "", str(len(rows))]]
    yield Case("a last line with the count", "a.csv", text(header, last).encode(), known)
    yield Case(
        "a line of words at the end", "a.csv", f"{text(header, rows)}42 rows\n".encode(), known
    )
    yield Case("blank lines", "a.csv", text(header, rows).replace("\n", "\n\n").encode(), known)
    trailing = "\n".join([",".join(header), *(",".join(row) + "," for row in rows)])
    yield Case("a separator after each row", "a.csv", trailing.encode(), known)
    amazon = [[f"A{u}XQ", f"000{500 + int(i[-1])}2046", f"{v}.0", "1391040000"] for u, i, v in rows]
    pairs = {(u, i): float(v) for u, i, v, _ in amazon}
    yield Case("shop ratings without header", "a.csv", text([], amazon).encode(), pairs)
    tabs = [[str(int(u[1:]) + 1), str(int(i[-1]) + 1), v, str(881250949 + 7 * k)]
            for k, (u, i, v) in enumerate(rows)]  # fmt: skip
    yield Case(
        "u.data", "u.data.txt", text([], tabs, "\t").encode(),
        {(u, i): float(v) for u, i, v, _ in tabs},
    )  # fmt: skip
    yield Case("one blank between", "filmtrust.txt", text([], [t[:3] for t in tabs], " ").encode(),
               {(u, i): float(v) for u, i, v, _ in tabs})  # fmt: skip
    yield from _pivots()
    yield from _parquet()


def _pivots() -> Iterator[Case]:
    header, rows, known = wide_table("plain", 12, "letters", 2)
    values = [[float(c) if c else np.nan for c in row[1:]] for row in rows]
    table = np.array(values)
    for word, row in (
        ("Total", np.nansum(table, axis=0)), ("Summe", np.nansum(table, axis=0)),
        ("Mean", np.nanmean(table, axis=0).round(2)),
        ("Average", np.nanmean(table, axis=0).round(2)),
        ("Grand Total", np.nansum(table, axis=0)), ("", np.nansum(table, axis=0)),
        ("Count", np.isfinite(table).sum(axis=0)), ("zz", np.nansum(table, axis=0)),
    ):  # fmt: skip
        last = [word, *(f"{value:g}" for value in row)]
        yield Case(f"a row called {word!r}", "w.csv", text(header, [*rows, last]).encode(), known)
    first = ["Total", *(f"{value:g}" for value in np.nansum(table, axis=0))]
    yield Case("a first row of sums", "w.csv", text(header, [first, *rows]).encode(), known)
    frame = pd.DataFrame(table, [row[0] for row in rows], header[1:])
    frame["All"] = frame.sum(axis=1)
    frame.loc["All"] = frame.sum()
    frame.index.name = "user"
    yield Case("a pivot with margins", "w.csv", frame.to_csv().encode(), known)
    two = [[*row[:3], str(sum(int(c or 0) for c in row[1:3]))] for row in rows]
    pairs = {(u, i): v for (u, i), v in known.items() if i in header[1:3]}
    yield Case("sums of two", "w.csv", text([*header[:3], "Summe"], two).encode(), pairs)
    turned = pd.DataFrame(table.T, header[1:], [row[0] for row in rows])
    turned.index.name = "film"
    yield Case("items by users", "w.csv", turned.to_csv().encode(), known)
    jester = [
        [
            str(sum(bool(c) for c in row[1:])),
            *((c and f"{float(c) * 2 - 7:.2f}") or "99" for c in row[1:]),
        ]
        for row in rows
    ]
    numbered = {
        (str(k + 1), f"column {i + 2}"): float(f"{float(c) * 2 - 7:.2f}")
        for k, row in enumerate(rows) for i, c in enumerate(row[1:]) if c
    }  # fmt: skip
    yield Case("jokes", "jester.csv", text([], jester).encode(), numbered)
    questions = ["Please rate"] * 12
    ids = [f'{{"ImportId":"QID{k}"}}' for k in range(12)]
    survey = [["Response ID", *questions], ['{"ImportId":"_recordId"}', *ids], *rows]
    yield Case(
        "rows of questions", "w.csv", text(["ResponseId", *header[1:]], survey).encode(), known
    )
    words = [[u, *(c or "NA" for c in cells)] for u, *cells in rows]
    yield Case("NA in a wide table", "w.csv", text(header, words).encode(), known)
    commas = [[u, *(c and c + ",5" for c in cells)] for u, *cells in rows]
    half = {pair: value + 0.5 for pair, value in known.items()}
    yield Case("wide, decimal commas", "w.csv", text(header, commas, ";").encode(), half)


def _parquet() -> Iterator[Case]:
    def saved(frame: pd.DataFrame, index: bool | None = None) -> bytes:
        out = io.BytesIO()
        frame.to_parquet(out, index=index)
        return out.getvalue()

    header, rows, known = long_table("plain", 4)
    frame = pd.DataFrame(rows, columns=header).astype({"rating": float})
    yield Case("Parquet", "a.parquet", saved(frame), known)
    some = frame[frame["user"] != "p3"]
    right = {pair: value for pair, value in known.items() if pair[0] != "p3"}
    yield Case("Parquet with an index that has gaps", "a.parquet", saved(some), right)
    pivot = frame.pivot(index="user", columns="item", values="rating")
    yield Case("Parquet of a pivot", "w.parquet", saved(pivot), known)
    pivot.index.name = None
    yield Case("Parquet of a pivot without a name", "w.parquet", saved(pivot), known)
    wide = pivot.reset_index(names="user")
    less = wide[wide["user"] != "p3"]
    yield Case("Parquet of a wide table with gaps", "w.parquet", saved(less), right)
    digits = 76561198000000000
    large = frame.assign(user=frame["user"].str[1:].astype("int64") + digits)
    large.loc[len(large)] = [digits, "one more", 3.0]
    named = {(str(digits + int(u[1:])), i): v for (u, i), v in known.items()}
    named[str(digits), "one more"] = 3.0
    yield Case("Parquet with ids of 17 digits", "a.parquet", saved(large), named)
    timed = frame.assign(when=pd.Timestamp("2024-01-01"), user_age=30)[
        ["when", "user_age", "item", "user", "rating"]
    ]
    yield Case("Parquet with times", "a.parquet", saved(timed), known)
    assert re.fullmatch("p[0-9]+", frame["user"].iloc[0])
