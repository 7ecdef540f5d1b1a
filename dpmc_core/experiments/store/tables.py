"""The tables of the store's database."""

import sqlalchemy as sa

METADATA = sa.MetaData()


ABOUT = sa.Table("dpmc_store", METADATA, sa.Column("version", sa.Integer, primary_key=True))


RUNS = sa.Table(
    "dpmc_runs",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("key", sa.String(32), nullable=False, unique=True),
    *(
        sa.Column(name, sa.String(80), nullable=False)
        for name in ("kind", "dataset", "algorithm", "mechanism")
    ),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("measure", sa.String(80), nullable=False),
    sa.Column("value", sa.Float),
    sa.Column("trivial", sa.Float, key="baseline"),  # stores have the short name
    *(sa.Column(name, sa.Float) for name in ("truth", "epsilon", "epsilon_published")),
    sa.Column("delta", sa.Float, nullable=False),
    sa.Column("nominal", sa.Boolean, nullable=False),
    sa.Column("unit", sa.String(80), nullable=False),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("version", sa.String(40), nullable=False),
    sa.Column("created", sa.String(40), nullable=False),
    sa.Column("error", sa.Text, nullable=False),
    sa.Column("spec", sa.Text, nullable=False),
)


SUMMARIES = sa.Table(
    # apart from the runs, so that a list of a hundred thousand does not read them
    "dpmc_summaries",
    METADATA,
    sa.Column(
        "run", sa.Integer, sa.ForeignKey("dpmc_runs.id", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("summary", sa.Text, nullable=False),
)
