"""Images and documents: right, wrong, and refused."""

import pickle
from collections.abc import Sequence
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


def images(stack: object, **more: Any) -> Samples:
    return Samples.of_images(stack, name="x", **more)


def documents(texts: Sequence[str], **options: Any) -> Samples:
    return samples_of_texts(texts, name="x", **{"chosen": ALL_WORDS, **options})


def counted(counts: Any, words: tuple[str, ...] = ("a",), **options: Any) -> Samples:
    table = sparse.csc_array(counts)
    return samples_of_counts(table, words, name="x", **{"chosen": ALL_WORDS, **options})


def filtered(**options: Any) -> tuple[str, ...]:
    return documents(TEXTS, chosen=replace(ALL_WORDS, **options)).words


def test_images_become_columns_of_length_one_and_what_holds_nothing_is_left_out() -> None:
    stack = np.random.default_rng(0).random((5, 3, 4))
    stack[1] = 0
    samples = images(stack, labels=tuple("abcde"))
    filled = stack[[0, 2, 3, 4]].reshape(4, -1).T
    np.testing.assert_allclose(samples.values, filled / np.linalg.norm(filled, axis=0))
    assert (samples.shape, samples.labels) == ((3, 4), tuple("acde"))
    assert samples.notes == ("1 image is all black: left out.",)
    samples = documents((*TEXTS, "of and the", "the an"), labels=tuple("abcdef"))
    assert (samples.texts, samples.labels) == (TEXTS, tuple("abcd"))
    assert samples.values.shape == (len(samples.words), 4)
    assert "2 documents hold none of the words" in samples.notes[0]


BAD: list[tuple[Any, Any, str]] = [
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
    (contaminate, topic_documents(10, 0), "for images"),
]


@pytest.mark.parametrize(("make", "given", "message"), BAD, ids=[message for *_, message in BAD])
def test_bad_data_is_refused_in_a_sentence(make: Any, given: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        make(given)


def test_contamination_is_as_section_4_3_says() -> None:
    clean = cartoon_faces(200, 0)
    corrupted = contaminate(clean, 0.1, 0.7, seed=5)
    assert corrupted.spoiled.size == 20
    before, after = clean.values, corrupted.values
    same = np.setdiff1d(np.arange(200), corrupted.spoiled)
    np.testing.assert_array_equal(after[:, same], before[:, same])
    old, new = before[:, corrupted.spoiled], after[:, corrupted.spoiled]
    # U[−1, 1] lowers a dark pixel to where it was, 0, half of the time: between 35 % and 70 %
    # differ
    assert 0.3 < (new != old).mean() < 0.7
    moved = (new - old) / old.max(axis=0)
    assert np.abs(moved).max() <= 1 + 1e-9
    assert moved.max() > 0.98
    assert after.min() >= 0
    with pytest.raises(ParameterError, match="contaminated"):
        contaminate(clean, 1.5)


def test_cartoon_faces_are_made_of_their_parts() -> None:
    table, faces = parts(), cartoon_faces(300, 1)
    assert table.shape == (576, 20)
    np.testing.assert_allclose(np.linalg.norm(table, axis=0), 1)
    assert (table.T @ table - np.eye(20)).max() < 0.65  # glasses and eyes; others are less alike
    left = faces.values - table @ np.linalg.lstsq(table, faces.values, rcond=None)[0]
    assert np.linalg.norm(left) ** 2 / 300 < 0.05
    np.testing.assert_array_equal(faces.values, cartoon_faces(300, 1).values)
    with pytest.raises(ParameterError, match="n_samples"):
        cartoon_faces(1)


def test_topics_have_words_fixed_beforehand() -> None:
    few, many = topic_documents(5, 0), topic_documents(400, 1)
    assert few.words == many.words == vocabulary()
    assert few.public_words
    truth = true_topics()
    assert truth.shape == (len(vocabulary()), len(TOPICS))
    for k, topic in enumerate(TOPICS):
        with_it = np.array(many.labels) == topic
        rate = many.counts[truth[:, k] > 0].sum(axis=0)
        assert rate[with_it].mean() > 5 * rate[~with_it].mean()


def test_words_are_filtered_and_tf_idf_is_scikit_learns() -> None:
    samples = documents(TEXTS, chosen=replace(ALL_WORDS, stop_words=False))
    vectorizer = TfidfVectorizer(token_pattern=r"(?u)\b[^\W\d_]{3,}\b")
    expected = vectorizer.fit_transform(TEXTS).T
    assert samples.words == tuple(vectorizer.get_feature_names_out())
    np.testing.assert_allclose(samples.values.toarray(), expected.toarray())
    assert "and" in samples.words
    assert "and" not in filtered()
    assert "dreams" not in filtered(min_documents=2)
    assert "dogs" not in filtered(max_share=0.5)
    names = tuple(f"w{k}" for k in range(15))
    counts = np.arange(15.0)[:, None] + np.eye(15, 3)
    assert counted(counts, names, chosen=replace(ALL_WORDS, most_words=10)).words == names[5:]


def test_some_of_the_columns_are_those_of_the_whole() -> None:
    samples, some = topic_documents(30, 0), np.array([3, 7])
    part = subset(samples, some)
    assert part.labels == (samples.labels[3], samples.labels[7])
    np.testing.assert_array_equal(part.values.toarray(), samples.values[:, some].toarray())
    faces = contaminate(cartoon_faces(30, 0), 0.2, 0.5, 1)
    assert subset(faces, faces.spoiled[:2]).spoiled.tolist() == [0, 1]


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


def test_matlab_files_without_the_variables_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.mat"
    savemat(path, {"other": np.eye(2)})
    unread = "cannot be read as a MATLAB file"
    for body, message in (
        (
            path.read_bytes(),
            "no variable 'fea'; it must hold fea, gnd, and its variables are: other",
        ),
        (b"not a matlab file at all", unread),
        (b"", unread),
    ):
        path.write_bytes(body)
        with pytest.raises(DataError, match=message):
            read_variables(path, ("fea", "gnd"))


def place(name: str, **variables: object) -> None:
    """Put a file with these variables where that of a published set belongs."""
    target = entry(name).file
    target.parent.mkdir(exist_ok=True)
    savemat(target, variables)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["tdt2", "rcv1"])
def test_counts_without_words_in_their_own_format(name: str) -> None:
    rng = np.random.default_rng(0)
    counts, classes = rng.poisson(0.5, (40, 30)).astype(float), rng.integers(1, 4, (40, 1))
    place(name, fea=sparse.csc_matrix(counts), gnd=classes)
    samples = load_samples(name, chosen=ALL_WORDS)
    np.testing.assert_array_equal(samples.counts.toarray(), counts.T[:, counts.sum(1) > 0])
    assert samples.words[3] == "term 4"
    assert load_samples(name, chosen=ALL_WORDS, term_share=0.2).dimension == 6
    place(name, fea=counts, gnd=classes)
    with pytest.raises(DataError, match="must be a sparse matrix"):
        load_samples(name)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("name", "side", "key", "file"),
    [
        ("olivetti", 64, "faces", lambda rows: rows.T),
        ("cbcl", 19, "M", lambda rows: 1 - rows.T),
        ("yaleb", 32, "fea", lambda rows: rows),
    ],
)
def test_faces_in_their_own_formats(name: str, side: int, key: str, file: Any) -> None:
    n = entry(name).samples
    pixels = np.random.default_rng(0).random((n, side, side))
    rows, flat = (stack.reshape(n, -1) for stack in (pixels.transpose(0, 2, 1), pixels))
    place(name, gnd=np.ones((n, 1)), **{key: file(rows)})
    unit = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    np.testing.assert_allclose(load_samples(name).values, unit.T, atol=1e-12)
    place(name, gnd=np.ones((5, 1)), **{key: rows[:5, :5]})
    with pytest.raises(DataError, match="must hold one image"):
        load_samples(name)


@pytest.mark.usefixtures("folder")
def test_texts_in_their_own_formats() -> None:
    for name in ("bbc", "guardian"):
        with pytest.raises(DatasetMissingError, match=entry(name).title.split()[0]):
            load_samples(name)
    guardian, groups = entry("guardian").file, entry("20newsgroups").path() / "20news-bydate-train"
    guardian.parent.mkdir()
    guardian.write_text("\n".join(TEXTS))
    assert len(load_samples("guardian", chosen=ALL_WORDS)) == 4
    for group in ("alt.one", "rec.two"):
        (groups / group).mkdir(parents=True)
        for k, text in enumerate(TEXTS):
            body = f"From: nobody\nSubject: secret\n\n{text} été".encode("latin-1")
            (groups / group / str(k)).write_bytes(body)
    samples = load_samples("20newsgroups", chosen=ALL_WORDS)
    assert samples.labels == ("alt.one",) * 4 + ("rec.two",) * 4
    assert "secret" not in samples.words
    assert "été" in samples.words


def test_what_ships_with_packages_is_there() -> None:
    faces, articles = load_samples("lfw"), load_samples("lee")
    assert (len(faces), faces.shape) == (100, (25, 25))
    assert len(articles) == 300
    assert {"palestinian", "afghanistan"} <= {*articles.words}


@pytest.mark.data
def test_published_images_and_texts_are_read_whole(samples_dir: Path) -> None:
    for name, *size in (("yaleb", 2414, 1024), ("bbc", 2225, 5000), ("cbcl", 2429, 361)):
        samples = load_samples(name)
        assert [len(samples), samples.dimension] == size
    # faces look at us: brighter in the middle than at the lower corners (the file is a negative)
    mean = samples.values.mean(axis=1).reshape(19, 19)
    assert mean[6:12, 6:13].mean() > 1.2 * mean[16:, :3].mean()
    whole, tenth = (load_samples("tdt2", chosen=ALL_WORDS, term_share=s) for s in (1.0, 0.1))
    # the paper's tenth of TDT2's terms leaves documents without any word
    assert len(whole) == 9394 > len(tenth)
    assert "hold none of the words" in tenth.notes[-1]
