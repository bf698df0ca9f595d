// Where platforms have their profiles: a server on this machine that counts who fetches what.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

export const storefront = 'https://business.example.com/';

/** How a gateway is configured that fetches profiles from this machine, and serves nobody whose profile it cannot have. */
export const fetching = `
[server]
storefront = "${storefront}"

[callers]
policy = "require"

[profiles]
loopback = true
# All platforms share one address here, and so one share of the fetches.
fetches = { per_second = 1000, burst = 1000 }
`;

export async function startHost() {
  const pages = new Map();
  const visits = new Map();
  const server = createServer(async (request, response) => {
    visits.set(request.url, (visits.get(request.url) ?? 0) + 1);
    const { status = 200, type = 'application/json', headers, delay = 0, body = '' } = pages.get(request.url) ?? { status: 404 };
    await sleep(delay);
    // Longer than any lane runs: what is fetched twice is fetched twice for another reason.
    response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'max-age=3600', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${server.address().port}`;
  return {
    origin,
    /** Puts a page at `path` and gives its URL. */
    put(path, page) {
      pages.set(path, page);
      return origin + path;
    },
    visits: (path) => visits.get(path) ?? 0,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The profile of a platform of a release, as that release writes it, with all that the catalog needs. */
export function platformProfile(version) {
  const names = ['search', 'lookup'].map((name) => `dev.ucp.shopping.catalog.${name}`);
  const capabilities =
    version === '2026-01-11'
      ? names.map((name) => ({ name, version }))
      : Object.fromEntries(names.map((name) => [name, [{ version }]]));
  return { ucp: { version, capabilities } };
}
