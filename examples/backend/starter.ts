// A shop behind the backend contract: Node and nothing else. Replace the goods, carts and orders by those of your shop.
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

type Variant = { id: string; sku?: string; price: { amount: number }; availability?: { available: boolean } };
type Product = { id: string; handle?: string; title: string; description: { plain: string }; variants: Variant[] };
type Wanted = { variant: string; quantity: number };
type Statement = {
  cart?: string; key?: string; reference?: string; lines: Wanted[]; codes: string[];
  address?: { address_country?: string }; delivery_option?: string;
};
type Placing = {
  reference: string; cart: string; total: number; lines: Wanted[];
  payment?: { handler: string; credential?: { token?: string } };
};

const products: Product[] = readFileSync(new URL("products.jsonl", import.meta.url), "utf8")
  .split("\n").filter(Boolean).map((line) => JSON.parse(line)).sort((one, other) => (one.id < other.id ? -1 : 1));
const variants = new Map(products.flatMap((product) => product.variants.map((variant) => [variant.id, variant])));
const carts = new Map<string, Statement>();
const attempts = new Map<string, object>(); // of `/place`, by reference

const SECRET = process.env.BACKEND_SECRET;
const HANDLER = { name: "com.example.starter_pay", id: "starter_pay", version: "2026-01-01", instruments: ["card"] };
const DELIVERED_TO = ["US", "CA", "DE", "GB"];
const OPTIONS = [
  { id: "standard", title: "Standard", amount: 500, min_days: 3, max_days: 5 },
  { id: "express", title: "Express", amount: 1500, min_days: 1, max_days: 2 },
];

function backend() {
  return {
    contract: "1",
    market: { name: "Starter Shop", currency: "USD", language: "en" },
    catalog: { most_ids: 50 },
    cart: { completion: "place", codes: true, delivery: true, keys: true },
    payment_handlers: [HANDLER],
  };
}

const text = ({ title, description }: Product) => `${title} ${description.plain}`.toLowerCase();

function find({ words, limit, after }: { words?: string; limit: number; after?: string }) {
  const wanted = (words ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const matches = products.filter((product) => wanted.every((word) => text(product).includes(word)));
  if (after !== undefined && !products.some(({ id }) => id === after)) return undefined;
  const rest = matches.filter(({ id }) => after === undefined || id > after);
  const page = rest.slice(0, limit);
  return { products: page, next: rest.length > limit ? page[page.length - 1].id : null, total: matches.length };
}

function resolve({ ids }: { ids: string[] }) {
  const named = (id: string) => (product: Product) => product.id === id || product.handle === id
    || product.variants.some((variant) => variant.id === id || variant.sku === id);
  return { products: products.filter((product) => ids.some((id) => named(id)(product))) };
}

/** What a cart costs: the one place where this shop has prices, discounts and deliveries. */
function priced(cart: string, stated: Statement) {
  const lines = stated.lines.map(({ variant, quantity }) => {
    const known = variants.get(variant);
    const available = known !== undefined && known.availability?.available !== false;
    return { variant, quantity: available ? quantity : 0, price: known?.price.amount ?? 0 };
  });
  const goods = lines.reduce((sum, { quantity, price }) => sum + quantity * price, 0);
  const off = stated.codes.includes("WELCOME10") ? Math.floor(goods / 10) : 0;
  const discounts = off > 0 ? [{ code: "WELCOME10", title: "10% off", amount: off }] : [];
  const reached = DELIVERED_TO.includes(stated.address?.address_country ?? "");
  const options = reached ? OPTIONS : [];
  const chosen = options.find(({ id }) => id === stated.delivery_option) ?? options[0];
  return {
    cart, currency: "USD", lines, discounts,
    delivery_options: options, delivery_option: chosen?.id ?? null,
    total: goods - off + (chosen?.amount ?? 0),
  };
}

function sync(stated: Statement) {
  const cart = stated.cart ?? `starter-cart-${stated.key ?? randomUUID()}`;
  if (stated.cart !== undefined && !carts.has(cart)) return undefined;
  carts.set(cart, stated);
  return priced(cart, stated);
}

/** Places an order once for each reference, whatever is sent again and however late. */
function place({ reference, cart, total, payment }: Placing) {
  const before = attempts.get(reference);
  if (before !== undefined) return before;
  const stated = carts.get(cart);
  const decided = () => {
    if (stated === undefined || priced(cart, stated).total !== total) {
      return { status: "declined", reason: "The cart has changed." };
    }
    // Here the shop takes the payment; `credential` is what the buyer's platform sent.
    if (payment !== undefined && payment.credential?.token !== "success_token") {
      return { status: "declined", reason: "The card was declined." };
    }
    carts.delete(cart);
    const id = `${1000 + attempts.size}`;
    return { status: "placed", order: { id, label: `#${id}`, url: `https://shop.example.com/orders/${id}` } };
  };
  const outcome = decided();
  attempts.set(reference, outcome);
  return outcome;
}

function cancel({ reference }: { reference: string }) {
  const before = attempts.get(reference);
  if (before === undefined) attempts.set(reference, { status: "declined", reason: "The purchase was given up." });
  return before ?? { status: "absent" };
}

const questions: Record<string, (question: any) => object | null | undefined> = {
  "GET /backend": backend,
  "POST /find": find,
  "POST /resolve": resolve,
  "POST /open": resolve,
  "POST /cart/sync": sync,
  "POST /cart/fetch": (stated: Statement) => {
    const kept = carts.get(stated.cart ?? "");
    return kept && priced(stated.cart ?? "", kept);
  },
  "POST /cart/abandon": ({ cart }) => (carts.delete(cart), null),
  "POST /place": place,
  "POST /order": ({ reference }) => attempts.get(reference) ?? { status: "absent" },
  "POST /cancel": cancel,
};

/** Checks the gateway's signature: the HMAC of time, method, path and body. */
function isGateway(headers: Record<string, unknown>, method: string, path: string, body: string) {
  if (SECRET === undefined) return true;
  const time = String(headers["x-signature-timestamp"]);
  const expected = `sha256=${createHmac("sha256", SECRET).update([time, method, path, body].join("\n")).digest("hex")}`;
  const stated = Buffer.from(String(headers["x-signature"]));
  return Math.abs(Date.now() / 1000 - Number(time)) < 300
    && stated.length === expected.length && timingSafeEqual(stated, Buffer.from(expected));
}

const server = createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray()).toString("utf8");
  const { method = "", url = "", headers } = request;
  const answer = (status: number, document: unknown) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(document));
  if (!isGateway(headers, method, url, body)) return answer(401, { error: "the signature is not right" });
  const ask = questions[`${method} ${url}`];
  const found = ask?.(body === "" ? {} : JSON.parse(body));
  return found === undefined ? answer(404, { error: "there is no such thing" }) : answer(200, found);
});
server.listen(Number(process.env.PORT ?? 4000), "127.0.0.1");
