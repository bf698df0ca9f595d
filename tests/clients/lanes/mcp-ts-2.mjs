// The second generation of the TypeScript SDK in each way it can start: with the handshake, asking the server which era
// it is of, and pinned to the stateless 2026-07-28.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { mcpUrl, stdioServer } from '../lib/gateway.mjs';
import { mcpSuite } from '../lib/mcp-suite.mjs';

const negotiated = (client) => client.getNegotiatedProtocolVersion();
const modes = [
  { name: 'legacy', mode: 'legacy', version: '2025-11-25' },
  { name: 'auto', mode: 'auto', version: '2026-07-28' },
  { name: 'pinned', mode: { pin: '2026-07-28' }, version: '2026-07-28' },
];
const transports = [
  ['HTTP', () => new StreamableHTTPClientTransport(mcpUrl)],
  ['stdio', (name) => new StdioClientTransport(stdioServer(`sdk-2-${name}`))],
];

for (const [transportName, transport] of transports) {
  for (const { name, mode, version } of modes) {
    mcpSuite(`${name} over ${transportName}`, {
      async connect() {
        const client = new Client({ name: 'lane', version: '1' }, { versionNegotiation: { mode } });
        await client.connect(transport(name));
        return client;
      },
      negotiated,
      version,
      // 2026-07-28 removed it: a connection that carries no session has nothing to keep alive.
      hasPing: version !== '2026-07-28',
      anonymous: transportName === 'stdio',
    });
  }
}
