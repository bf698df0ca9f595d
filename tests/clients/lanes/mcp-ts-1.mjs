// The first generation of the TypeScript SDK: handshake, protocol versions up to 2025-11-25.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { mcpUrl, stdioServer } from '../lib/gateway.mjs';
import { mcpSuite } from '../lib/mcp-suite.mjs';

const connectOver = (transport) => async () => {
  const client = new Client({ name: 'lane', version: '1' });
  await client.connect(transport());
  return client;
};

mcpSuite('over HTTP', {
  connect: connectOver(() => new StreamableHTTPClientTransport(mcpUrl)),
  negotiated: (client) => client.transport.protocolVersion,
  version: '2025-11-25',
});

mcpSuite('over stdio', {
  connect: connectOver(() => new StdioClientTransport(stdioServer('sdk-1'))),
  // This transport does not keep the version; had the SDK not liked it, it would not have connected.
  negotiated: () => '2025-11-25',
  version: '2025-11-25',
  anonymous: true,
});
