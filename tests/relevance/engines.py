"""Asks PyPI `bm25s` and PostgreSQL's full text the queries of the graded set: engines.py BINARY WORK. The products are what
the gateway BINARY answers, and are kept in WORK/products.json, the results in WORK/ENGINE.json."""
import collections, json, os, re, socket, subprocess, sys, time, unicodedata, urllib.request

import bm25s, psycopg, Stemmer

RELEVANCE = os.environ["RELEVANCE"]
# Catalog: language, currency, further languages; the sample shop is nobody's import.
CATALOGS = {"en": ("en", "USD", []), "outfitters": None, "de": ("de", "EUR", []), "fr": ("fr", "EUR", []), "cjk": ("ja", "USD", ["zh"])}
SNOWBALL = {"en": "english", "outfitters": "english", "de": "german", "fr": "french"}
HEADERS = {"content-type": "application/json", "UCP-Agent": 'profile="https://agent.example/profile"'}
BEGUN = time.monotonic()
LONGEST = 240


def search(url, body):
    request = urllib.request.Request(url + "/catalog/search", json.dumps(body).encode(), HEADERS)
    return json.load(urllib.request.urlopen(request, timeout=30))


def until(what, attempt):
    """The result of an attempt, which is repeated until it succeeds or the time is over."""
    while True:
        try:
            return attempt()
        except Exception as error:
            if time.monotonic() - BEGUN > LONGEST:
                sys.exit(f"{what}: {error}")
            time.sleep(0.05)


def text(product):
    variants = product.get("variants", [])
    description = product.get("description") or {}
    return {
        "id": product.get("handle") or product["id"].removeprefix("prod_"),
        "title": product["title"],
        "kinds": " ".join(category["value"] for category in product.get("categories", [])),
        "brand": " ".join(str((product.get("metadata") or {}).get(name, "")) for name in ("vendor", "brand")),
        "tags": " ".join(product.get("tags", [])),
        "options": " ".join([v["label"] for option in product.get("options", []) for v in option.get("values", [])]),
        "codes": " ".join([v.get("sku") or "" for v in variants] + [b["value"] for v in variants for b in v.get("barcodes", [])]),
        "description": description.get("plain") or description.get("markdown") or re.sub("<[^>]*>", " ", description.get("html", "")),
    }


def products(binary, work, catalog):
    """All products of a catalog, as a gateway tells them."""
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        port = any_port.getsockname()[1]
    data, url = f"{work}/data-{catalog}", f"http://127.0.0.1:{port}"
    if CATALOGS[catalog]:
        language, currency, more = CATALOGS[catalog]
        command = [binary, "import", "--data-dir", data, "--name", catalog, "--currency", currency, "--language", language]
        command += [f"--languages={','.join(more)}"] if more else []
        subprocess.run([*command, f"{RELEVANCE}/catalogs/{catalog}.csv"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    gateway = subprocess.Popen([binary, "serve", "--listen", f"127.0.0.1:{port}", "--data-dir", data, "--log-level", "error"], stdout=subprocess.DEVNULL)
    try:
        page = {"filters": {"price": {"min": 0}}, "pagination": {"limit": 100}}
        until("the gateway does not answer", lambda: search(url, {**page, "pagination": {"limit": 1}}))
        found = []
        while True:
            answer = search(url, page)
            found += [text(product) for product in answer["products"]]
            following = answer.get("pagination", {})
            if not following.get("has_next_page"):
                return found
            page["pagination"]["cursor"] = following["cursor"]
    finally:
        gateway.terminate()
        gateway.wait(20)


def is_unspaced(letter):
    return any(first <= letter <= last for first, last in (("\u3040", "\u30ff"), ("\u3400", "\u9fff"), ("\uac00", "\ud7a3")))


def words(text):
    """The words of a text; pairs of characters where words have no spaces between them."""
    for word in re.findall(r"\w+", unicodedata.normalize("NFKC", text).lower()):
        if any(map(is_unspaced, word)):
            yield from (word[at : at + 2] for at in range(max(1, len(word) - 1)))
        else:
            yield word


def ask_bm25s(catalog, documents, queries):
    stemmer = Stemmer.Stemmer(SNOWBALL[catalog]) if catalog in SNOWBALL else None
    def terms(text):
        return stemmer.stemWords(list(words(text))) if stemmer else list(words(text))
    index = bm25s.BM25()
    # A word of the title counts three times.
    corpus = [terms(" ".join([*[d["title"]] * 3, *[d[name] for name in d if name not in ("id", "title")]])) for d in documents]
    index.index(corpus, show_progress=False)
    for query in queries:
        begun = time.perf_counter()
        tokens = [term for term in terms(query["query"]) if term in index.vocab_dict]
        found = []
        if tokens:
            places, scores = index.retrieve([tokens], k=10, show_progress=False)
            found = [documents[place]["id"] for place, score in zip(places[0], scores[0]) if score > 0]
        yield query["id"], found, (time.perf_counter() - begun) * 1e3


def ask_postgresql(catalog, documents, queries, connection):
    config = SNOWBALL.get(catalog, "simple")
    connection.execute("DROP TABLE IF EXISTS products")
    connection.execute("CREATE TABLE products (place serial, id text, plain text, words tsvector)")
    weights = {"title": "A", "kinds": "B", "brand": "B", "codes": "B", "tags": "C", "options": "C", "description": "D"}
    vector = " || ".join(f"setweight(to_tsvector('{config}', %({name})s), '{weight}')" for name, weight in weights.items())
    for document in documents:
        row = {name: " ".join(words(text)) if name != "id" else text for name, text in document.items()}
        connection.execute(f"INSERT INTO products (id, plain, words) VALUES (%(id)s, %(title)s, {vector})", row)
    connection.execute("CREATE INDEX ON products USING gin (words)")
    connection.execute("ANALYZE products")
    by_words = "SELECT id FROM products, to_tsquery(%(config)s, %(query)s) AS q WHERE words @@ q ORDER BY ts_rank_cd(words, q, 1) DESC, place LIMIT 10"
    by_letters = "SELECT id FROM products WHERE word_similarity(%(query)s, plain) > .4 ORDER BY word_similarity(%(query)s, plain) DESC, place LIMIT 10"
    for query in queries:
        begun = time.perf_counter()
        terms = [f"'{word}'" for word in words(query["query"])]
        found = []
        for sql, asked in ((by_words, " & ".join(terms)), (by_words, " | ".join(terms)), (by_letters, query["query"])):
            if asked and len(found) < 10:
                rows = connection.execute(sql, {"config": config, "query": asked}).fetchall()
                found += [row[0] for row in rows if row[0] not in found]
        yield query["id"], found[:10], (time.perf_counter() - begun) * 1e3


def main(binary, work):
    with open(f"{RELEVANCE}/graded_open.json") as file:
        graded = json.load(file)
    catalogs = {catalog: products(binary, work, catalog) for catalog in CATALOGS}
    with open(f"{work}/products.json", "w") as file:
        json.dump(catalogs, file)
    connect = lambda: psycopg.connect(host=work, user="postgres", dbname="postgres", autocommit=True)
    connection = until("PostgreSQL does not answer", connect)
    connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    results = collections.defaultdict(dict)
    for catalog, documents in catalogs.items():
        queries = [query for query in graded if query["catalog"] == catalog]
        for name, answers in (("bm25s", ask_bm25s(catalog, documents, queries)), ("postgresql", ask_postgresql(catalog, documents, queries, connection))):
            results[name].update({query: {"ids": found, "ms": ms} for query, found, ms in answers})
    for name, result in results.items():
        with open(f"{work}/{name}.json", "w") as file:
            json.dump(result, file)


main(*sys.argv[1:])
