"""Prints nDCG@10 by category of the gateway and of the engines, and fails below an aim: table.py WORK."""
import json, math, os, statistics, sys

# What the gateway is held to: nDCG@10 of all queries, the mean of the categories, and queries without a result, in percent.
AIMS = {"gateway": (0.74, 0.73, 1.5), "gateway with vectors": (0.81, 0.80, 0.0)}
LEXICAL = ["bm25s", "minisearch", "postgresql"]
# How far a category may be below the best engine.
MARGIN = 0.03


def ndcg(ids, grades):
    gained = sum((2 ** grades.get(id, 0) - 1) / math.log2(place + 2) for place, id in enumerate(ids[:10]))
    best = sum((2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(sorted(grades.values(), reverse=True)[:10]))
    return gained / best if best else 0.0


def read(path):
    with open(path) as file:
        return json.load(file)


def main(work):
    graded = read(f"{os.environ['RELEVANCE']}/graded_open.json")
    systems = {name: read(f"{work}/{name}.json") for name in LEXICAL}
    for name, file in (("gateway", "gateway.json"), ("gateway with vectors", "vectors.json")):
        if os.path.exists(f"{work}/{file}"):
            systems[name] = {answer["id"]: answer for answer in read(f"{work}/{file}")}
    categories = sorted({query["category"] for query in graded})
    of = lambda name, category: [ndcg(systems[name][q["id"]]["ids"], q["grades"]) for q in graded if category in (None, q["category"])]
    means = {name: {category: statistics.mean(of(name, category)) for category in [*categories, None]} for name in systems}

    line = lambda first, cells: print(f"{first:26}" + "".join(f"{cell:>21}" for cell in cells))
    line("nDCG@10", systems)
    for category in categories:
        count = sum(query["category"] == category for query in graded)
        line(f"{category} ({count})", [f"{means[name][category]:.3f}" for name in systems])
    of_categories = {name: statistics.mean(means[name][category] for category in categories) for name in systems}
    none = {name: 100 * statistics.mean(not answer["ids"] for answer in systems[name].values()) for name in systems}
    times = {name: sorted(answer["ms"] for answer in systems[name].values()) for name in systems}
    line(f"all ({len(graded)})", [f"{means[name][None]:.3f}" for name in systems])
    line("mean of the categories", [f"{of_categories[name]:.3f}" for name in systems])
    line("without a result, %", [f"{none[name]:.1f}" for name in systems])
    line("p50, ms", [f"{statistics.median(times[name]):.2f}" for name in systems])
    line("p99, ms", [f"{times[name][math.ceil(0.99 * len(times[name])) - 1]:.2f}" for name in systems])

    failed = []
    for name, (all_queries, mean, most_none) in AIMS.items():
        if name not in systems:
            continue
        for what, is_met in (
            (f"nDCG@10 of all queries {means[name][None]:.3f}, aim {all_queries}", means[name][None] >= all_queries),
            (f"mean of the categories {of_categories[name]:.3f}, aim {mean}", of_categories[name] >= mean),
            (f"without a result {none[name]:.1f} %, aim {most_none} %", none[name] <= most_none),
        ):
            if not is_met:
                failed.append(f"{name}: {what}")
        for category in categories:
            best = max(LEXICAL, key=lambda engine: means[engine][category])
            if means[name][category] < means[best][category] - MARGIN:
                failed.append(f"{name}: {category} {means[name][category]:.3f}, {best} has {means[best][category]:.3f}")
    for reason in failed:
        print(f"FAILED {reason}")
    sys.exit(1 if failed else 0)


main(*sys.argv[1:])
