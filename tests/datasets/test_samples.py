"""Images and documents: right, wrong, and refused."""

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat
from sklearn.feature_extraction.text import TfidfVectorizer

from dpmc_core.datasets import entry
from dpmc_core.datasets.loaders import load_samples, read_variables
from dpmc_core.datasets.samples import Samples, contaminate, subset
from dpmc_core.datasets.synthetic.samples import (
    _PARTS,
    TOPICS,
    cartoon_faces,
    parts,
    topic_documents,
    true_topics,
    vocabulary,
)
from dpmc_core.datasets.text import TextFilter, samples_of_counts, samples_of_texts
from dpmc_core.errors import DataError, DatasetMissingError, ParameterError

TEXTS = (
    "Cats chase mice and cats sleep",
    "Dogs chase cats",
    "mice sleep while dogs dream",
    "dogs dream dreams",
)
ALL_WORDS = TextFilter(min_documents=1, max_share=1.0)


def test_images_become_columns_of_length_one() -> None:
    stack = np.random.default_rng(0).random((5, 3, 4))
    samples = images(stack, labels=tuple("abcde"))
    assert samples.values.shape == (12, 5)
    assert samples.shape == (3, 4)
    np.testing.assert_allclose(np.linalg.norm(samples.values, axis=0), 1)
    np.testing.assert_allclose(samples.values[:, 2] * np.linalg.norm(stack[2]), stack[2].ravel())


def images(stack: object, **more: Any) -> Samples:
    return Samples.of_images(stack, name="x", **more)


def documents(texts: Sequence[str], **options: Any) -> Samples:
    return samples_of_texts(texts, name="x", **{"chosen": ALL_WORDS, **options})


def counted(counts: Any, words: tuple[str, ...] = ("a",), **options: Any) -> Samples:
    table = sparse.csc_array(counts)
    return samples_of_counts(table, words, name="x", **{"chosen": ALL_WORDS, **options})


@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (images, np.full((2, 3, 3), np.nan), "18 of the pixels are NaN or infinite"),
        (images, -np.ones((2, 3, 3)), "the lowest pixel is -1"),
        (images, np.ones((2, 9)), "N × height × width"),
        (images, np.zeros((2, 3, 3)), "every image is black"),
        (images, np.ones((0, 3, 3)), "N × height × width"),
        (images, [np.ones((2, 2)), np.ones((3, 3))], "one size"),
        (images, [["a"]], "one size"),
        (documents, (), "there is no document"),
        (documents, ("a an of", "12 34"), "no document holds a word"),
        (
            partial(documents, chosen=TextFilter(min_documents=900)),
            TEXTS,
            r"the filter leaves no word .*Lower the least number",
        ),
        (counted, [[1.0, -1.0]], "lowest count is -1"),
        (counted, [[1.0, np.nan]], "NaN"),
        # of private words the filter leaves none
        (partial(counted, public_words=True), [[0.0, 0.0, 0.0]], "no document holds any word"),
    ],
)
def test_bad_data_is_refused_in_a_sentence(
    make: Callable[[Any], Samples], given: object, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        make(given)


def test_samples_that_hold_nothing_are_left_out_and_said() -> None:
    stack = np.ones((3, 2, 2))
    stack[1] = 0
    samples = images(stack, labels=("a", "b", "c"))
    assert samples.labels == ("a", "c")
    assert len(samples) == 2
    assert "1 image is all black: left out." in samples.notes[0]
    texts = (*TEXTS, "of and the", "the an")
    samples = documents(texts, labels=tuple("abcdef"))
    assert len(samples) == 4
    assert samples.labels == tuple("abcd")
    assert samples.texts == TEXTS
    assert "2 documents hold none of the words" in samples.notes[0]


def test_contamination_is_as_section_4_3_says() -> None:
    clean = cartoon_faces(200, 0)
    spoiled = contaminate(clean, 0.1, 0.7, seed=5)
    assert spoiled.spoiled.size == 20
    before, after = np.asarray(clean.values), np.asarray(spoiled.values)
    same = np.setdiff1d(np.arange(200), spoiled.spoiled)
    np.testing.assert_array_equal(after[:, same], before[:, same])
    old, new = before[:, spoiled.spoiled], after[:, spoiled.spoiled]
    # U[−1, 1] lowers a dark pixel to where it was, 0, half of the time: between 35 % and 70 %
    # differ
    assert 0.3 < (new != old).mean() < 0.7
    moved = (new - old) / old.max(axis=0)
    assert np.abs(moved).max() <= 1 + 1e-9
    assert moved.max() > 0.98
    assert after.min() >= 0
    with pytest.raises(DataError, match="for images"):
        contaminate(topic_documents(10, 0))
    with pytest.raises(ParameterError, match="contaminated"):
        contaminate(clean, 1.5)


def test_cartoon_faces_are_made_of_their_parts() -> None:
    table = parts()
    assert table.shape == (576, len(_PARTS))
    np.testing.assert_allclose(np.linalg.norm(table, axis=0), 1)
    overlap = table.T @ table - np.eye(len(_PARTS))
    assert overlap.max() < 0.65  # glasses and eyes; all others are far less alike
    faces = cartoon_faces(300, 1)
    values = np.asarray(faces.values)
    left = values - table @ np.linalg.lstsq(table, values, rcond=None)[0]
    assert np.linalg.norm(left) ** 2 / 300 < 0.05
    np.testing.assert_array_equal(faces.values, cartoon_faces(300, 1).values)
    with pytest.raises(ParameterError, match="n_samples"):
        cartoon_faces(1)


def words_of(**options: Any) -> tuple[str, ...]:
    return documents(TEXTS, chosen=replace(ALL_WORDS, **options)).words


def test_tf_idf_is_scikit_learns() -> None:
    samples = documents(TEXTS, chosen=replace(ALL_WORDS, stop_words=False))
    vectorizer = TfidfVectorizer(token_pattern=r"(?u)\b[^\W\d_]{3,}\b")
    expected = vectorizer.fit_transform(TEXTS).T
    assert samples.words == tuple(vectorizer.get_feature_names_out())
    np.testing.assert_allclose(samples.values.toarray(), expected.toarray())


def test_the_filters_of_words() -> None:
    assert "and" not in words_of()
    assert "and" in words_of(stop_words=False)
    assert "dreams" not in words_of(min_documents=2)
    assert "dogs" not in words_of(max_share=0.5)
    assert {*words_of(most_words=10)} <= {*words_of()}
    names = tuple(f"w{k}" for k in range(15))
    counts = np.arange(15.0)[:, None] + np.eye(15, 3)
    assert counted(counts, names, chosen=replace(ALL_WORDS, most_words=10)).words == names[5:]


def test_some_of_the_columns() -> None:
    samples, some = topic_documents(30, 0), np.array([3, 7])
    part = subset(samples, some)
    assert part.labels == tuple(samples.labels[k] for k in some)
    np.testing.assert_array_equal(part.values.toarray(), samples.values[:, some].toarray())
    faces = contaminate(cartoon_faces(30, 0), 0.2, 0.5, 1)
    assert subset(faces, faces.spoiled[:2]).spoiled.tolist() == [0, 1]


def test_topics_have_words_fixed_beforehand() -> None:
    few, many = topic_documents(5, 0), topic_documents(400, 1)
    assert few.words == many.words == vocabulary()
    assert few.public_words
    truth = true_topics()
    assert truth.shape == (len(vocabulary()), len(TOPICS))
    for k, topic in enumerate(TOPICS):
        with_it = np.array([label == topic for label in many.labels])
        own = truth[:, k] > 0
        rate = np.asarray(many.counts[own].sum(axis=0)).ravel()
        assert rate[with_it].mean() > 5 * rate[~with_it].mean()


def test_pickles_are_never_read(tmp_path: Path) -> None:
    class Harmful:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (tmp_path / "ran",))

    for name in ("faces.mat", "faces.pkl"):
        path = tmp_path / name
        path.write_bytes(pickle.dumps(Harmful()))
        with pytest.raises(DataError, match=r"is a Python pickle.*it was not read"):
            read_variables(path, ("fea",))
    assert not (tmp_path / "ran").exists()


def test_matlab_files_without_the_variables(tmp_path: Path) -> None:
    savemat(tmp_path / "x.mat", {"other": np.eye(2)})
    (tmp_path / "y.mat").write_bytes(b"not a matlab file at all")
    (tmp_path / "z.mat").write_bytes(b"")
    unread = "cannot be read as a MATLAB file"
    for name, message in (
        ("x", "no variable 'fea'; it must hold fea, gnd, and its variables are: other"),
        ("y", unread),
        ("z", unread),
    ):
        with pytest.raises(DataError, match=message):
            read_variables(tmp_path / f"{name}.mat", ("fea", "gnd"))


def test_sets_in_their_own_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files in the format of each published set."""
    monkeypatch.setenv("DPMC_DATA_DIR", str(tmp_path))
    rng = np.random.default_rng(0)

    def place(name: str, body: bytes | dict[str, object]) -> None:
        target = entry(name).path() / entry(name).files[0]
        target.parent.mkdir(parents=True, exist_ok=True)
        savemat(target, body) if isinstance(body, dict) else target.write_bytes(body)

    for name in ("cbcl", "bbc", "tdt2", "rcv1", "guardian", "olivetti"):
        with pytest.raises(DatasetMissingError, match=entry(name).title.split()[0]):
            load_samples(name)
    for name in ("tdt2", "rcv1"):
        counts = rng.poisson(0.5, (40, 30)).astype(float)
        place(name, {"fea": sparse.csc_matrix(counts), "gnd": rng.integers(1, 4, (40, 1))})
        samples = load_samples(name, chosen=ALL_WORDS)
        np.testing.assert_array_equal(samples.counts.toarray(), counts.T[:, counts.sum(1) > 0])
        assert samples.words[3] == "term 4"
        assert load_samples(name, chosen=ALL_WORDS, term_share=0.2).dimension == 6
        place(name, {"fea": np.ones((4, 3)), "gnd": np.ones((4, 1))})
        with pytest.raises(DataError, match="must be a sparse matrix"):
            load_samples(name)
    place("guardian", "\n".join(TEXTS).encode())
    assert len(load_samples("guardian", chosen=ALL_WORDS)) == 4
    for name, side, key in (("olivetti", 64, "faces"), ("cbcl", 19, "M"), ("yaleb", 32, "fea")):
        n = entry(name).samples
        pixels = rng.random((n, side, side))
        rows = pixels.transpose(0, 2, 1).reshape(n, -1)  # column order
        table = {"olivetti": rows.T, "cbcl": 1 - rows.T, "yaleb": rows}[name]
        classes = {"gnd": np.ones((n, 1))} if name == "yaleb" else {}
        place(name, {key: table, **classes})
        flat = pixels.reshape(n, -1)
        unit = flat / np.linalg.norm(flat, axis=1, keepdims=True)
        np.testing.assert_allclose(load_samples(name).values, unit.T, atol=1e-12)
        place(name, {key: table[:5, :5], **{name: c[:5] for name, c in classes.items()}})
        with pytest.raises(DataError, match="must hold one image"):
            load_samples(name)
    folder = entry("20newsgroups").path() / "20news-bydate-train"
    for group in ("alt.one", "rec.two"):
        (folder / group).mkdir(parents=True)
        for k, text in enumerate(TEXTS):
            (folder / group / str(k)).write_bytes(
                b"From: nobody\nSubject: secret\n\n" + text.encode() + b" \xe9t\xe9"
            )
    samples = load_samples("20newsgroups", chosen=ALL_WORDS)
    assert len(samples) == 8
    assert set(samples.labels) == {"alt.one", "rec.two"}
    assert "secret" not in samples.words


def test_what_ships_with_packages_is_there() -> None:
    faces = load_samples("lfw")
    assert (len(faces), faces.shape) == (100, (25, 25))
    articles = load_samples("lee")
    assert len(articles) == 300
    assert {"palestinian", "afghanistan"} <= set(articles.words)


@pytest.mark.data
def test_real_files(samples_dir: Path) -> None:
    for name, n, d in (
        ("cbcl", 2429, 361),
        ("yaleb", 2414, 1024),
        ("tdt2", 9394, 5000),
        ("bbc", 2225, 5000),
    ):
        samples = load_samples(name)
        assert (len(samples), samples.dimension) == (n, d)
    # the paper's tenth of TDT2's terms leaves documents without any word
    tenth = load_samples("tdt2", chosen=ALL_WORDS, term_share=0.1)
    assert len(tenth) < 9394
    assert "hold none of the words" in tenth.notes[-1]
    # faces look at us: brighter in the middle than at the lower corners (the file is a negative)
    mean = np.asarray(load_samples("cbcl").values).mean(axis=1).reshape(19, 19)
    assert mean[6:12, 6:13].mean() > 1.2 * mean[16:, :3].mean()
