// The first generation of the TypeScript SDK: handshake, protocol versions up to 2025-11-25.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { mcpUrl, stdioServer } from '../lib/gateway.mjs';
import { leafSuites, mcpSuite, profileSuite } from '../lib/mcp-suite.mjs';

async function connectOver(transport) {
  const client = new Client({ name: 'lane', version: '1' });
  await client.connect(transport);
  return client;
}

const connectTo = (url) => connectOver(new StreamableHTTPClientTransport(url));

mcpSuite('over HTTP', {
  connect: () => connectTo(mcpUrl),
  negotiated: (client) => client.transport.protocolVersion,
  version: '2025-11-25',
});

leafSuites('over HTTP', connectTo);
profileSuite('over HTTP', connectTo);

mcpSuite('over stdio', {
  connect: () => connectOver(new StdioClientTransport(stdioServer('sdk-1'))),
  // This transport does not keep the version; had the SDK not liked it, it would not have connected.
  negotiated: () => '2025-11-25',
  version: '2025-11-25',
  anonymous: true,
});
