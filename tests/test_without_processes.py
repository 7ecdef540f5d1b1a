"""The core where there are no threads, processes, sockets or compiled extras: in a browser."""

from tests.programs import run_python

_BROWSER = """
import importlib.abc, socket, subprocess, sys, threading
import numpy, scipy.optimize, sklearn.decomposition, skimage, pandas  # as they are built there

MISSING = {
    "randomgen", "psutil", "loky", "distributed", "dask", "pyarrow", "numba", "gensim",
    "sqlalchemy", "_multiprocessing", "fcntl", "resource",
}

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in MISSING:
            raise ImportError(name)

def refuse(*_, **__):
    raise RuntimeError("not in a browser")

for name in [name for name in sys.modules if name.split(".")[0] in MISSING]:
    del sys.modules[name]
sys.meta_path.insert(0, Missing())
threading.Thread.start = subprocess.Popen.__init__ = socket.socket.__init__ = refuse
sys.platform = "emscripten"

from dpmc_core.cli.common.main import main
from dpmc_core.errors import DataError
from dpmc_core.experiments import RunSpec, run

small = "--n-users 60 --n-items 20 --rank 2 --observed 0.5".split()
for words in (
    ["complete", "als", *small, "--mechanism", "huber", "--variance", "1", "--iterations", "2"],
    ["complete", "moments", *small, "--mechanism", "gaussian", "--epsilon", "2", "--seed", "1"],
    ["complete", "dpals", *small, "--mechanism", "gaussian", "--epsilon", "2", "--seed", "1"],
    ["factorize", "nmf", "--dataset", "lfw", "--rank", "3", "--rounds", "2"],
    ["plan", "mean", "--people", "5000", "--margin", "1"],
    ["account", "gaussian", "--variance", "4", "--count", "10"],
):
    assert main(words) == 0, words
try:
    run(RunSpec.of(algorithm="moments", mechanism="gaussian", epsilon=1.0, secret=True))
    raise AssertionError("no noise can be secret here")
except DataError as error:
    assert "needs the package randomgen" in str(error)
"""


def test_the_core_runs_without_threads_processes_sockets_and_compiled_extras() -> None:
    done = run_python("-c", _BROWSER)
    assert done.returncode == 0, done.stderr[-2000:]
