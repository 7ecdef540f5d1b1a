"""Packages that the core alone does without, and the extra that brings each."""

EXTRAS = {
    **dict.fromkeys(("pandas", "pooch", "requests", "pyarrow", "PIL", "skimage"), "data"),
    **dict.fromkeys(("sklearn", "gensim"), "text"),
    **dict.fromkeys(("sqlalchemy", "psutil", "threadpoolctl"), "runs"),
    **dict.fromkeys(("streamlit", "plotly", "starlette", "orjson", "nbformat"), "app"),
    **dict.fromkeys(("brotli", "fontTools", "spellchecker"), "app"),
    **dict.fromkeys(("matplotlib", "ipykernel"), "notebooks"),
    "distributed": "cluster",
    "psycopg": "postgres",
}
