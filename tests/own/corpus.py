"""Tables of ratings as people bring them, each with its right reading.

A kind is written as its columns, ``name=letter`` each: what stands in a column is its letter's
(``CELLS``); ``*`` are the columns of a wide table. ``corpus`` makes files of every kind.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

USERS, ITEMS = 14, 9
Expected = dict[tuple[str, str], float]


class Case(NamedTuple):
    """A file and the ratings that are in it."""

    name: str
    file: str
    data: bytes
    right: Expected


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
    "plain": "user=u *",
    "index of pandas": "=r user=u *",
    "index with gaps": "=k user=u *",
    "numbers and ids": "no=r user=y *",
    "noughts before ids": "no=r user=0 *",
    "words for nothing as names": "user=o *",
    "a time": "user=u timestamp=t *",
    "a date": "Zeitstempel=D Name=u *",
    "ids": "id=u *",
    "names": "name=u *",
    "participants": "Teilnehmer=u *",
    "rows alone": "=r *",
    "nothing but ratings": "*",
    "ages": "user=u age=a gender=s *",
    "survey": "StartDate=D EndDate=D Status=Z Progress=H Duration=W Finished=F ResponseId=q *",
    "sums": "user=u * total=+",
    "means": "user=u * mean=~",
    "years of birth": "user=u born=B *",
}
ITEM_NAMES = {
    "letters": lambda k: f"i{k}",
    "numbers": lambda k: f"{k + 1}",
    "numbers beyond": lambda k: f"{k + 101}",
    "numbers with a bar": lambda k: f"{k // 3 + 1}_{k % 3 + 1}",
    "films": lambda k: f"Film {k}",
}
WORDS = ("NA", "None", "null", "nan", "n/a", "NULL", "NaN")


def cell(letter: str, k: int, user: int, item: int = 0, value: int = 1) -> str:
    """What stands in row ``k`` of a column, of the rating ``value`` of an item by a user."""
    mixed = (k * 7919 + 13) % 1000
    cells: dict[str, object] = {
        "u": f"p{user}", "n": 10 + 3 * user, "y": 76561198000000000 + user,
        "0": ("007", "07", "7", "0012", "12")[user % 5] + "a" * (user // 5 > 0) * (user // 5),
        "o": WORDS[user] if user < len(WORDS) else f"u{user}",
        "i": f"Film {item}", "m": 500 + 17 * item, "b": f"{'0X'[item % 2]}1951534{item:02d}",
        "v": value, "h": value - 0.5, "f": f"{value - 0.3:.1f}", "j": f"{value * 3 - 9.25:.2f}",
        "t": 1_234_817_823 + 9_973 * mixed, "l": (1_234_817_823 + 9_973 * mixed) * 1000 + mixed,
        "d": f"20{10 + mixed % 9}-0{1 + mixed % 8}-1{mixed % 7}", "r": k, "k": k + k // 5,
        "q": f"r{k:05d}", "a": 18 + 5 * (user % 4), "s": user % 2, "z": mixed % 3,
        "g": ("IPA", "Stout", "Lager")[item % 3], "w": f"{4 + (item % 5) / 2}", "c": 10 + item % 3,
        "x": f"some words of {mixed}", "e": "", "Y": 1990 + item, "B": 1950 + user % 40,
        "D": f"2024-0{1 + k % 9}-1{k % 9} 1{k % 9}:03:2{k % 9}", "Z": 0, "H": 100, "F": True,
        "W": 60 + 37 * k % 400,
    }  # fmt: skip
    return str(cells[letter])


def rated(users: int, items: int, seed: int) -> list[tuple[int, int, int]]:
    """Who gives what to what: nearly every item, and not in an order that tells anything."""
    rng = np.random.default_rng(seed)
    rows = [(u, i) for u in range(users) for i in range(items) if rng.random() < 0.8]
    return [(u, i, int(rng.integers(1, 6))) for u, i in rng.permutation(rows).tolist()]


def expected_of(rows: list[list[str]]) -> Expected:
    """What rows of a user, an item and a rating say, whatever else is in them."""
    return {(user, item): float(value) for user, item, value, *_ in rows}


def long_table(kind: str, seed: int) -> tuple[list[str], list[list[str]], Expected]:
    columns = [word.rpartition("=")[::2] for word in LONG[kind].split()]
    letters = [letter for _, letter in columns]
    rows = rated(USERS, ITEMS, seed)
    table = [[cell(letter, k, *row) for letter in letters] for k, row in enumerate(rows)]
    who, what, much = (
        next((k for k, letter in enumerate(letters) if letter in some), None)
        for some in ("uny0o", "imb", "vhfj")
    )
    expected = expected_of([[r[who], r[what], "1" if much is None else r[much]] for r in table])
    return [name.replace("_", " ") if ":" in name else name for name, _ in columns], table, expected


def expected_of_wide(items: list[str], rows: list[list[str]]) -> Expected:
    """What rows of a user and the ratings of all items say; an empty cell says nothing."""
    return {
        (user, item): float(value)
        for user, *cells in rows for item, value in zip(items, cells, strict=True) if value
    }  # fmt: skip


def wide_table(
    kind: str, items: int, names: str, seed: int
) -> tuple[list[str], list[list[str]], Expected]:
    users = {"numbers and ids": 5, "noughts before ids": 5}.get(kind, 24)
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 6, (users, items))
    gaps = rng.random((users, items)) < 0.2
    item_names = [ITEM_NAMES[names](k) for k in range(items)]
    cells = np.where(gaps, "", values.astype(str)).tolist()
    columns = [word.rpartition("=")[::2] for word in WIDE[kind].split()]
    header = [name for one in columns for name in (item_names if one[1] == "*" else [one[0]])]
    # by number, from 0 where the table's rows have numbers
    who = [str(k + (kind != "rows alone")) for k in range(users)]
    table = []
    for k, row in enumerate(np.ma.array(values, mask=gaps)):
        whole = {"*": cells[k], "+": [str(row.sum())], "~": [f"{row.mean():.3f}"]}
        parts = [whole.get(letter) or [cell(letter, k, k)] for _, letter in columns]
        table.append([one for part in parts for one in part])
        who[k] = next((cell(x, k, k) for _, x in columns if x in "uy0oq"), who[k])
    rows = [[user, *row] for user, row in zip(who, cells, strict=True)]
    return header, table, expected_of_wide(item_names, rows)


def quoted(word: str, separator: str) -> str:
    if set(word) & {separator, '"', "\n"}:
        return '"' + word.replace('"', '""') + '"'
    return word


def text(header: list[str], rows: list[list[str]], separator: str = ",", end: str = "\n") -> str:
    lines = [header, *rows] if header else rows
    return end.join(separator.join(quoted(c, separator) for c in line) for line in lines) + end


def case(
    name: str, content: str, right: Expected, file: str = "a.csv", encoding: str = "utf-8"
) -> Case:
    return Case(name, file, content.encode(encoding), right)


def of_rows(
    name: str,
    rows: list[list[str]],
    header: Sequence[str] = ("user", "item", "rating"),
    separator: str = ",",
    file: str = "a.csv",
    encoding: str = "utf-8",
) -> Case:
    """A table of rows that are a user, an item, a rating and whatever else."""
    return case(name, text([*header], rows, separator), expected_of(rows), file, encoding)


def corpus() -> Iterator[Case]:
    """Every file."""
    yield from _long_files()
    yield from _wide_files()
    yield from _odd_files()


def _long_files() -> Iterator[Case]:
    separators = (",", ";", "\t", "|", "::")
    encodings = ("utf-8", "utf-8-sig", "utf-16", "utf-8", "utf-16-le")
    for k, kind in enumerate(LONG):
        header, rows, expected = long_table(kind, k)
        separator, encoding = separators[k % 4], encodings[k // 4 % 5]
        yield case(f"{kind}, commas", text(header, rows), expected)
        other = text(header, rows, separator, ("\n", "\r\n", "\r")[k % 3])
        yield case(f"{kind}, {separator!r} {encoding}", other, expected, encoding=encoding)
    for kind in ("plain", "MovieLens", "Goodreads", "German", "decimal ratings", "tags"):
        header, rows, expected = long_table(kind, 5)
        for separator in separators:
            name = f"{kind} without header, {separator!r}"
            yield case(name, text([], rows, separator), expected, "a.dat")
    for kind in ("MovieLens", "Goodreads", "capitals"):
        header, rows, expected = long_table(kind, 6)
        for head in (header, []):
            lines = text(head, rows, " ").splitlines()
            wider = "\n".join(f" {line.replace(' ', '   ')} " for line in lines)
            yield case(f"{kind}, blanks, {bool(head)}", "\n".join(lines), expected, "a.txt")
            yield case(f"{kind}, many blanks, {bool(head)}", wider, expected, "a.txt")


def _wide_files() -> Iterator[Case]:
    for k, kind in enumerate(WIDE):
        for items in (12, 60):
            header, rows, expected = wide_table(kind, items, "letters", k)
            content = text(header, rows, ",;\t|"[(k + items) % 4])
            encoding = "utf-16" if items == 60 else "utf-8"
            yield case(f"wide {kind}, {items} items", content, expected, "w.csv", encoding)
    for kind in ("ids", "participants", "index of pandas", "plain", "rows alone"):
        for names in ITEM_NAMES:
            for items in (8, 60):
                header, rows, expected = wide_table(kind, items, names, 3)
                name = f"wide {kind} of {names}, {items} items"
                yield case(name, text(header, rows), expected, "w.csv")


def each(
    rows: list[list[str]], user: str = "{u}", item: str = "{i}", rating: str = "{v}", more: str = ""
) -> list[list[str]]:
    """The rows with other words: ``u``, ``i`` and ``v`` are those that are there, ``n`` and ``m``
    the numbers of the user and the item, ``h`` half a star less, ``k`` counts the rows.
    """
    words = [word for word in (user, item, rating, more) if word]
    return [
        [
            word.format(u=u, i=i, v=v, n=int(u[1:]), m=int(i[-1]), h=float(v) - 0.5, k=k)
            for word in words
        ]
        for k, (u, i, v) in enumerate(rows)
    ]


def _odd_files() -> Iterator[Case]:
    header, rows, expected = long_table("plain", 1)
    plain = text(header, rows)
    titles = (
        *('"Crocodile" Dundee', '"Great, the', "Good, Bad; Ugly", "a  b", "7", "é", "A\u2028B"),
        *("zero\u200bwidth", "x" * 114),
    )
    titled = [[u, titles[int(i[-1])], v] for u, i, v in rows]
    spoken = [[u, '"Great" Escape' if i == "Film 3" else i, v] for u, i, v in rows]
    for name, table in (
        ("letters that are quotes", titled),
        ("words in quotes before others", spoken),
    ):
        words = "\n".join(map("\t".join, [header, *table]))
        yield case(name, words, expected_of(table), "a.tsv")
    yield of_rows("quotes within quotes", titled)
    artists = each(rows, item="artist {i}")
    plays = "\n".join(f"{u}\tmb {i}\t{i}\t{v}" for u, i, v in artists)
    yield case("blanks between tabs", plays, expected_of(artists), "a.tsv")
    joined = each(rows, item="Film_{m}")
    aligned = "\n".join(f"{u:>8}{i:>12}{v:>8}" for u, i, v in [header, *joined])
    yield case("columns in line", aligned, expected_of(joined), "a.txt")
    cyrillic = each(rows, "Имя{u}", "Кино" * 9 + "{i}")
    head = ("пользователь", "фильм", "оценка")
    yield of_rows("UTF-16 that does not say so", cyrillic, head, encoding="utf-16-le")
    commas = each(rows, item="{i}, The (19{m}0)")
    yield of_rows("commas in titles, tabs", commas, [], "\t", "a.tsv")
    head = ("user; id", "film, with year", "rating")
    yield of_rows("separators in names of columns", commas, head, ";")
    spaced = text(header, commas).replace(",", ", ").replace(",  ", ", ")
    yield case("a blank after commas", spaced, expected_of(commas))
    every = "\n".join(",".join(f'"{c}"' for c in row) for row in [header, *rows])
    yield case("everything in quotes", every, expected)
    for mark in ("# exported 2024\n# n=48\n", "% ratings\n", "Report of ratings\n\n", "sep=,\n"):
        yield case(f"lines of comment {mark[:5]!r}", mark + plain, expected)
    names = [f'"{name}"' for name in header]
    numbered = each(rows, '"{k}"', '"{u}"', '"{i}"', "{v}")
    r_file = "\n".join(map(" ".join, [names, *numbered]))
    yield case("R's table with names of rows", r_file, expected, "a.txt")
    r_csv = "\n".join(map(",".join, [['""', *names], *numbered]))
    yield case("R's CSV with names of rows", r_csv, expected)
    halves = expected_of(each(rows, rating="{h}"))
    decimal = text(header, each(rows, rating="{h}"), ";").replace(".", ",")
    yield case("decimal commas", decimal, halves, encoding="cp1252")
    content = "\ufeffsep=;\n" + decimal + "\n \n"
    yield case("what a spreadsheet writes", content.replace("\n", "\r\n"), halves)
    latin = each(rows, "Zoë {u}")
    apart = [[u.replace("ë", "e\u0308") if k % 2 else u, i, v] for k, (u, i, v) in enumerate(latin)]
    yield case("accents composed and not", text(header, apart), expected_of(latin))
    yield of_rows("Latin letters", latin, encoding="latin-1")
    for name, often, codes in (
        ("ratings that are missing", 7, ("NA", "", "null")),
        ("a code for missing", 5, ("99",)),
    ):
        some = expected_of([row for k, row in enumerate(rows) if k % often])
        gaps = [
            [u, i, v if k % often else codes[k % len(codes)]] for k, (u, i, v) in enumerate(rows)
        ]
        yield case(name, text(header, gaps), some)
    digits = each(rows, "7656119800000{n:04}")
    content = text(header, [*digits, ["", "Film 3", "4"]])
    yield case("ids of many digits and none", content, expected_of(digits))
    for name, content in (
        ("a last line with the count", f"{plain}Total,,{len(rows)}\n"),
        ("a line of words at the end", f"{plain}42 rows\n"),
        ("blank lines", plain.replace("\n", "\n\n")),
        ("a separator after each row", plain.replace("\n", ",\n").replace(",\n", "\n", 1)),
    ):
        yield case(name, content, expected)
    shop = each(rows, "A{u}XQ", "00050{m}2046", "{v}.0", "1391040000")
    yield of_rows("shop ratings without header", shop, [])
    tabs = each(rows, "{n}", "{m}", "{v}", "88125{k:04}")
    yield of_rows("u.data", tabs, [], "\t", "u.data.txt")
    yield of_rows("one blank between", [row[:3] for row in tabs], [], " ", "filmtrust.txt")
    yield from _pivots()
    yield from _parquet()


def _pivots() -> Iterator[Case]:
    header, rows, expected = wide_table("plain", 12, "letters", 2)
    users, items = [row[0] for row in rows], header[1:]
    table = np.array([[float(c) if c else np.nan for c in row[1:]] for row in rows])
    sums, means = np.nansum(table, axis=0), np.nanmean(table, axis=0).round(2)
    for word, row in (
        *(("Total", sums), ("Summe", sums), ("Mean", means), ("Average", means)),
        *(("Grand Total", sums), ("", sums), ("Count", np.isfinite(table).sum(axis=0))),
        ("zz", sums),
    ):
        last = [word, *(f"{value:g}" for value in row)]
        yield case(f"a row called {word!r}", text(header, [*rows, last]), expected, "w.csv")
    first = ["Total", *(f"{value:g}" for value in sums)]
    yield case("a first row of sums", text(header, [first, *rows]), expected, "w.csv")
    frame = pd.DataFrame(table, users, items)
    frame["All"] = frame.sum(axis=1)
    frame.loc["All"] = frame.sum()
    frame.index.name = "user"
    yield case("a pivot with margins", frame.to_csv(), expected, "w.csv")
    two = [[*row[:3], str(sum(int(c or 0) for c in row[1:3]))] for row in rows]
    pairs = expected_of_wide(items[:2], [row[:3] for row in rows])
    yield case("sums of two", text([*header[:3], "Summe"], two), pairs, "w.csv")
    turned = pd.DataFrame(table.T, items, users)
    turned.index.name = "film"
    yield case("items by users", turned.to_csv(), expected, "w.csv")
    jokes = [[c and f"{float(c) * 2 - 7:.2f}" for c in row[1:]] for row in rows]
    counted = [[str(sum(map(bool, row))), *(c or "99" for c in row)] for row in jokes]
    columns = [f"column {i + 2}" for i in range(len(items))]
    numbered = expected_of_wide(columns, [[str(k + 1), *row] for k, row in enumerate(jokes)])
    yield case("jokes", text([], counted), numbered, "jester.csv")
    questions = ["Response ID", *["Please rate"] * 12]
    ids = [f'{{"ImportId":"{name}"}}' for name in ("_recordId", *(f"QID{k}" for k in range(12)))]
    survey = text(["ResponseId", *items], [questions, ids, *rows])
    yield case("rows of questions", survey, expected, "w.csv")
    words = [[u, *(c or "NA" for c in cells)] for u, *cells in rows]
    yield case("NA in a wide table", text(header, words), expected, "w.csv")
    commas = [[u, *(c and c + ",5" for c in cells)] for u, *cells in rows]
    half = {pair: value + 0.5 for pair, value in expected.items()}
    yield case("wide, decimal commas", text(header, commas, ";"), half, "w.csv")


def _parquet() -> Iterator[Case]:
    header, rows, expected = long_table("plain", 4)
    frame = pd.DataFrame(rows, columns=header).astype({"rating": float})
    pivot = frame.pivot(index="user", columns="item", values="rating")
    wide = pivot.reset_index(names="user")
    digits = 76561198000000000
    large = frame.assign(user=frame["user"].str[1:].astype("int64") + digits)
    large.loc[len(large)] = [digits, "one more", 3.0]
    named = {(str(digits + int(u[1:])), i): v for (u, i), v in expected.items()}
    named[str(digits), "one more"] = 3.0
    nobody = large.astype({"user": "Int64"})
    nobody.loc[3, "user"] = pd.NA
    others = {pair: v for pair, v in named.items() if pair != (*large.iloc[3, :2].map(str),)}
    odd = {"item": np.where(frame.index == 7, 1.5, frame["item"].str[5:].astype(float))}
    numbers = expected_of([[u, f"{i:g}", v] for u, i, v in frame.assign(**odd).values.tolist()])
    some = {pair: value for pair, value in expected.items() if pair[0] != "p3"}
    timed = frame.assign(when=pd.Timestamp("2024-01-01"), user_age=30)
    for name, table, right in (
        ("Parquet", frame, expected),
        ("Parquet with an index that has gaps", frame[frame["user"] != "p3"], some),
        ("Parquet of a pivot", pivot, expected),
        ("Parquet of a pivot without a name", pivot.rename_axis(None), expected),
        ("Parquet of a wide table with gaps", wide[wide["user"] != "p3"], some),
        ("Parquet with ids of 17 digits", large, named),
        ("Parquet with ids of 17 digits and none", nobody, others),
        ("Parquet with one odd number", frame.assign(**odd), numbers),
        ("Parquet with times", timed[["when", "user_age", "item", "user", "rating"]], expected),
    ):
        file = "w.parquet" if "pivot" in name or "wide" in name else "a.parquet"
        yield Case(name, file, table.to_parquet(), right)
