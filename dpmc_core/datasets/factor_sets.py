"""Images and documents by name.

Lives here: ``load_samples``, from a name of the catalogue to checked ``Samples``. Does not live
here: file formats (``images``, ``text``), generators (``cartoons``, ``topics``) or ratings
(``loaders``).
"""

from dpmc_core.datasets.catalogue import entry
from dpmc_core.datasets.images import IMAGE_READERS
from dpmc_core.datasets.loaders import require
from dpmc_core.datasets.samples import Samples
from dpmc_core.datasets.synthetic.cartoons import cartoon_faces
from dpmc_core.datasets.synthetic.topics import topic_documents
from dpmc_core.datasets.text import READERS, TextFilter
from dpmc_core.errors import DataError, DatasetMissingError
from dpmc_core.paths import reason

__all__ = ["load_samples"]


def load_samples(
    name: str,
    *,
    chosen: TextFilter | None = None,
    n_samples: int = 2000,
    term_share: float = 1.0,
    seed: int = 0,
) -> Samples:
    """The images or documents called ``name``.

    ``chosen`` filters the words of text; ``n_samples`` and ``seed`` make synthetic sets;
    ``term_share`` (and ``seed``) draws terms of the sets without words, ``seed`` the titles of UCI
    News. Raises ``ParameterError`` for an unknown name, ``DatasetMissingError`` when its files are
    not here, ``DataError`` when they are damaged or the filter leaves nothing.
    """
    known = entry(name, "images", "documents")
    if name == "cartoon":
        return cartoon_faces(n_samples, seed)
    if name == "topics":
        return topic_documents(n_samples, seed)
    require(known)
    try:
        if known.holds == "images":
            samples = IMAGE_READERS[known.format](known)
        else:
            samples = READERS[known.format](known, chosen or TextFilter(), term_share, seed)
    except (OSError, UnicodeDecodeError, ValueError, KeyError, IndexError, TypeError) as error:
        if isinstance(error, (DataError, DatasetMissingError)):
            raise
        raise DataError(
            f"{known.title}: its files in {known.place} cannot be read ({reason(error)}); they are "
            "damaged or of another version."
        ) from error
    if known.holds == "images" and known.samples and len(samples) != known.samples:
        raise DataError(
            f"{known.title}: {len(samples):,} images were read where {known.samples:,} are "
            "expected; the file is of another version."
        )
    return samples
