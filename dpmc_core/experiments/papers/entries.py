"""Every table and figure of the four papers, and what stands for it here.

Lives here: their names, what they are about, whether rows are computed or a page draws them or why neither is possible, and what we found. Does not live here: rows, numbers
or verdicts on single rows.
"""

from dataclasses import dataclass

from dpmc_core.experiments.papers.rows import rows_of

__all__ = ["ENTRIES", "PAPERS", "Entry"]

PAPERS: dict[str, str] = {
    "huber": "The Huber mechanism for low-rank matrix completion (paper)",
    "thesis": "The Huber mechanism for low-rank matrix completion (thesis)",
    "dpals": "Private alternating least squares (Chien et al. 2021)",
    "nmf": "Privacy-preserving non-negative matrix factorisation",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One table or figure. ``finding`` says what we found, "" where nothing is to be said; ``made`` how ours is made, with what the paper leaves open; ``page`` names the page that draws it live; ``missing`` says why it
    cannot be computed here and how it could. A schematic drawing has none of them."""

    id: str
    paper: str
    place: str
    title: str
    made: str = ""
    finding: str = ""
    page: str = ""
    missing: str = ""

    @property
    def computed(self) -> bool:
        """Whether it has rows."""
        return bool(rows_of(self.id))


def _synthetic(size: int) -> str:
    return (
        f"Our matrices are {size} × {size}, U and V uniform on [0, 1], c = 1, T = 50, K = 20, λ = 0.5, ten trials with new data each. The paper prints neither sizes nor c: squares of 200, 300 and 400 for ranks 5, 10 and 20 "
        "are what comes nearest to its rows with noise at 10 and 15 % observed, so that this nearness is chosen, not found; such rows say so. The stated ε is nominal with Δ = 5, as in the paper. The error is of all entries of the noiseless matrix, not clipped; the trivial predictor's is held-out, clipped."
    )


_SYNTHETIC_FOUND = "The paper concludes that Huber noise gives lower errors at equal variance. The sentences below judge that by paired trials. The paper's own rows without noise differ by up to a fifth between its two variance blocks (Table 3), in which nothing but the drawn matrices can differ."

ENTRIES: tuple[Entry, ...] = (
    Entry(
        id="huber-table-1",
        paper="huber",
        place="Table 1",
        title="ε of one draw at equal variance, sensitivity 5",
        made="Exact: Gaussian by the analytic bound (Balle & Wang 2018), Laplace and Huber by their pure ε.",
        finding="The Gaussian column is 5·√(2·log10(1.25/δ))/σ: a logarithm to base 10 where the formula, which holds only for ε < 1, has the natural one. The exact values are 1.7 to 2.1 times as large. The "
        "Huber column is right for variances 1 and 2 and 4 up to rounding (the 4.235 of variance 3 belongs to α = 0.847, whose variance is 2.98); 'variance 1' has variance 1.0036: unit-scale Huber noise never has variance 1.",
    ),
    Entry(
        id="huber-table-2",
        paper="huber",
        place="Table 2",
        title="Simulation parameters",
        made="Used in tables 3, 6 and 7: T = 50, K = 20, λ = 0.5, ten trials. The ratings range of 1 to 5 is printed too; with c = 1 entries run from 0 to about 3, 5 and 10 for ranks 5, 10 and 20.",
    ),
    Entry(
        id="huber-table-3",
        paper="huber",
        place="Table 3",
        title="RMSE on synthetic data of rank 5",
        made=_synthetic(200),
        finding=_SYNTHETIC_FOUND,
    ),
    Entry(
        id="huber-table-4",
        paper="huber",
        place="Table 4",
        title="RMSE on MovieLens 100K",
        made="80 % of the ratings train (5 % of the matrix), noise of variance 2 (not printed for this table), rank 32, λ = 0.5, T = 20, K = 10 (the thesis prints it for the real sets), five splits; held-out error clipped to 1–5, which the paper does not mention.",
        finding="Every printed row is worse than predicting a constant: the global mean has RMSE 1.13, user + item means 0.96. λ = 10 instead of 0.5 gives 0.98. At λ = 0.5 noise even helps, clipped or not: it regularises.",
    ),
    Entry(
        id="huber-table-5",
        paper="huber",
        place="Table 5",
        title="RMSE on SweetRS",
        made="Zeros count as ratings (39.15 % of 1,476 × 77 observed, as the thesis says), sub-sampled to the visible share; rank 32, λ = 0.5, T = 100, K = 10 (the thesis prints it), variance 2 (not printed), five splits, clipped to 0–5.",
        finding="The constant predictor has RMSE 1.71, user + item means 1.45 to 1.55: every printed row, private or not, is worse than those means. The data's authors treat 0 as missing.",
    ),
    Entry(
        id="huber-table-6",
        paper="huber",
        place="Table 6",
        title="RMSE on synthetic data of rank 10",
        made=_synthetic(300),
        finding=_SYNTHETIC_FOUND,
    ),
    Entry(
        id="huber-table-7",
        paper="huber",
        place="Table 7",
        title="RMSE on synthetic data of rank 20",
        made=_synthetic(400),
        finding=_SYNTHETIC_FOUND,
    ),
    *(
        Entry(
            id=f"thesis-table-{number}",
            paper="thesis",
            place=f"Table {number}",
            title=title,
            made=f"The same numbers as {same} of the paper{rest}; computed there.",
        )
        for number, title, same, rest in (
            ("5.1", "ε of one draw at equal variance", "Table 1", ", rounded to two digits"),
            ("5.2", "Simulation parameters", "Table 2", ""),
            ("5.3", "RMSE on synthetic data of rank 5", "Table 3", ""),
            ("5.4", "RMSE on synthetic data of rank 10", "Table 6", ""),
            ("5.5", "RMSE on synthetic data of rank 20", "Table 7", ""),
            ("5.6", "RMSE on MovieLens 100K", "Table 4", " without IRLS-2"),
            ("5.7", "RMSE on SweetRS", "Table 5", " without IRLS-2"),
        )
    ),
    *(
        Entry(id=f"thesis-figure-{number}", paper="thesis", place=f"Figure {number}", title=title)
        for number, title in (
            ("1.1", "Three issues with private data, and what differential privacy solves"),
            ("2.1", "An adversary's queries"),
            ("2.2", "Types of information in data"),
            ("2.3", "Deterministic and randomised algorithms"),
            ("2.4", "The definition of differential privacy"),
            ("3.1", "Recommendation engines"),
            ("3.2", "A completed 5 × 5 matrix"),
            ("3.3", "Collaborative filtering"),
            ("3.4", "Low-rank approximation by SVD"),
            ("3.5", "A rating matrix as a product of factors"),
        )
    ),
    *(
        Entry(
            id=f"thesis-figure-{number}",
            paper="thesis",
            place=f"Figure {number}",
            title=title,
            page="mechanisms",
            made="Drawn live on the Mechanisms page, exactly.",
        )
        for number, title in (
            ("2.5", "Laplace densities of several scales"),
            ("2.6", "Gaussian densities of several scales"),
            ("4.1", "Three densities of variance 2"),
            ("4.2", "The Huber density as α changes"),
            ("4.3", "A histogram of samples"),
            ("4.4", "Variance against α"),
        )
    ),
    Entry(
        id="dpals-table-1",
        paper="dpals",
        place="Table 1",
        title="Sample complexity bounds",
        missing="Bounds, not measurements: nothing to run.",
    ),
    Entry(
        id="dpals-table-2",
        paper="dpals",
        place="Table 2",
        title="Sizes of the MovieLens sets",
        missing="MovieLens 10M and 20M are not at hand. 'python -m dpmc_core datasets fetch ml-10m' gets the first where there is a network.",
        finding="For 20M the table prints 9.99 million observations: those of four stars and more.",
    ),
    Entry(
        id="dpals-table-3",
        paper="dpals",
        place="Table 3",
        title="Ranges of hyper-parameters",
        made="A list of what was tried; each is a control on the Completion page.",
        page="completion",
    ),
    Entry(
        id="dpals-table-4",
        paper="dpals",
        place="Table 4",
        title="What the tuned noise of figure 3 spends",
        made="From the printed σ and k, exactly, in three ways of counting.",
        finding="Theorem 1 counts one of the two vectors that each step releases. Counting both, as the authors' code does, gives the printed ε within a percent, except 8 and 16. The private mean is one number that a user moves by k·Γ_M, not √k·Γ_M: counted so, ε = 10 becomes 11.8 by the paper's conversion.",
    ),
    Entry(
        id="dpals-table-5",
        paper="dpals",
        place="Table 5",
        title="DPALS on MovieLens 10M and 20M",
        missing="MovieLens 10M and 20M are not at hand. Fetch ml-10m where there is a network; an hour and 4 GB then make one trial. Figure 3 has the shape on MovieLens 1M.",
        finding="As read, not run, in the authors' released code: noise on right-hand sides leaves out the factor Γ_M of Algorithm 1, though ratings are not rescaled. If the table was made so, its ML-10M ε is understated.",
    ),
    Entry(
        id="dpals-figure-3",
        paper="dpals",
        place="Figure 3",
        title="Error against ε: its shape on MovieLens 1M",
        made="MovieLens 1M instead of 10M, three splits; DPALS with settings that did best at each ε on another split of the same data, which favours it; the constants of Moments once were chosen on such a split too. Private means have none.",
        finding="On a million ratings DPALS falls with ε as in the paper, but a trivial predictor made private is better at every ε up to 20, and Moments once better still.",
        page="completion",
    ),
    Entry(
        id="dpals-figure-4",
        paper="dpals",
        place="Figure 4",
        title="DPALS and Frank–Wolfe on synthetic data",
        made="The paper's low-rank data with 5,000 users (the paper has 5,000 to 50,000) and 2,000, ten trials. DPALS's one setting was chosen on another draw with 20,000 users; Frank–Wolfe has five rounds.",
        finding="DPALS falls with users and with ε; Frank–Wolfe hardly moves with so few. At ε = 1 and 5,000 users DPALS is no better than the average here, where the paper has it below. With 20,000 users DPALS is 1.8 to 2.6 times better than Frank–Wolfe here (benchmarks/results.md); the paper says at least seven times, with 50,000.",
    ),
    *(
        Entry(
            id=f"dpals-figure-{number}",
            paper="dpals",
            place=f"Figure {number}",
            title=title,
            page="completion",
            made="Computed live on the Completion page, with synthetic or any fetched data.",
        )
        for number, title in (
            ("2", "How popular items fill what users give"),
            ("5", "Error against the share of items learned"),
            ("6", "User and item counts under each sampling"),
            ("8", "Error against the number of users"),
            ("9", "Error against ε for several ranks"),
            ("10", "Error against the share of items, several ε"),
            ("12", "Regularisation exponents"),
        )
    ),
    Entry(
        id="dpals-figure-1",
        paper="dpals",
        place="Figure 1",
        title="What stays with users and what is released",
    ),
    Entry(
        id="dpals-figure-7",
        paper="dpals",
        place="Figure 7",
        title="Error by step on synthetic data",
        page="completion",
        made="Choose the orthogonal data and DPALS on the Completion page: the error of every step is drawn.",
    ),
    Entry(
        id="dpals-figure-11",
        paper="dpals",
        place="Figure 11",
        title="Recall against the share of items on MovieLens 20M",
        missing="MovieLens 20M is not at hand; the Completion page's task 'recommend' computes Recall@20 with any share on the sets that are.",
    ),
    Entry(id="nmf-table-1", paper="nmf", place="Table 1", title="Notation"),
    Entry(
        id="nmf-table-2",
        paper="nmf",
        place="Table 2",
        title="Sizes of the data",
        made="As loaded here: documents left without a word are not counted, words are filtered as usual in this software (in at least 3 documents, at most half of them), a tenth of TDT2's terms is drawn.",
        finding="TDT2 has 36,771 terms, 678 of them empty; a tenth is 3,677, as printed, and leaves some documents without a word. The paper's own filters for Guardian and UCI News are not printed.",
    ),
    Entry(
        id="nmf-table-3",
        paper="nmf",
        place="Table 3",
        title="Coherence of private topics (TC-W2V)",
        made="UCI News, 750 titles of each class, K = 7, word2vec trained on the same titles, by gensim with its usual settings; as published (Algorithm 2). Its start is not random: the three seeds differ in noise, which moves hardly anything.",
        finding="All printed values of UCI News lie within 0.00002 of each other, at 0.9997: a word2vec trained on so few titles puts all words close together: here random words score 0.82 to 0.85 beside topics' 0.98, and on another small collection they scored above real topics. It says nothing about privacy. NPMI, on the Factorization page, does.",
        page="factorization",
    ),
    Entry(
        id="nmf-table-4",
        paper="nmf",
        place="Table 4",
        title="Training RMSE on MovieLens 1M",
        made="DPNMF after its abstract; rank 10, λ = 10, T = 20 and the training part (80 %) are our choices, three seeds. Each printed ε once for the whole run, as it is meant, and once for each of the twenty draws.",
        finding="The column of the paper's own method, 0.062 to 0.068, cannot be in rating units, on a scale of 1 to 5: the matrix and its normalisation are not said, so that it cannot be computed. The two columns are not comparable either: one ε is of a round, the other in all. DPNMF with the printed ε in all is far worse than printed here; with that ε for each draw it comes near.",
    ),
    *(
        Entry(
            id=f"nmf-figure-{number}",
            paper="nmf",
            place=f"Figure {number}",
            title=title,
            made="Objective after the last round, three seeds. Private NMF as published starts from the raw data's singular vectors; 'sound' is moment NMF at total ε = 10, δ = 1e-5, one image or document added or removed.",
            finding="As published, the objective is the same with noise and without, to four digits: the dictionary hardly moves from its start, which is made of the raw data. That is not privacy. "
            + beside,
            page="factorization",
        )
        for number, title, beside in (
            (
                "2",
                "Private against non-private objective, text",
                "On TDT2 moment NMF, which is private at total ε = 10, is nearer to NMF than it; on the 3,000 titles of UCI News it is a little farther.",
            ),
            (
                "5",
                "Private against non-private objective, faces",
                "It is also four to five times worse than NMF, and several times worse than moment NMF, which is private.",
            ),
        )
    ),
    *(
        Entry(
            id=f"nmf-figure-{number}",
            paper="nmf",
            place=f"Figure {number}",
            title=title,
            page="factorization",
            made="Computed live on the Factorization page.",
        )
        for number, title in (
            ("3", "Overall ε and objective, text"),
            ("4", "Topic words side by side"),
            ("6", "Overall ε and objective, faces"),
            ("7", "Learned parts side by side"),
            ("8", "Yale faces with outliers"),
            ("10", "Coherence against the number of topics"),
            ("11", "A face rebuilt from parts"),
        )
    ),
    Entry(id="nmf-figure-1", paper="nmf", place="Figure 1", title="Curator and analyst"),
    Entry(
        id="nmf-figure-9",
        paper="nmf",
        place="Figure 9",
        title="Topic words of the Guardian's articles",
        page="factorization",
        missing="The Guardian's articles are not at hand; 'python -m dpmc_core datasets fetch guardian' gets them where there is a network. The Factorization page then draws this.",
    ),
)
