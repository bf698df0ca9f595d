// What was asked of the upstream, so that tests can count calls and see what came along. Tokens are named by their kind.

const noted = [
  'accept',
  'accept-encoding',
  'content-type',
  'idempotency-key',
  'request-id',
  'shopify-storefront-buyer-ip',
  'signature-agent',
  'signature-input',
  'traceparent',
  'user-agent',
  'x-forwarded-for',
  'x-sdk-variant',
  'x-sdk-version',
];

export class Journal {
  #requests = [];
  #strays = [];

  begin({ headers }, { operation, type, fields, variables, version, token }) {
    const entry = {
      number: this.#requests.length + 1,
      operation,
      type,
      fields,
      variables,
      version: version ?? null,
      token,
      buyerIp: headers['shopify-storefront-buyer-ip'] ?? null,
      headers: Object.fromEntries(noted.filter((name) => headers[name] !== undefined).map((name) => [name, headers[name]])),
      headerNames: Object.keys(headers),
      fault: null,
      // Unknown until the answer is over; `complete` is whether all of it was sent.
      status: null,
      complete: false,
    };
    this.#requests.push(entry);
    return entry;
  }

  stray({ method, url }) {
    this.#strays.push({ method, url });
  }

  report() {
    const counts = {};
    for (const { operation } of this.#requests) counts[operation] = (counts[operation] ?? 0) + 1;
    return { total: this.#requests.length, counts, requests: this.#requests, strays: this.#strays };
  }
}
