// The second generation of the TypeScript SDK in each way it can start: with the handshake, asking the server which era
// it is of, and pinned to the stateless 2026-07-28.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { mcpUrl, stdioServer } from '../lib/gateway.mjs';
import { leafSuites, mcpSuite, profileSuite } from '../lib/mcp-suite.mjs';

const modes = [
  { name: 'legacy', mode: 'legacy', version: '2025-11-25' },
  { name: 'auto', mode: 'auto', version: '2026-07-28' },
  { name: 'pinned', mode: { pin: '2026-07-28' }, version: '2026-07-28' },
];

for (const { name, mode, version } of modes) {
  const connectOver = async (transport) => {
    const client = new Client({ name: 'lane', version: '1' }, { versionNegotiation: { mode } });
    await client.connect(transport);
    return client;
  };
  const connectTo = (url) => connectOver(new StreamableHTTPClientTransport(url));
  const expected = {
    negotiated: (client) => client.getNegotiatedProtocolVersion(),
    version,
    // 2026-07-28 removed it: a connection that carries no session has nothing to keep alive.
    hasPing: version !== '2026-07-28',
  };

  mcpSuite(`${name} over HTTP`, { connect: () => connectTo(mcpUrl), ...expected });
  leafSuites(`${name} over HTTP`, connectTo);
  profileSuite(`${name} over HTTP`, connectTo);
  mcpSuite(`${name} over stdio`, {
    connect: () => connectOver(new StdioClientTransport(stdioServer(`sdk-2-${name}`))),
    anonymous: true,
    ...expected,
  });
}
