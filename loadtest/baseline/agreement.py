"""How far one side's scores and rankings are from another's.  Nothing but Python."""

import math


def raw_score(probability):
    """The difference of the two logits that a probability of matching is made of."""
    within = min(max(probability, 1e-7), 1 - 1e-7)
    return math.log(within / (1 - within))


def top_overlap(left, right, count):
    """The share of the `count` best of `left` that is among those of `right`."""
    best = [set(sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:count])
            for scores in (left, right)]
    return len(best[0] & best[1]) / count


def kendall(left, right):
    """Kendall's tau-b: 1 for the same order, -1 for the opposite; ties count in neither."""
    agreed, pairs = 0, [0, 0]
    for i in range(len(left)):
        for j in range(i):
            signs = [(a > b) - (a < b) for a, b in ((left[i], left[j]), (right[i], right[j]))]
            agreed += signs[0] * signs[1]
            pairs = [count + abs(sign) for count, sign in zip(pairs, signs)]
    return agreed / math.sqrt(pairs[0] * pairs[1]) if all(pairs) else 0.0


def of_scores(theirs, reference):
    """Over questions: lists of raw scores of the same candidates in the same order.

    Differences are also given as a share of `spread`, the mean over questions of the
    reference's standard deviation among candidates: what a ranking turns on."""
    differences = [abs(a - b) for left, right in zip(theirs, reference)
                   for a, b in zip(left, right)]
    deviations = []
    for scores in reference:
        mean = sum(scores) / len(scores)
        deviations.append(math.sqrt(sum((score - mean) ** 2 for score in scores) / len(scores)))
    spread = sum(deviations) / len(deviations)
    questions = list(zip(theirs, reference))
    return {"max_difference": max(differences),
            "mean_difference": sum(differences) / len(differences),
            "spread": spread,
            "mean_share_of_spread": sum(differences) / len(differences) / spread,
            "top_10_overlap": sum(top_overlap(a, b, 10) for a, b in questions) / len(questions),
            "kendall": sum(kendall(a, b) for a, b in questions) / len(questions)}


def cosine(left, right):
    return sum(a * b for a, b in zip(left, right)) / math.sqrt(
        sum(a * a for a in left) * sum(b * b for b in right))
