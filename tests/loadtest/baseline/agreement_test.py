"""How far scores and rankings are from each other, by examples worked by hand."""

import math

import cases  # which finds the module
import agreement


class Agreement(cases.Case):
    def test_a_raw_score_is_the_difference_of_the_logits(self):
        for logits in ((0.3, -1.2), (-2.0, 0.5), (1.0, 1.0)):
            match = 1 / (1 + math.exp(logits[0] - logits[1]))
            self.assertAlmostEqual(agreement.raw_score(match), logits[1] - logits[0])

    def test_a_probability_of_one_or_none_has_a_raw_score(self):
        self.assertGreater(agreement.raw_score(1.0), 10)
        self.assertLess(agreement.raw_score(0.0), -10)

    def test_kendall_counts_pairs_in_the_same_order(self):
        self.assertEqual(agreement.kendall([1, 2, 3, 4], [10, 20, 30, 40]), 1)
        self.assertEqual(agreement.kendall([1, 2, 3, 4], [4, 3, 2, 1]), -1)
        # Of six pairs one is the other way round.
        self.assertAlmostEqual(agreement.kendall([1, 2, 3, 4], [1, 3, 2, 4]), 4 / 6)

    def test_kendall_counts_ties_in_neither(self):
        # Two pairs agree, one is tied in one of them: 2 / sqrt(3 * 2).
        self.assertAlmostEqual(agreement.kendall([1, 2, 3], [1, 2, 2]), 2 / math.sqrt(6))
        self.assertEqual(agreement.kendall([1, 2, 3], [5, 5, 5]), 0)

    def test_the_overlap_is_of_the_best(self):
        left, right = [9, 8, 7, 1, 2, 3], [3, 9, 8, 7, 1, 2]
        self.assertAlmostEqual(agreement.top_overlap(left, right, 3), 2 / 3)
        # Their worst are others.
        self.assertEqual(agreement.top_overlap([9, 8, 1, 2, 3], [8, 9, 3, 2, 1], 2), 1)

    def test_differences_are_told_in_shares_of_the_candidates_spread(self):
        reference = [[0.0, 2.0], [10.0, 14.0]]  # deviations 1 and 2
        told = agreement.of_scores([[0.3, 2.0], [10.0, 13.4]], reference)
        self.assertAlmostEqual(told["max_difference"], 0.6)
        self.assertAlmostEqual(told["mean_difference"], 0.225)
        self.assertAlmostEqual(told["spread"], 1.5)
        self.assertAlmostEqual(told["mean_share_of_spread"], 0.15)
        self.assertEqual(told["kendall"], 1)

    def test_the_cosine_of_embeddings(self):
        self.assertAlmostEqual(agreement.cosine([1, 0], [1, 1]), math.sqrt(0.5))
        self.assertAlmostEqual(agreement.cosine([3, 4], [6, 8]), 1)


if __name__ == "__main__":
    cases.main()
