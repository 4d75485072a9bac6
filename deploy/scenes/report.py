"""What claims.py keeps of the evaluator's tables, and prints of what it has kept."""

KEPT = ["r_at_1", "r_at_5", "r_at_10", "r_at_20", "mrr"]
DIRECTIONS = ["text_to_image", "image_to_text"]
ARROWS = {"text_to_image": "T→I", "image_to_text": "I→T"}
COMPUTED = "*"
EQUAL = 2  # points, within which an interval lies whose difference is called none


def interval(numbers):
    """Percent, to a hundredth: value, low, high."""
    return [round(100 * numbers[key], 2) for key in ("value", "low", "high")]


def method_name(method):
    """As evaluator prints it: `be:ce 20 add_lambda:0.5`."""
    name = method["policy"]
    if method["depth"] > 0:
        name += f" {method['depth']} {method['combination']}"
        if "lambda" in method:
            name += f":{method['lambda']}"
    return name


def shortened(by_reference, policies):
    """Of the JSON of `evaluator tables` what a result keeps, the first policy of each being what the
    others are compared with: methods in the order of `policies`."""
    methods = {}
    for reference, tables in by_reference.items():
        for method in tables["tables"][0]["methods"]:
            kept = methods.setdefault(method_name(method), {
                key: method[key] for key in ("policy", "depth", "combination", "lambda")
                if key in method})
            if "time" in method:
                kept["seconds_per_query"] = method["time"]["seconds_per_query"]
                if method["time"]["computed"]:
                    kept["computed"] = True
            for direction in DIRECTIONS:
                own = method[direction]
                into = kept.setdefault(direction, {"queries": own["query_count"], "minus": {}})
                for measure in KEPT:
                    into[measure] = interval(own[measure])
                if "minus_first" in own["r_at_1"]:
                    into["minus"][reference] = interval(own["r_at_1"]["minus_first"])
    return sorted(methods.values(), key=lambda method: policies.index(method["policy"]))


def claim_problems(row):
    """What is wrong with the policies, references and claims of a measure."""
    scores = set(row["matrices"]) | set(row.get("ensembles", {}))
    policies = row["policies"].split(",")
    references = row.get("references", policies[:1])
    for policy in policies:
        for name in policy.split(":"):
            if name not in scores:
                yield f"policy {policy} is of {name}, which is no matrix and no ensemble"
    for reference in references:
        if reference not in policies:
            yield f"reference {reference} is no policy"
    for claim in row.get("claims", []):
        if set(claim) != {"says", "of", "is", "than", "part"}:
            yield f"a claim has {', '.join(sorted(claim))}, not says, of, is, than and part"
        elif claim["of"].split(" ")[0] not in policies or claim["than"] not in references:
            yield f"claim '{claim['says']}': `of` names a method and `than` a reference"
        elif (":" in claim["of"]) != (len(claim["of"].split(" ")) == 3):
            yield f"claim '{claim['says']}': `of` has a depth and a combination where it reranks"
        elif claim["is"] not in ("<", "=", ">"):
            yield f"claim '{claim['says']}': `is` is <, = or >"


def with_interval(numbers):
    return f"{numbers[0]:.1f} [{numbers[1]:.1f}, {numbers[2]:.1f}]"


def sign(numbers):
    """What the interval of a difference says: that there is none, more, less, or nothing."""
    _, low, high = numbers
    if -EQUAL <= low and high <= EQUAL:
        return "="
    return ">" if low > 0 else "<" if high < 0 else ""


def outcome(expected, numbers):
    """Whether it is as a paper says.  A difference that is sure and small is both more and none."""
    _, low, high = numbers
    equal, apart = sign(numbers) == "=", low > EQUAL or high < -EQUAL
    holds = {"=": equal, ">": low > 0, "<": high < 0}[expected]
    fails = {"=": apart, ">": equal or high < 0, "<": equal or low > 0}[expected]
    return "holds" if holds else "fails" if fails else "open"


def gain(numbers):
    """Of R@1 against another method, with what the interval says of it."""
    if numbers is None:
        return ""
    value, low, high = numbers
    return f"{value:+.1f} [{low:+.1f}, {high:+.1f}] {sign(numbers)}".rstrip()


def part_table(part, methods, directions, timed):
    """R@1 each way with intervals and its difference to each reference, R@20 of texts, and, if
    `timed`, what a text takes, with a star where a stage was timed with another number of pairs."""
    references = sorted({r for m in methods for d in DIRECTIONS for r in m[d]["minus"]})
    columns = [part]
    for direction in directions:
        columns += [f"{ARROWS[direction]} R@1"] + [f"minus {reference}" for reference in references]
    columns += ["T→I R@20"] + ["ms a query"] * timed
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for method in methods:
        cells = [method_name(method)]
        for direction in directions:
            own = method[direction]
            cells.append(with_interval(own["r_at_1"]))
            cells += [gain(own["minus"].get(reference)) for reference in references]
        cells.append(f"{method['text_to_image']['r_at_20'][0]:.1f}")
        seconds = method.get("seconds_per_query")
        star = COMPUTED if method.get("computed") else ""
        cells += ["" if seconds is None else f"{1000 * seconds:.3g}{star}"] * timed
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def claim_table(claims, parts, directions):
    """What the paper says, and whether it is so here."""
    columns = ["the paper", "part", "here, R@1"] + [ARROWS[direction] for direction in directions]
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for claim in claims:
        named = {method_name(method): method for method in parts.get(claim["part"], [])}
        if claim["of"] not in named:
            continue
        cells = []
        for direction in directions:
            minus = named[claim["of"]][direction]["minus"].get(claim["than"])
            cells.append("" if minus is None else f"{gain(minus)}: {outcome(claim['is'], minus)}")
        lines.append(f"| {claim['says']} | {claim['part']} | {claim['of']} {claim['is']} "
                     f"{claim['than']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n" if len(lines) > 2 else ""


def duration(seconds):
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.0f} min"


def network_table(rows):
    lines = ["| network | steps | took | on | development AR |", "|---|---|---|---|---|"]
    for name in rows.networks:
        result = rows.result(name)
        if result is None:
            continue
        look = result["development"]
        machine = result["machine"]
        vectors = f" ({machine['vectors']})" if "vectors" in machine else ""
        lines.append(f"| {name} | {result['steps']} | {duration(result['seconds'])} | "
                     f"{machine['cores']} x {machine['processor']}{vectors} | "
                     f"{'' if look is None else format(look['score'], '.1f')} |")
    return "\n".join(lines) + "\n" if len(lines) > 2 else ""


def seeds_table(row, results, directions):
    """R@1 of all, each way, by seed, "-" where one has no such method; and of each claim with how many
    of them it holds.  Nothing where a measure has no whole."""
    whole = [{method_name(method): method for method in result["parts"].get("all", [])}
             for result in results]
    lines = []
    for name in dict.fromkeys(name for methods in whole for name in methods):
        cells = [", ".join(f"{methods[name][direction]['r_at_1'][0]:.1f}" if name in methods else "-"
                           for methods in whole) for direction in directions]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    for claim in row.get("claims", []):
        cells = []
        for direction in directions:
            found = [method[direction]["minus"].get(claim["than"])
                     for result in results for method in result["parts"].get(claim["part"], [])
                     if method_name(method) == claim["of"]]
            holds = [outcome(claim["is"], minus) for minus in found if minus is not None]
            cells.append(f"holds with {holds.count('holds')} of {len(holds)}" if holds else "")
        if any(cells):
            lines.append(f"| {claim['says']} ({claim['part']}) | " + " | ".join(cells) + " |")
    if not lines:
        return ""
    columns = ["R@1 by seed"] + [ARROWS[direction] for direction in directions]
    return "\n".join(["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns), *lines]) + "\n"


def of_others(rows, result):
    """Networks that were measured where a row's result is of another of its name."""
    return [name for name, network in result["networks"].items()
            if rows.result(name) is not None and rows.result(name)["network"] != network]


def tables(rows):
    """Markdown of all results that there are, of the first seed; of others what they have in common."""
    rows.seed = 1
    text, paper, seeds = network_table(rows), None, rows.seeds()
    for name, row in rows.measures.items():
        result = rows.result(name)
        if result is None:
            continue
        if row.get("paper") not in (None, paper):
            paper = row["paper"]
            text += f"\n### {paper}\n"
        folds = f", in {result['folds']} folds" if "folds" in result else ""
        text += f"\n**{name}**, {result['pool']}{folds}\n"
        others = of_others(rows, result)
        if others:
            text += f"\nMeasured of another network than the results of: {', '.join(others)}\n"
        # Distractors have no captions that could be found in the place of a picture's.
        directions = DIRECTIONS[:1] if row.get("distractors") else DIRECTIONS
        if row.get("distractors"):
            text += "\nWords for a picture are found as without distractors, which have none.\n"
        claims = claim_table(row.get("claims", []), result["parts"], directions)
        text += "\n" + claims if claims else ""
        for part, methods in result["parts"].items():
            # What one of two takes is a share of a batch, which says nothing of a search.
            timed = not row.get("siblings", False)
            text += "\n" + part_table(part, methods, directions, timed)
        results = [found for found in (rows.result(name, seed) for seed in seeds) if found]
        by_seed = seeds_table(row, results, directions) if len(results) > 1 else ""
        text += "\n" + by_seed if by_seed else ""
    if not text:
        return "there are no results yet\n"
    return ("Of one seed: intervals of 95 % are over families of pictures, not over runs. Networks of "
            "fewer than 30 000 pictures or 1 500 steps are indicative. \"=\": the "
            f"difference lies within {EQUAL} points; else \">\" and \"<\": it is above or below 0; "
            "without a sign: nobody knows. A claim is open where its interval says neither. "
            f"{COMPUTED}: a stage was timed with another number of pairs.\n\n" +
            text)
