"""What claims.py keeps of the evaluator's tables, and prints of what it has kept."""

KEPT = ["r_at_1", "r_at_5", "r_at_10", "r_at_20", "mrr"]
DIRECTIONS = ["text_to_image", "image_to_text"]


def interval(numbers):
    """Percent, to a hundredth: value, low, high."""
    return [round(100 * numbers[key], 2) for key in ("value", "low", "high")]


def shortened(tables):
    """Of the JSON of `evaluator tables` what a result keeps: a list of methods."""
    methods = []
    for method in tables["tables"][0]["methods"]:
        kept = {key: method[key] for key in ("policy", "depth", "combination", "lambda")
                if key in method}
        for direction in DIRECTIONS:
            own = method[direction]
            kept[direction] = {"queries": own["query_count"]}
            for measure in KEPT:
                kept[direction][measure] = interval(own[measure])
                if "minus_first" in own[measure]:
                    kept[direction][measure].append(interval(own[measure]["minus_first"]))
        methods.append(kept)
    return methods


def method_name(method):
    """As evaluator prints it: `be:ce 20 add_lambda:0.5`."""
    name = method["policy"]
    if method["depth"] > 0:
        name += f" {method['depth']} {method['combination']}"
        if "lambda" in method:
            name += f":{method['lambda']}"
    return name


def with_interval(numbers):
    return f"{numbers[0]:.1f} [{numbers[1]:.1f}, {numbers[2]:.1f}]"


def gain(numbers):
    """Against the first method, where there is one to compare with."""
    if len(numbers) < 4:
        return ""
    value, low, high = numbers[3]
    return f"{value:+.1f} [{low:+.1f}, {high:+.1f}]"


def part_table(part, methods):
    """R@1 both ways with intervals, R@20 of texts, and the difference to the first method."""
    lines = [f"| {part} | T→I R@1 | minus first | R@20 | I→T R@1 | minus first |",
             "|---|---|---|---|---|---|"]
    for method in methods:
        text, image = (method[direction]["r_at_1"] for direction in DIRECTIONS)
        twenty = method["text_to_image"]["r_at_20"][0]
        lines.append(f"| {method_name(method)} | {with_interval(text)} | {gain(text)} | "
                     f"{twenty:.1f} | {with_interval(image)} | {gain(image)} |")
    return "\n".join(lines) + "\n"


def hours(seconds):
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.0f} min"


def network_table(rows):
    lines = ["| network | steps | took | on | development AR |", "|---|---|---|---|---|"]
    for name in rows.networks:
        result = rows.result(name)
        if result is None:
            continue
        look = result["development"]
        lines.append(f"| {name} | {result['steps']} | {hours(result['seconds'])} | "
                     f"{result['machine']['cores']} x {result['machine']['processor']} | "
                     f"{'' if look is None else format(look['score'], '.1f')} |")
    return "\n".join(lines) + "\n" if len(lines) > 2 else ""


def tables(rows):
    """Markdown of all results that there are."""
    text = network_table(rows)
    for name in rows.measures:
        result = rows.result(name)
        if result is None:
            continue
        text += f"\n**{name}**, {result['pool']}\n"
        for part, methods in result["parts"].items():
            text += "\n" + part_table(part, methods)
    return text if text else "there are no results yet\n"
