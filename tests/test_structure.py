"""The structure of the project: its size, which package may import which, and how Streamlit must
find the pages.
"""

import ast
import io
import os
import re
import tokenize
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import numpy as np
import pytest

import dpmc_core
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.parameter_table import table
from tests.programs import ROOT

GUARDED = {"privacy", "mechanisms", "datasets"}
STUDIED = {"factorization", "completion", "metrics", *GUARDED}
# room of the core -> rooms that it may import, besides itself and the modules on the ground floor
ALLOWED = {
    "mechanisms": set(),
    "datasets": set(),
    "metrics": {"datasets"},
    "privacy": {"mechanisms"},
    "completion": GUARDED,
    "factorization": GUARDED,
    "experiments": STUDIED,
    "partitioned": {"experiments", *STUDIED},
    "estimators": STUDIED,
    "planning": {"experiments", "metrics", *GUARDED},
    "cli": {"planning", "partitioned", "experiments", *STUDIED},
}
GROUND = {"arrays", "config", "errors", "facts", "limits", "paths", "wording", "__version__"}
# fields that are keys of files
FIELDS = {"entries.py": "made", "spec.py": "made", "factorize.py": "found", "attack.py": "found"}
MOST_CHARACTERS = 100
# Tokens of code at most, without comments and docstrings. They only fall: whoever removes code
# lowers them, and a feature that raises them says in CHANGELOG by how much.
MOST_TOKENS = {"product": 344_550, "tests": 215_850}
SLACK = 0.02  # how far below them the code may be before they are lowered


def project_files(ending: str) -> list[Path]:
    """What is neither fetched data nor in an environment or cache (.venv, .pytest_cache), which
    are not even walked into.
    """
    paths: list[Path] = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name[0] != "." and name != "downloads"]
        paths += [Path(folder, name) for name in names if name.endswith(ending)]
    return sorted(paths)


PAGES = sorted((ROOT / "pages").rglob("*.py"))
CORE = sorted((ROOT / "dpmc_core").rglob("*.py"))
CODE = [*ROOT.glob("*.py"), *CORE, *PAGES]
PARTS = [path for path in PAGES if path.is_relative_to(ROOT / "pages" / "parts")]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def imports(path: Path) -> set[str]:
    """All that a file imports, at the top, in functions and for types only."""
    names = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def tokens(path: Path) -> int:
    """Names, numbers, operators and strings of a file, without its docstrings."""
    source = path.read_text()
    docstrings = {
        (node.body[0].lineno, node.body[0].col_offset)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and ast.get_docstring(node, clean=False) is not None
    }
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    total = inside = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind = tokenize.tok_name[token.type]
        inside -= kind == "FSTRING_END"  # one token, as before Python 3.12
        if not inside and token.type not in layout | {tokenize.ENDMARKER}:
            total += token.start not in docstrings and kind != "FSTRING_START"
        inside += kind == "FSTRING_START"
    return total


@pytest.mark.parametrize("part", MOST_TOKENS)
def test_the_code_does_not_grow(part: str) -> None:
    paths = (ROOT / "tests").rglob("*.py") if part == "tests" else [*CODE, ROOT / "docs/conf.py"]
    total, most = sum(map(tokens, paths)), MOST_TOKENS[part]
    assert total <= most, f"{part}: {total:,} tokens, {total - most:,} too many"
    assert total > (1 - SLACK) * most, f"{part}: {total:,} tokens: lower MOST_TOKENS"


def test_the_core_draws_nothing_and_looks_down_only() -> None:
    for path in CORE:
        room = path.relative_to(ROOT / "dpmc_core").parts[0]
        for name in imports(path):
            assert not name.startswith(("streamlit", "plotly", "pages")), f"{path}: {name}"
            parts = name.split(".")
            if parts[0] != "dpmc_core" or len(parts) == 1:
                continue
            if room in ALLOWED:
                assert parts[1] in ALLOWED[room] | {room} | GROUND, f"{path} imports {name}"
            elif path.stem in GROUND:
                assert parts[1] in GROUND, f"{path} imports {name}"


def test_a_page_has_parts_of_its_own() -> None:
    """Parts of a page use frame, ui, server and the core; these know no page, ui no frame."""
    shared = {"ui": {"ui", "server"}, "server": {"ui", "server"}}
    for path in PARTS:
        room = path.relative_to(ROOT / "pages" / "parts").parts[0]
        allowed = shared.get(room, {room, "frame", "ui", "server"})
        for name in imports(path) - {"pages", "pages.parts"}:
            first, _, within = name.partition(".parts.")
            if first.split(".")[0] == "pages":
                assert within.split(".")[0] in allowed, f"{path} imports {name}"


def test_no_imports_run_in_a_circle() -> None:
    """Imports for types only, and those within functions, included."""
    modules = {name_of(path): path for path in CODE if path.name != "__init__.py"}
    edges = {name: imports(path) & modules.keys() - {name} for name, path in modules.items()}
    TopologicalSorter(edges).prepare()  # an error names the circle


def test_every_module_says_what_it_provides() -> None:
    for path in CODE:
        assert ast.get_docstring(parsed(path)), path


def test_names_say_what_they_hold() -> None:
    """Participles name nothing; fields of these names are keys of files."""
    empty = r"_?(found|said|known|made|kept|asked|told|going)"
    for path in CODE:
        for node in ast.walk(parsed(path)):
            name = getattr(node, "arg", None) or (isinstance(node, ast.Name) and node.id) or ""
            assert not re.fullmatch(empty, name) or name == FIELDS.get(path.name), (path, name)


def test_lines_wrap_at_100() -> None:
    """Code, documents and TOML; a single word or address that cannot be broken may be longer."""
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for ending in ("py", "md", "toml")
        for path in project_files(f".{ending}")
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
        if len(line) > MOST_CHARACTERS and " " in re.sub(r"^\s*([-*+>] +|[0-9]+[.)] +)?", "", line)
    ]
    assert not long, f"over {MOST_CHARACTERS} characters: {', '.join(long)}"


def test_csv_is_written_in_one_place() -> None:
    """Where cells that a spreadsheet would compute are made text."""
    writers = [path for path in CODE if re.search(r"\.to_csv\(|csv\.writer", path.read_text())]
    assert writers == [ROOT / "dpmc_core" / "wording.py"]


def test_streamlit_caches_are_not_keyed_by_mechanisms() -> None:
    """st.cache_data hashes a dataclass by its fields alone.

    It would take Laplace(scale=10) for Gaussian(scale=10).
    """
    for path in PAGES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef) and any(
                "cache_" in ast.unparse(d) for d in node.decorator_list
            ):
                hints = [ast.unparse(a.annotation) for a in node.args.args if a.annotation]
                assert not re.search("Mechanism|Release|Ledger", " ".join(hints)), (path, node.name)


def test_streamlit_starts_from_the_one_entry() -> None:
    """Beside a *script*, a folder pages/ would put Streamlit into its legacy multipage mode."""
    assert 'st.App("pages/main.py"' in (ROOT / "app.py").read_text()
    assert not (ROOT / "pages" / "pages").exists()
    assert not list(ROOT.glob("serve.py"))


def test_bound_widgets_are_made_in_one_place() -> None:
    """Elsewhere a bad value in a link would be dropped without a word."""
    for path in PAGES:
        assert path.name == "controls.py" or "bind=" not in path.read_text(), path


def test_links_of_the_documents_lead_somewhere() -> None:
    for path in project_files(".md"):
        for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
            assert "://" in target or (path.parent / target).exists(), f"{path}: {target}"


def test_the_table_of_parameters_is_the_declarations() -> None:
    assert (ROOT / "docs" / "parameters.md").read_text() == table()


# where words of a visitor's data come from; "str" is of an exception, which may quote them
STRANGE = {"user_label", "item_label", "labels", "notes", "texts"}
# what makes them plain, counts or computes with them, or does not read Markdown
HARMLESS = {"plain", "reword", "not_computed", "len", "set", "any", "bool", "text", "learned_words"}
MARKDOWN = {
    *("markdown", "caption", "info", "warning", "error", "success", "write", "title", "header"),
    *("subheader", "metric", "expander", "popover", "page_link", "button", "toast", "notice"),
    *("points", "spinner", "progress"),
}
# elsewhere: by file, what they are there
KNOWN = {
    "completion/charts.py": "cells of a table, through not_computed, by top_ten",
    "completion/recommend_view.py": "cells of a table, through not_computed",
}


def test_a_strangers_words_are_made_plain() -> None:
    """Where Markdown is read a name may be a link, a picture that is fetched, or a formula."""
    for path in PARTS:
        if not str(path).endswith((*KNOWN,)):
            assert not _strange_lines(path), path


def _strange_lines(path: Path) -> list[int]:
    """Where such words are followed, through the variables of a file, into what reads Markdown."""
    tree, strange = parsed(path), set[str]()
    for _ in range(3):  # variables made of others
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.For | ast.comprehension):
                value = node.iter if isinstance(node, ast.For | ast.comprehension) else node.value
                if value is not None and _strange(value, strange):
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    names = (name for target in targets for name in ast.walk(target))
                    strange |= {name.id for name in names if isinstance(name, ast.Name)}
    # an exception may quote what somebody gave
    handlers = (node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler))
    strange |= {handler.name for handler in handlers if handler.name}
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _called(node) in MARKDOWN
        for given in (*node.args, *(k.value for k in node.keywords))
        if _strange(given, strange)
    ]


def _called(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]


def _strange(node: ast.AST, names: set[str]) -> bool:
    """Whether an expression holds such words, not made harmless within it."""
    if isinstance(node, ast.Call):
        through = node.args[0] if _called(node) == "map" else node.func
        if ast.unparse(through).rpartition(".")[2] in HARMLESS:
            return False
        if ast.unparse(node) == "str(error)":
            return True
    if getattr(node, "attr", None) in STRANGE or getattr(node, "id", None) in names:
        return True
    parts = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.GeneratorExp | ast.ListComp):
        parts = [node.elt]
    elif isinstance(node, ast.IfExp):  # what is asked is not shown
        parts = [node.body, node.orelse]
    return any(_strange(part, names) for part in parts)


SOLVERS = ("dpmc_core.completion.", "dpmc_core.factorization.")
# what solvers with a guarantee draw themselves: starts, samples, and which and how many
# runs, which do not depend on data
STARTS = {
    "dpmc_core.completion.dpals.best": {"choice", "geometric", "integers"},
    "dpmc_core.completion.dpals.solver": {"integers", "standard_normal"},
    "dpmc_core.completion.dpals.power_iteration": {"standard_normal"},
    "dpmc_core.completion.frank_wolfe": {"standard_normal"},
    "dpmc_core.completion.sgld": {"standard_normal"},
    "dpmc_core.factorization.corrected": {"random"},
    "dpmc_core.factorization.moments": {"bit_generator", "integers"},
    "dpmc_core.factorization.public_images": {"standard_normal"},
    "dpmc_core.factorization.step": {"random"},
}
NOISE = re.compile(r"dpmc_core\.(mechanisms|.*\.(draw|sample|draw_item_noise)$)")


def test_solvers_with_a_guarantee_reach_no_noise_but_the_curators() -> None:
    """They import no mechanism and nothing that draws noise."""
    draws = {name for name in dir(np.random.Generator) if not name.startswith("_")}
    draws.update({"sample", "draw", "draw_item_noise"})
    paths = {name_of(path): path for path in CORE}
    solvers = (
        solver
        for card in ALGORITHMS.values()
        if card.guarantee
        for solver in (card.learn, card.rate, card.recommend, card.factorize)
    )
    reached, checked = {solver.__module__ for solver in solvers if solver is not None}, set()
    # beside the models and the start of the nominal algorithms stands their noise
    shared = "dpmc_core.completion.common.step"
    while left := reached - checked - {shared}:
        checked |= left
        for name in left:
            imported = imports(paths[name])
            reached |= {other for other in imported & paths.keys() if other.startswith(SOLVERS)}
            assert not [other for other in imported if NOISE.match(other)], name
            used = {
                node.attr
                for node in ast.walk(parsed(paths[name]))
                if isinstance(node, ast.Attribute) and ast.unparse(node.value) != "np"
            }
            assert used & draws <= STARTS.get(name, set()), name
    assert len(checked) > 12


def test_every_room_is_offered_and_documented() -> None:
    """The list of rooms stands in the package, in the documents, and above."""
    public = set(ALLOWED) - {"cli"}
    assert set(dpmc_core._ROOMS) == public
    documented = set(re.findall(r"^reference/(\w+)$", (ROOT / "docs/index.md").read_text(), re.M))
    configured = (ROOT / "docs/conf.py").read_text()
    for room in public:
        assert room in documented, room
        assert f'"{room}"' in configured, room
