"""The folder that peers.py makes: queries of one length, all else linked."""

import os

import cases
import data


class Tokenizer:
    """A token for each letter."""

    def __call__(self, text):
        return [0, *text.replace(" ", ""), 1]


class Peers(cases.Case):
    def test_texts_are_as_long_as_the_comparison_says(self):
        self.assertEqual(data.TOKENS, 12)
        made = data.of_one_length(["abcd ef", "ghijk lm no", "pqrstuvwxyzab cdefghijklm"] * 2,
                                  Tokenizer())
        # Words that do not fit are passed over, and what is left over at the end is dropped.
        self.assertEqual(made, ["abcd ef lm no", "abcd ef lm no"])

    def test_the_model_and_the_arrays_are_those_of_the_folder(self):
        self.write("model_outliers/manifest.json", b"{}")
        self.write("vectors.f32", b"1234")
        self.write("queries.txt", b"abcd ef lm no\n")
        for _ in range(2):
            peers = data.peers_folder(self.folder, "model_outliers", Tokenizer())
        self.assertEqual(os.path.basename(peers), "peers_outliers")
        self.assertEqual(data.queries(peers), ["abcd ef lm no"])
        for name in ("model/manifest.json", "vectors.f32"):
            self.assertTrue(os.path.exists(os.path.join(peers, name)), name)


if __name__ == "__main__":
    cases.main()
