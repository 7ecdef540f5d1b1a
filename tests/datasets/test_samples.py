"""Images and documents: right, wrong, and refused."""

import io
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat
from sklearn.feature_extraction.text import TfidfVectorizer

from dpmc_core.datasets import download, entry
from dpmc_core.datasets.factor_sets import load_samples
from dpmc_core.datasets.loaders import read_variables
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
from dpmc_core.errors import DataError, DatasetMissingError, DownloadError, ParameterError

TEXTS = (
    "Cats chase mice and cats sleep",
    "Dogs chase cats",
    "mice sleep while dogs dream",
    "dogs dream dreams",
)
ALL_WORDS = TextFilter(min_documents=1, max_share=1.0)


def test_images_become_columns_of_length_one() -> None:
    stack = np.random.default_rng(0).random((5, 3, 4))
    samples = Samples.of_images(stack, name="x", labels=tuple("abcde"))
    assert samples.values.shape == (12, 5)
    assert samples.shape == (3, 4)
    np.testing.assert_allclose(np.linalg.norm(samples.values, axis=0), 1)
    np.testing.assert_allclose(samples.values[:, 2] * np.linalg.norm(stack[2]), stack[2].ravel())


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (np.full((2, 3, 3), np.nan), "18 of the pixels are NaN or infinite"),
        (-np.ones((2, 3, 3)), "the lowest pixel is -1"),
        (np.ones((2, 9)), "N × height × width"),
        (np.zeros((2, 3, 3)), "every image is black"),
        (np.ones((0, 3, 3)), "N × height × width"),
        ([np.ones((2, 2)), np.ones((3, 3))], "one size"),
        ([["a"]], "one size"),
    ],
)
def test_bad_images_are_refused_in_a_sentence(images: object, words: str) -> None:
    with pytest.raises(DataError, match=words):
        Samples.of_images(images, name="mine")


def test_black_images_are_left_out_and_said() -> None:
    stack = np.ones((3, 2, 2))
    stack[1] = 0
    samples = Samples.of_images(stack, name="x", labels=("a", "b", "c"))
    assert len(samples) == 2
    assert samples.labels == ("a", "c")
    assert "1 image is all black: left out." in samples.notes[0]


def test_contamination_is_as_section_4_3_says() -> None:
    clean = cartoon_faces(200, 0)
    spoiled = contaminate(clean, 0.1, 0.7, seed=5)
    assert spoiled.spoiled.size == 20
    same = np.setdiff1d(np.arange(200), spoiled.spoiled)
    np.testing.assert_array_equal(spoiled.values[:, same], clean.values[:, same])
    changed = np.asarray(spoiled.values[:, spoiled.spoiled]) != np.asarray(
        clean.values[:, spoiled.spoiled]
    )
    # U[−1, 1] lowers a dark pixel to where it was, 0, half of the time: between 35 % and 70 %
    # differ
    assert 0.3 < changed.mean() < 0.7
    moved = np.asarray(spoiled.values - clean.values)[:, spoiled.spoiled] / np.asarray(
        clean.values
    )[:, spoiled.spoiled].max(axis=0)
    assert np.abs(moved).max() <= 1 + 1e-9
    assert moved.max() > 0.98
    assert np.asarray(spoiled.values).min() >= 0
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
    left = (
        np.asarray(faces.values)
        - table @ np.linalg.lstsq(table, np.asarray(faces.values), rcond=None)[0]
    )
    assert np.linalg.norm(left) ** 2 / 300 < 0.05
    np.testing.assert_array_equal(faces.values, cartoon_faces(300, 1).values)
    with pytest.raises(ParameterError, match="n_samples"):
        cartoon_faces(1)


def test_tf_idf_is_scikit_learns() -> None:
    samples = samples_of_texts(
        TEXTS, name="x", chosen=TextFilter(min_documents=1, max_share=1.0, stop_words=False)
    )
    maker = TfidfVectorizer(token_pattern=r"(?u)\b[^\W\d_]{3,}\b")
    expected = maker.fit_transform(TEXTS).T
    assert samples.words == tuple(maker.get_feature_names_out())
    np.testing.assert_allclose(samples.values.toarray(), expected.toarray())


def test_the_filters_of_words() -> None:
    def words(**options: object) -> set[str]:
        return set(
            samples_of_texts(
                TEXTS,
                name="x",
                chosen=TextFilter(**{"min_documents": 1, "max_share": 1.0, **options}),
            ).words
        )

    assert "and" not in words()
    assert "and" in words(stop_words=False)
    assert "dreams" not in words(min_documents=2)
    assert "dogs" not in words(max_share=0.5)
    assert words(most_words=10) <= words()
    counts = sparse.csc_array(np.arange(15.0)[:, None] + np.eye(15, 3))
    kept = samples_of_counts(
        counts,
        tuple(f"w{k}" for k in range(15)),
        name="x",
        chosen=TextFilter(min_documents=1, max_share=1.0, most_words=10),
    )
    assert kept.words == tuple(f"w{k}" for k in range(5, 15))


def test_bad_text_is_refused_in_a_sentence() -> None:
    with pytest.raises(DataError, match="there is no document"):
        samples_of_texts((), name="x", chosen=ALL_WORDS)
    with pytest.raises(DataError, match="no document holds a word"):
        samples_of_texts(("a an of", "12 34"), name="x", chosen=ALL_WORDS)
    with pytest.raises(DataError, match=r"the filter leaves no word .*Lower the least number"):
        samples_of_texts(TEXTS, name="x", chosen=TextFilter(min_documents=900))
    with pytest.raises(DataError, match="lowest count is -1"):
        samples_of_counts(sparse.csc_array([[1.0, -1.0]]), ("a",), name="x", chosen=ALL_WORDS)
    with pytest.raises(DataError, match="NaN"):
        samples_of_counts(sparse.csc_array([[1.0, np.nan]]), ("a",), name="x", chosen=ALL_WORDS)
    with pytest.raises(DataError, match="no document holds any word"):
        samples_of_counts(
            sparse.csc_array((1, 3)), ("a",), name="x", chosen=TextFilter(), public_words=True
        )


def test_empty_documents_are_left_out_and_said() -> None:
    samples = samples_of_texts(
        (*TEXTS, "of and the", "the an"), name="x", chosen=ALL_WORDS, labels=tuple("abcdef")
    )
    assert len(samples) == 4
    assert samples.labels == tuple("abcd")
    assert samples.texts == TEXTS
    assert "2 documents hold none of the words" in samples.notes[0]


def test_some_of_the_columns() -> None:
    samples = topic_documents(30, 0)
    part = subset(samples, np.array([3, 7]))
    assert len(part) == 2
    assert part.labels == (samples.labels[3], samples.labels[7])
    np.testing.assert_array_equal(part.values.toarray(), samples.values[:, [3, 7]].toarray())
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
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle"):
        np.load(tmp_path / "objects.npy", allow_pickle=False)


def test_matlab_files_without_the_variables(tmp_path: Path) -> None:
    savemat(tmp_path / "x.mat", {"other": np.eye(2)})
    with pytest.raises(
        DataError,
        match="holds no variable 'fea'; it must hold fea, gnd, and its variables are: other",
    ):
        read_variables(tmp_path / "x.mat", ("fea", "gnd"))
    (tmp_path / "y.mat").write_bytes(b"not a matlab file at all")
    with pytest.raises(DataError, match="cannot be read as a MATLAB file"):
        read_variables(tmp_path / "y.mat", ("fea",))
    (tmp_path / "z.mat").write_bytes(b"")
    with pytest.raises(DataError, match="cannot be read as a MATLAB file"):
        read_variables(tmp_path / "z.mat", ("fea",))


def test_sets_in_their_own_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files in the format of each published set."""
    monkeypatch.setenv("DPMC_DATA_DIR", str(tmp_path))
    rng = np.random.default_rng(0)

    def place(name: str, body: bytes | dict[str, object]) -> None:
        target = entry(name).path() / entry(name).files[0]
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(body, dict):
            savemat(target, body)
        else:
            target.write_bytes(body)

    for name in ("cbcl", "bbc", "tdt2", "rcv1", "guardian", "olivetti"):
        with pytest.raises(DatasetMissingError, match=entry(name).title.split()[0]):
            load_samples(name)
    for name in ("tdt2", "rcv1"):
        counts = sparse.csc_matrix(rng.poisson(0.5, (40, 30)).astype(float))
        place(name, {"fea": counts, "gnd": rng.integers(1, 4, (40, 1))})
        samples = load_samples(name, chosen=ALL_WORDS)
        np.testing.assert_array_equal(
            samples.counts.toarray(), counts.toarray().T[:, counts.toarray().sum(1) > 0]
        )
        assert samples.words[3] == "term 4"
        fewer = load_samples(name, chosen=ALL_WORDS, term_share=0.2)
        assert fewer.dimension == 6
        place(name, {"fea": np.ones((4, 3)), "gnd": np.ones((4, 1))})
        with pytest.raises(DataError, match="must be a sparse matrix"):
            load_samples(name)
    place("guardian", "\n".join(TEXTS).encode())
    assert len(load_samples("guardian", chosen=ALL_WORDS)) == 4
    for name, side, key in (("olivetti", 64, "faces"), ("cbcl", 19, "M"), ("yaleb", 32, "fea")):
        known = entry(name)
        pixels = rng.random((known.samples, side, side))
        rows = pixels.transpose(0, 2, 1).reshape(known.samples, -1)  # column order
        table = {"olivetti": rows.T, "cbcl": 1 - rows.T, "yaleb": rows}[name]
        place(
            name, {key: table, **({"gnd": np.ones((known.samples, 1))} if name == "yaleb" else {})}
        )
        samples = load_samples(name)
        flat = pixels.reshape(known.samples, -1)
        np.testing.assert_allclose(
            samples.values, (flat / np.linalg.norm(flat, axis=1, keepdims=True)).T, atol=1e-12
        )
        place(name, {key: table[:5, :5], **({"gnd": np.ones((5, 1))} if name == "yaleb" else {})})
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


def test_sets_without_a_known_checksum_say_where_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPMC_DATA_DIR", str(tmp_path))
    with pytest.raises(DownloadError, match=r"Get it from http://cbcl.*CBCL_Face.mat"):
        download.fetch("cbcl")
    with pytest.raises(ParameterError, match="bundled"):
        download.fetch("lee")


def test_a_git_blob_id_is_gits(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"hello\n")
    assert download.git_blob(tmp_path / "x") == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_tar_archives_cannot_leave_their_folder(tmp_path: Path) -> None:
    def archive(name: str, *, link: str = "") -> Path:
        path = tmp_path / "a.tar.gz"
        with tarfile.open(path, "w:gz") as packed:
            info = tarfile.TarInfo(name)
            if link:
                info.type, info.linkname = tarfile.SYMTYPE, link
                packed.addfile(info)
            else:
                info.size = 5
                packed.addfile(info, io.BytesIO(b"hello"))
        return path

    download.unpack_tar(archive("top/x.txt"), tmp_path / "good")
    assert (tmp_path / "good" / "top" / "x.txt").read_bytes() == b"hello"
    for k, bad in enumerate((archive("../x"), archive("top/y", link="/etc/passwd"))):
        with pytest.raises(DownloadError, match="unsafe member"):
            download.unpack_tar(bad if k else archive("../x"), tmp_path / f"bad{k}")
    (tmp_path / "cut.tar.gz").write_bytes(archive("top/x.txt").read_bytes()[:40])
    with pytest.raises(DownloadError, match="not a complete archive"):
        download.unpack_tar(tmp_path / "cut.tar.gz", tmp_path / "cut")


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
    tenth = load_samples("tdt2", chosen=TextFilter(min_documents=1, max_share=1.0), term_share=0.1)
    assert len(tenth) < 9394
    assert "hold none of the words" in tenth.notes[-1]
    # faces look at us: brighter in the middle than at the lower corners (the file is a negative)
    mean = np.asarray(load_samples("cbcl").values).mean(axis=1).reshape(19, 19)
    assert mean[6:12, 6:13].mean() > 1.2 * mean[16:, :3].mean()
