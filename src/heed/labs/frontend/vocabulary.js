// The words of a model by number, as heed/data/vocabulary.py counts them: the four special ones
// first, then those of its vocabulary.json.
//
//   new Vocabulary(words)     .words [word], .has(word) (a special one is no word), .encode(word)

export const [PAD, BOS, EOS, UNK] = [0, 1, 2, 3];
export const SPECIALS = ["<pad>", "<s>", "</s>", "<unk>"];

export class Vocabulary {
  #numbers;

  constructor(words) {
    this.words = [...SPECIALS, ...words];
    this.#numbers = new Map(this.words.map((word, number) => [word, number]));
  }

  has(word) {
    return this.encode(word) > UNK;
  }

  encode(word) {
    return this.#numbers.get(word) ?? UNK;
  }
}
