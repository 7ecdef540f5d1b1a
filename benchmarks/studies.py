"""The stored examples of the studies on the *Completion* page.

``python -m benchmarks.studies`` writes data/results/studies.json (two minutes).

Synthetic data only, the page's own usual settings, three seeds.
"""

import json

from dpmc_core.experiments.presets import PEOPLE
from dpmc_core.experiments.studies.engine import study
from dpmc_core.experiments.studies.spec import STUDIES, StudySpec
from dpmc_core.paths import RESULTS

FILE = RESULTS / "studies.json"


def main() -> None:
    """Run them all and write the file."""
    out = {}
    for kind in STUDIES["completion"]:
        result = study(StudySpec.of("completion", kind, PEOPLE, seeds=3))
        out[kind] = result.summary()
        print(f"{kind}: {result.runs} runs, {result.seconds:.0f} s", flush=True)
    FILE.write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
