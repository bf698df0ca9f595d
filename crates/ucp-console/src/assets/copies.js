// A call as a text that makes it again.

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** Header fields, with another text in place of an API key. */
export const secretly = (headers, secret) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, name.toLowerCase() === 'authorization' ? `Bearer ${secret}` : value]));

function curl({ method, url, headers, text }) {
  const lines = [`curl -s -X ${method} ${quoted(url)}`];
  for (const [name, value] of Object.entries(headers)) {
    // A shell that knows the key puts it in.
    lines.push(name.toLowerCase() === 'authorization' ? '-H "Authorization: Bearer $UCP_API_KEY"' : `-H ${quoted(`${name}: ${value}`)}`);
  }
  if (text) lines.push(`-d ${quoted(text)}`);
  return lines.join(' \\\n  ');
}

/** The operation as a command of ucp-cli. */
function command({ name, id, body, business }) {
  const group = name.endsWith('catalog') || name === 'get_product' ? 'catalog' : name.split('_').at(-1);
  const verb = name === 'get_product' ? name : name.split('_')[0];
  const input = { ...body };
  const subject = id ?? (name === 'get_product' ? input.id : undefined);
  if (name === 'get_product') delete input.id;
  const words = ['npx @shopify/ucp-cli', group, verb, ...(subject ? [subject] : []), `\\\n  --business ${business}`];
  return [...words, ...(body ? [`--input ${quoted(JSON.stringify(input))}`] : [])].join(' ');
}

const indented = (value) => JSON.stringify(value, null, 2).replaceAll('\n', '\n  ');

function typescript({ method, url, headers, text, body }) {
  const head = JSON.stringify({ method, headers: secretly(headers, 'YOUR-KEY') }, null, 2).slice(0, -2);
  const content = text ? `,\n  "body": JSON.stringify(${indented(body)})` : '';
  return `const answer = await fetch(${JSON.stringify(url)}, ${head}${content}\n});\nconsole.log(await answer.json());`;
}

/** A value as Python writes it. */
function literal(value) {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (value && typeof value === 'object') {
    return `{${Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${literal(member)}`).join(', ')}}`;
  }
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return value === null ? 'None' : JSON.stringify(value);
}

function python({ method, url, headers, text, body, covered }) {
  const fields = JSON.stringify(secretly(headers, 'YOUR-KEY'), null, 4).replace(/\n}$/, '\n    }').replaceAll('\n    "', '\n        "');
  // What is signed are these bytes.
  const content = covered ? `,\n    content=${JSON.stringify(text)}.encode()` : `,\n    json=${literal(body)}`;
  return `import httpx\n\nanswer = httpx.request(\n    "${method}",\n    ${JSON.stringify(url)},\n    headers=${fields}${text ? content : ''},\n)\nprint(answer.json())`;
}

/** The forms that a call has, by their names. */
export function copies(entry) {
  const over = (name) => entry.sides.find((side) => side.name === name)?.request;
  const [rest, mcp] = [over('REST'), over('MCP')];
  const one = rest ?? mcp;
  return {
    ...(rest && { curl: () => curl(rest) }),
    ...(mcp && { 'curl, MCP': () => curl(mcp) }),
    'ucp-cli': () => command(entry),
    ...(one && { TypeScript: () => typescript(one), Python: () => python(one) }),
  };
}
