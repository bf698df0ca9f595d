// The HTTP server: the API's endpoint, and beside it what tests steer and ask it with.
import { createServer } from 'node:http';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Carts } from './cart.mjs';
import { answer, partsOf, read } from './execute.mjs';
import { answersInstead, Faults, spoil } from './fault.mjs';
import { Journal } from './journal.mjs';
import { versions } from './root.mjs';
import { filterNames } from './search.mjs';

/** What opens the shop. Nobody else's secrets, so that they can be written down. */
export const tokens = { public: 'public-token-of-the-test-shop', private: 'private-token-of-the-test-shop' };

const largestBody = 1_000_000;
/** Nothing is dragged out longer than this, so that no forgotten request keeps a test alive. */
const longestMs = 120_000;

/** What tests can change: each has a flag of server.mjs or a key of `POST /settings`. */
const defaults = {
  // The limit without a token is published; there is one with a token too.
  costLimit: 1_000,
  // Whether a private token without the buyer's address is turned away with 430.
  requireBuyerIp: false,
  // The filters that the merchant switched on.
  filters: filterNames,
  // Whether the total of a cart has the delivery in it as soon as it is known.
  totalIncludesDelivery: true,
};

/** Starts the upstream on a port, 0 for any free one. Gives its address and a function that stops it. */
export async function startUpstream({ port = 0, host = '127.0.0.1', settings = {} } = {}) {
  const branches = [];
  const upstream = new Upstream({ ...defaults, ...settings }, async (own) => {
    const branch = await startUpstream({ host, settings: { ...settings, ...own } });
    branches.push(branch);
    return branch.url;
  });
  const server = createServer((request, response) => {
    upstream.handle(request, response).catch((error) => {
      // Ours, not the shop's: loud, and never mistaken for a fault on demand.
      console.error(error);
      if (!response.headersSent) response.writeHead(599);
      response.end(String(error?.stack ?? error));
    });
  });
  // Idle connections are kept, as Shopify does; a test's end closes them.
  server.keepAliveTimeout = 60_000;
  server.listen(port, host);
  await once(server, 'listening');
  return {
    url: `http://${host}:${server.address().port}`,
    async stop() {
      await Promise.all(branches.map((branch) => branch.stop()));
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

class Upstream {
  #initial;
  #open;

  /** `open` starts one more upstream and gives its address. */
  constructor(settings, open) {
    this.#initial = settings;
    this.#open = open;
    this.reset();
  }

  reset() {
    this.settings = { ...this.#initial };
    this.carts = new Carts();
    this.faults = new Faults();
    this.journal = new Journal();
  }

  async handle(request, response) {
    const { pathname } = new URL(request.url, 'http://upstream');
    const [, version] = /^\/api(?:\/([^/]+))?\/graphql\.json$/.exec(pathname) ?? [];
    if (pathname.startsWith('/api/') && pathname.endsWith('/graphql.json')) return this.#graphql(request, response, version);
    const admin = this.#admin[`${request.method} ${pathname}`];
    if (admin) return admin(request, response);
    // Where nobody has any business: followed redirects show up here.
    this.journal.stray(request);
    return json(response, 404, { errors: 'Not Found' });
  }

  #admin = {
    'GET /': (_, response) => json(response, 200, { service: 'Storefront API test upstream', versions, carts: this.carts.size }),
    'GET /journal': (_, response) => json(response, 200, this.journal.report()),
    'DELETE /journal': (_, response) => {
      this.journal = new Journal();
      return json(response, 200, {});
    },
    'GET /faults': (_, response) => json(response, 200, this.faults.list()),
    'POST /faults': async (request, response) => {
      try {
        const body = JSON.parse(await bytes(request));
        return json(response, 201, { ids: [body].flat().map((fault) => this.faults.add(fault)) });
      } catch (error) {
        return json(response, 400, { error: error.message });
      }
    },
    'DELETE /faults': (_, response) => {
      this.faults.clear();
      return json(response, 200, {});
    },
    'GET /settings': (_, response) => json(response, 200, this.settings),
    'POST /settings': async (request, response) => {
      const wanted = await readSettings(request, response);
      if (!wanted) return undefined;
      Object.assign(this.settings, wanted);
      return json(response, 200, this.settings);
    },
    // A shop of its own on a port of its own, so that tests that run side by side do not see each other.
    'POST /shops': async (request, response) => {
      const wanted = await readSettings(request, response);
      return wanted && json(response, 201, { url: await this.#open(wanted) });
    },
    'POST /carts/expire': async (request, response) => {
      const { id } = JSON.parse((await bytes(request)) || '{}');
      return json(response, 200, { expired: this.carts.expire(id) });
    },
    'POST /reset': (_, response) => {
      this.reset();
      return json(response, 200, {});
    },
  };

  async #graphql(request, response, version) {
    const served = serve(version);
    if (request.method !== 'POST' || !served) return json(response, 404, { errors: 'Not Found' });
    const text = await bytes(request);
    if (text === undefined) return json(response, 413, { errors: 'Payload Too Large' });
    const parsed = parseBody(request, text);
    const asked = parsed && read(parsed);
    const fields = (asked?.operation?.selectionSet.selections ?? []).map(({ name }) => name?.value).filter(Boolean);
    const operation = asked?.operation?.name?.value ?? '';
    const token = tokenOf(request.headers);
    const entry = this.journal.begin(request, {
      operation,
      type: asked?.operation?.operation ?? null,
      fields,
      variables: parsed?.variables ?? null,
      version,
      token,
    });
    response.setHeader('X-Shopify-API-Version', served);
    response.setHeader('X-Request-Id', `${entry.number}`);
    response.on('close', () => {
      entry.status = response.headersSent ? response.statusCode : null;
      entry.complete = response.writableFinished;
    });

    const fault = this.#faultOf(request, operation, fields);
    entry.fault = fault?.kind ?? null;
    const wait = Math.min(fault?.delay ?? 0, longestMs);
    if (wait > 0) await sleep(wait);
    const misbehaves = fault && answersInstead(fault);
    if (misbehaves && !fault.after) return misbehave(request, response, fault);

    const refusal = this.#refuse(request, token);
    if (refusal) return refusal(response);
    if (!parsed) return json(response, 400, { errors: 'Bad Request' });
    const { body, cost, deferred = [] } = await answer(asked, parsed.variables, { token, carts: this.carts, settings: this.settings });
    Object.assign(entry, {
      cost: cost ?? null,
      errors: (body.errors ?? []).map(({ extensions }) => extensions?.code ?? null),
      context: body.extensions?.context ?? null,
    });
    if (misbehaves) return misbehave(request, response, fault);
    const told = fault ? spoil(body, fault) : body;
    if (deferred.length > 0 && request.headers.accept?.includes('multipart/mixed')) return sendParts(response, partsOf(told, deferred));
    return send(response, told, fault);
  }

  /** What the header of a request asks for, or else what waits for it. */
  #faultOf({ headers }, operation, fields) {
    if (headers['x-test-fault']) {
      const one = new Faults();
      one.add({
        kind: headers['x-test-fault'],
        delay: Number(headers['x-test-delay'] ?? 0),
        retryAfter: headers['x-test-retry-after'],
      });
      return one.take(operation, fields);
    }
    return this.faults.take(operation, fields);
  }

  #refuse({ headers }, token) {
    if (token === 'invalid')
      return (response) => json(response, 401, { errors: [{ message: '', extensions: { code: 'UNAUTHORIZED' } }] });
    if (token === 'private' && this.settings.requireBuyerIp && !headers['shopify-storefront-buyer-ip']) return security;
    return undefined;
  }
}

/** Settings from a body, or undefined once it was answered that there are no such settings. */
async function readSettings(request, response) {
  const body = JSON.parse((await bytes(request)) || '{}');
  const unknown = Object.keys(body).filter((key) => !(key in defaults));
  if (unknown.length === 0) return body;
  json(response, 400, { error: `there is no setting ${unknown.join(', ')}; there are ${Object.keys(defaults).join(', ')}` });
  return undefined;
}

/** The release that answers: an old one falls forward to the oldest that there is, one that never was is not found. */
function serve(version) {
  if (version === undefined) return versions[0];
  if (version === 'unstable' || version === '2027-01') return version;
  if (!/^\d{4}-(01|04|07|10)$/.test(version)) return undefined;
  if (versions.includes(version)) return version;
  return version < versions[0] ? versions[0] : undefined;
}

function tokenOf(headers) {
  const given = [
    ['public', headers['x-shopify-storefront-access-token']],
    ['private', headers['shopify-storefront-private-token']],
  ].filter(([, token]) => token !== undefined);
  if (given.length === 0) return 'none';
  return given.every(([kind, token]) => tokens[kind] === token) ? given.at(-1)[0] : 'invalid';
}

/** The text of a body, or undefined if it is too large. */
async function bytes(request) {
  const chunks = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length <= largestBody) chunks.push(chunk);
  }
  return length > largestBody ? undefined : Buffer.concat(chunks).toString('utf8');
}

/** `{query, variables, operationName}`, or undefined if the body is not that. */
function parseBody({ headers }, text) {
  if (headers['content-type']?.startsWith('application/graphql')) return { query: text };
  try {
    const body = JSON.parse(text);
    return typeof body?.query === 'string' ? body : undefined;
  } catch {
    return undefined;
  }
}

function json(response, status, body, headers = {}) {
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', ...headers });
  response.end(JSON.stringify(body));
}

const security = (response) => {
  response.writeHead(430, { 'Content-Type': 'text/plain' });
  response.end('Shopify Security Rejection');
};

const statusTexts = {
  401: 'Unauthorized',
  402: 'Unavailable Shop',
  403: 'Forbidden',
  404: 'Not Found',
  423: 'Locked',
  429: 'Too many requests',
};

/** What is answered instead. */
async function misbehave(request, response, { kind, retryAfter, megabytes = 32, location = '/password' }) {
  const retry = retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) };
  switch (kind) {
    case '430':
      return security(response);
    case 'throttled':
      return json(response, 200, { errors: [{ message: 'Throttled', extensions: { code: 'THROTTLED' } }] }, retry);
    case 'reset':
      return request.socket.resetAndDestroy();
    case 'empty':
      return response.writeHead(200, { 'Content-Type': 'application/json' }).end();
    case 'html':
      return response
        .writeHead(200, { 'Content-Type': 'text/html' })
        .end('<!doctype html><title>Opening soon</title><h1>Enter store using password</h1>');
    case 'redirect':
      return response.writeHead(301, { Location: location }).end();
    case 'hang':
      return hang(response);
    case 'huge':
      return huge(response, megabytes);
    default:
      return json(response, Number(kind), { errors: statusTexts[kind] ?? 'Internal Server Error' }, retry);
  }
}

/** No answer, until the client has enough. */
async function hang(response) {
  await Promise.race([once(response, 'close'), sleep(longestMs, undefined, { ref: false })]);
  response.destroy();
}

/** Proper JSON without an end in sight. */
async function huge(response, megabytes) {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.write('{"data":null,"padding":"');
  const chunk = 'x'.repeat(65_536);
  const closed = once(response, 'close');
  for (let sent = 0; sent < megabytes * 16 && !response.destroyed; sent += 1) {
    if (!response.write(chunk)) await Promise.race([once(response, 'drain'), closed]);
  }
  if (!response.destroyed) response.end('"}');
}

/** Parts as the draft on incremental delivery over HTTP has them. */
function sendParts(response, parts) {
  response.writeHead(200, { 'Content-Type': 'multipart/mixed; boundary="-"; deferSpec=20220824' });
  for (const part of parts)
    response.write(`\r\n---\r\nContent-Type: application/json; charset=utf-8\r\n\r\n${JSON.stringify(part)}`);
  response.end('\r\n-----\r\n');
}

async function send(response, body, fault) {
  const text = Buffer.from(JSON.stringify(body));
  const head = { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': text.length };
  if (fault?.kind === 'truncated') {
    response.writeHead(200, head);
    response.write(text.subarray(0, Math.floor(text.length / 2)), () => response.destroy());
    return;
  }
  response.writeHead(200, head);
  if (fault?.kind === 'slow') {
    // One byte a second, unless the fault says otherwise.
    const { interval = 1_000 } = fault;
    const closed = once(response, 'close');
    for (
      let index = 0, spent = 0;
      index < text.length && !response.destroyed && spent < longestMs;
      index += 1, spent += interval
    ) {
      response.write(text.subarray(index, index + 1));
      await Promise.race([sleep(interval), closed]);
    }
    response.destroy();
    return;
  }
  response.end(text);
}
