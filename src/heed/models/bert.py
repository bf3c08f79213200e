"""BERT (Devlin, Chang, Lee & Toutanova 2018, arXiv:1810.04805).

The Transformer's encoder without its decoder, learnt once on a great deal of text and then used for
many ends. Nothing is masked but the padding: each word piece looks to both sides.

A MiniLM (Wang et al. 2020, arXiv:2002.10957) is a small BERT that was taught by a large one.
``heed.experiments.pretrained`` puts the weights of one into these layers.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heed.layers.feedforward import Activation
from heed.layers.positions import Learned
from heed.masks import padding
from heed.models.transformer import EncoderLayer, Norm


@dataclass(frozen=True, kw_only=True)
class BertConfig:
    """Sizes. The paper's *base*: some 30,000 word pieces, d_model 768, d_inner 3072, 12 heads, 12
    layers, 512 places, dropout 0.1. Ours are MiniLM's. Together with the properties it is what
    ``EncoderLayer`` wants to know (``LayerConfig``).

    segments: a text may consist of two; each word piece is told in which one it stands
    epsilon: of all norms, as in the authors' code; the paper does not speak of it
    activation: of the position-wise networks; Appendix A.2 names the gelu
    dropout: of what each sublayer adds, and of the embedding
    dropout_inside: of attention's weights and of the inner units; the authors' code has it at the
        weights only, which makes a difference to training alone
    """

    vocab: int
    d_model: int = 384
    d_inner: int = 1536
    heads: int = 12
    layers: int = 6
    longest: int = 512
    segments: int = 2
    activation: Activation = "gelu"
    epsilon: float = 1e-12
    dropout: float = 0.1
    dropout_inside: float = 0.1

    def __post_init__(self) -> None:
        if self.layers < 1:
            raise ValueError(f"layers={self.layers}, but there must be one at least")

    @property
    def norm(self) -> Norm:
        """As in the Transformer's paper."""
        return "post"

    @property
    def scaled(self) -> bool:
        """As in the Transformer's paper."""
        return True

    @property
    def bias(self) -> bool:
        """The authors' code has one behind each of attention's matrices."""
        return True


@dataclass(frozen=True)
class BertOutput:
    """What became of each word piece, and where the heads of each layer looked, from the lowest
    layer up; no map unless somebody asked."""

    words: Float[Tensor, "batch word d_model"]
    weights: tuple[Float[Tensor, "batch head query key"], ...]


class Bert(nn.Module):
    """Words      x = Dropout(LayerNorm(E w + P place + S segment))        (Figure 2 of the paper)
    N times    x ← LayerNorm(x + MultiHead(x, x, x))
               x ← LayerNorm(x + FFN(x)),  FFN(x) = GELU(x W_1 + b_1) W_2 + b_2

    Ours against the paper's: ``embed`` holds its token embeddings E, ``positions`` its position
    embeddings P, ``segments`` its segment embeddings S. Unlike in the Transformer, E is not
    multiplied by √d_model, places are learnt, and the sum is normalised.

    The heads for its two training tasks (hidden words, following sentence) are not here.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        d = config.d_model
        self.embed = nn.Embedding(config.vocab, d)
        self.positions = Learned(d_model=d, longest=config.longest)
        self.segments = nn.Embedding(config.segments, d)
        self.norm = nn.LayerNorm(d, eps=config.epsilon)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        for name, parameter in self.named_parameters():  # as in the authors' code
            if parameter.ndim == 2:
                nn.init.trunc_normal_(parameter, std=0.02, a=-0.04, b=0.04)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(
        self,
        words: Int[Tensor, "batch word"],
        lengths: Int[Tensor, " batch"],
        *,
        segments: Int[Tensor, "batch word"] | None = None,
        weights: bool | None = None,
    ) -> BertOutput:
        """Read word pieces; ``None`` for segments means that there is only one.

        weights: hand out the maps of all heads; ``None`` means unless the model is being trained
        """
        weights = not self.training if weights is None else weights
        keep = padding(lengths, words.shape[1])
        segments = torch.zeros_like(words) if segments is None else segments
        places = self.positions(words.shape[1])
        x = self.dropout(self.norm(self.embed(words) + places + self.segments(segments)))
        looks: list[Tensor] = []
        for layer in self.encoder:
            x, look = layer(x, keep=keep, weights=weights)
            if look is not None:
                looks.append(look)
        return BertOutput(x, tuple(looks))


def sentence_vector(
    words: Float[Tensor, "batch word d_model"], lengths: Int[Tensor, " batch"]
) -> Float[Tensor, "batch d_model"]:
    """v = m / ‖m‖,  m = (1/n) Σ_i x_i over the n word pieces that are there

    One vector for a text (Reimers & Gurevych 2019, arXiv:1908.10084, "MEAN"), of length 1: the dot
    product of two is their cosine.
    """
    keep = padding(lengths, words.shape[1]).mT
    mean = (words * keep).sum(dim=1) / lengths[:, None]
    return nn.functional.normalize(mean, dim=-1)


# Their names, then ours. The pooler is a layer over the first word piece for the second training
# task, which the sentence vector does not go through.
NAMES: Mapping[str, str] = {
    r"embeddings\.word_embeddings": "embed",
    r"embeddings\.token_type_embeddings": "segments",
    r"embeddings\.LayerNorm": "norm",
    r"encoder\.layer\.(\d+)\.attention\.self\.query": r"encoder.\1.attention.W_q",
    r"encoder\.layer\.(\d+)\.attention\.self\.key": r"encoder.\1.attention.W_k",
    r"encoder\.layer\.(\d+)\.attention\.self\.value": r"encoder.\1.attention.W_v",
    r"encoder\.layer\.(\d+)\.attention\.output\.dense": r"encoder.\1.attention.W_o",
    r"encoder\.layer\.(\d+)\.attention\.output\.LayerNorm": r"encoder.\1.around_attention.norm",
    r"encoder\.layer\.(\d+)\.intermediate\.dense": r"encoder.\1.feed.W_1",
    r"encoder\.layer\.(\d+)\.output\.dense": r"encoder.\1.feed.W_2",
    r"encoder\.layer\.(\d+)\.output\.LayerNorm": r"encoder.\1.around_feed.norm",
}
PLACES = "embeddings.position_embeddings.weight"
UNUSED = {"embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias"}


def renamed(theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights as Hugging Face's ``BertModel`` names them, under our names.

    ``ValueError`` for a name that has no place here.
    """
    ours: dict[str, Tensor] = {}
    for name, tensor in theirs.items():
        if name in UNUSED:
            continue
        if name == PLACES:
            ours["positions.table"] = tensor
            continue
        module, _, kind = name.rpartition(".")
        for pattern, place in NAMES.items():
            if re.fullmatch(pattern, module):
                ours[f"{re.sub(pattern, place, module)}.{kind}"] = tensor
                break
        else:
            raise ValueError(f"{name!r} is no weight of a BERT encoder")
    return ours
