"""Sequence to sequence learning with neural networks
(Sutskever, Vinyals & Le 2014, arXiv:1409.3215).

One deep LSTM reads the source; its last states are all that a second deep LSTM gets to know.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heed.data.vocabulary import PAD
from heed.layers.gru import reverse_each
from heed.models.translator import DecoderOutput, StepOutput


@dataclass(frozen=True, kw_only=True)
class Seq2SeqConfig:
    """Sizes. The paper's: d_embedding 1000, d_hidden 1000, 4 layers, 160,000 and 80,000 words.

    reverse_source: read the source back to front, as the paper found better (its section 3.3).
    tie_output: let the output layer be the target embedding; needs d_hidden = d_embedding, or
        gets a projection between the two. Not in the paper.
    """

    source_vocab: int
    target_vocab: int
    d_embedding: int = 128
    d_hidden: int = 192
    layers: int = 2
    reverse_source: bool = True
    tie_output: bool = False
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.layers < 1:
            raise ValueError(f"layers={self.layers}, but an LSTM needs at least one")


@dataclass(frozen=True)
class Thought:
    """v: the last h and c of every layer. All the decoder will ever know of the source."""

    h: Float[Tensor, "batch layer d_hidden"]
    c: Float[Tensor, "batch layer d_hidden"]


class Seq2Seq(nn.Module):
    """v = (h_T, c_T) of all layers;  p(y | x) = Π_t softmax(W_o h_t)     (Eq. 1)

    The two LSTMs are different networks. Their first layers read embeddings, the layers above
    them read the layer below. The decoder starts from v and is fed <s>, y_1, …, y_{T′−1}.
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        self.config = config
        self.embed_source = nn.Embedding(config.source_vocab, config.d_embedding, padding_idx=PAD)
        self.embed_target = nn.Embedding(config.target_vocab, config.d_embedding, padding_idx=PAD)

        def lstm() -> nn.LSTM:
            return nn.LSTM(
                config.d_embedding,
                config.d_hidden,
                config.layers,
                batch_first=True,
                dropout=config.dropout if config.layers > 1 else 0.0,
            )

        self.encoder = lstm()
        self.decoder = lstm()
        self.dropout = nn.Dropout(config.dropout)
        narrow = config.tie_output and config.d_hidden != config.d_embedding
        self.to_embedding = (
            nn.Linear(config.d_hidden, config.d_embedding, bias=False) if narrow else nn.Identity()
        )
        d_output = config.d_embedding if config.tie_output else config.d_hidden
        self.output = nn.Linear(d_output, config.target_vocab)
        for table in (self.embed_source, self.embed_target):
            nn.init.normal_(table.weight, std=config.d_embedding**-0.5)
            with torch.no_grad():
                table.weight[PAD].zero_()
        if config.tie_output:
            self.output.weight = self.embed_target.weight

    def encode(
        self, source: Int[Tensor, "batch source"], source_lengths: Int[Tensor, " batch"]
    ) -> Thought:
        """The fixed vector. Words are turned round before padding; EOS is read last either way."""
        if self.config.reverse_source:
            source = reverse_each(source, source_lengths - 1)  # type: ignore[assignment]
        packed = nn.utils.rnn.pack_padded_sequence(
            self.dropout(self.embed_source(source)),
            source_lengths.cpu(),
            batch_first=True,
            enforce_sorted=False,
        )
        _, (h, c) = self.encoder(packed)
        return Thought(h.transpose(0, 1).contiguous(), c.transpose(0, 1).contiguous())

    def start(self, encoded: Thought) -> Thought:
        """The decoder begins with exactly what the encoder ended with."""
        return encoded

    def step(
        self, state: Thought, token: Int[Tensor, " batch"], encoded: Thought
    ) -> tuple[Thought, StepOutput]:
        """Feed y_{t−1}, get the scores of y_t. ``encoded`` is not looked at: that is the point."""
        logits, state = self._decode(token.unsqueeze(1), state)
        return state, StepOutput(logits.squeeze(1), None)

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        source_lengths: Int[Tensor, " batch"],
        target_in: Int[Tensor, "batch step"],
    ) -> DecoderOutput:
        """Teacher forcing: all steps of a known target, fed with its own words."""
        logits, _ = self._decode(target_in, self.encode(source, source_lengths))
        return DecoderOutput(logits, {})

    def _decode(
        self, tokens: Int[Tensor, "batch step"], state: Thought
    ) -> tuple[Float[Tensor, "batch step vocab"], Thought]:
        before = (state.h.transpose(0, 1).contiguous(), state.c.transpose(0, 1).contiguous())
        hidden, (h, c) = self.decoder(self.dropout(self.embed_target(tokens)), before)
        logits = self.output(self.to_embedding(self.dropout(hidden)))
        return logits, Thought(h.transpose(0, 1), c.transpose(0, 1))
