// A shop made with EverShop, as its documentation sets one up, on a PostgreSQL server of its own, with sample goods.
//
//     shop.mjs DIRECTORY PORT
//
// The database is in the directory, and is made where there is none. The shop says where it listens once it does. Its processes
// end with this one, however it ends.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const directory = resolve(process.argv[2]);
const port = Number(process.argv[3]);
const database = join(directory, 'database');
mkdirSync(directory, { recursive: true });

const environment = {
  ...process.env,
  PORT: String(port),
  DB_HOST: directory, DB_PORT: '5432', DB_USER: 'evershop', DB_NAME: 'evershop', DB_PASSWORD: 'none', DB_SSLMODE: 'disable',
  JWT_ADMIN_SECRET: 'of-the-test-shop', JWT_ADMIN_REFRESH_SECRET: 'of-the-test-shop-again',
  JWT_CUSTOMER_SECRET: 'of-customers', JWT_CUSTOMER_REFRESH_SECRET: 'of-customers-again',
};

// Debian keeps the programs of the server out of the way.
const program = (name) =>
  [...(process.env.PATH ?? '').split(':'), ...['17', '16', '15', '14'].map((version) => `/usr/lib/postgresql/${version}/bin`)]
    .map((folder) => join(folder, name))
    .find(existsSync) ?? fail(`PostgreSQL is not installed: ${name}`);

function fail(why) {
  console.error(why);
  process.exit(1);
}

// PostgreSQL refuses to run as root.
const owner = process.getuid() === 0
  ? ['postgres', 'nobody']
    .map((name) => readFileSync('/etc/passwd', 'utf8').split('\n').find((line) => line.startsWith(`${name}:`))?.split(':'))
    .find(Boolean).slice(2, 4).map(Number)
  : null;
const asOwner = (command) =>
  owner ? ['setpriv', `--reuid=${owner[0]}`, `--regid=${owner[1]}`, '--clear-groups', ...command] : command;
const run = ([name, ...rest], options) => execFileSync(name, rest, { stdio: ['ignore', 'ignore', 'inherit'], ...options });

// A process group of its own, which a watcher kills when this process is no more.
const LEASH = 'exec 3<&0 </dev/null; ({ read -r over <&3; kill -KILL -$$; } >/dev/null 2>&1 &); exec 3<&- "$@"';
function leashed(command, options) {
  return spawn('sh', ['-c', LEASH, 'sh', ...command], { detached: true, stdio: ['pipe', 2, 2], ...options });
}

async function until(what, holds, seconds = 120) {
  for (let left = seconds * 5; !(await holds()); left -= 1) {
    if (left === 0) fail(`not within ${seconds} s: ${what}`);
    await new Promise((wait) => setTimeout(wait, 200));
  }
}

const psql = (sql) => run([program('psql'), '-q', '-v', 'ON_ERROR_STOP=1', '-h', directory, '-U', 'evershop', '-d', 'postgres', '-c', sql]);
const answers = () => {
  try {
    run([program('pg_isready'), '-q', '-h', directory, '-U', 'evershop'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

// Written last: an interrupted start is repeated.
const made = existsSync(join(directory, 'made'));
if (!made) rmSync(database, { recursive: true, force: true });
if (owner) {
  mkdirSync(database, { recursive: true, mode: 0o700 });
  run(['chown', '-R', owner.join(':'), directory]);
}
if (!made) run(asOwner([program('initdb'), '--no-sync', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-U', 'evershop', '-D', database]));
run(['chmod', '0700', database]);
let server;
// Processes of a server that was killed may still be about to end.
await until('PostgreSQL starts', async () => {
  server ??= leashed(asOwner([program('postgres'), '-D', database, '-k', directory, '-c', 'listen_addresses=', '-c', 'fsync=off',
    '-c', 'max_connections=200']), { cwd: '/' }).on('exit', () => (server = undefined));
  return answers();
});
if (!made) psql('CREATE DATABASE evershop');

const evershop = (...words) => [process.execPath, join(here, 'node_modules/@evershop/evershop/dist/bin', words[0]), ...words.slice(1)];
const shop = leashed(evershop('start/index.js'), { cwd: here, env: environment });
const end = () => {
  for (const each of [shop, server]) {
    try {
      process.kill(-each.pid, each === server ? 'SIGINT' : 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
  if (server) server.on('exit', () => process.exit(0));
  else process.exit(0);
};
process.on('SIGTERM', end).on('SIGINT', end);
shop.on('exit', (code) => { console.error(`EverShop ended: ${code}`); end(); });

const origin = `http://127.0.0.1:${port}`;
const graphql = async () => {
  try {
    const answer = await fetch(`${origin}/api/graphql`, {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"query":"{ products { total } }"}',
    });
    return answer.ok;
  } catch {
    return false;
  }
};
await until('EverShop answers', graphql);

// What there is in the shop, entered as its staff does.

// Title, price, number in stock.
const goods = [
  ['Cotton socks', '7.50', 100000], ['Cotton mug cosy', '12.00', 100000], ['Cotton robe', '89.00', 0],
  ['Cotton towel', '19.90', 40], ['Cotton scarf', '24.95', 40], ['Cotton apron', '31.00', 40],
  ['Cotton bag', '4.99', 40], ['Cotton sheet', '45.50', 40], ['Cotton cushion', '29.00', 40],
  ['Cotton blanket', '119.00', 40], ['Cotton napkin', '3.25', 40], ['Linen tablecloth', '59.00', 40],
];
// What there is of the shirt, and how many; other combinations do not exist.
const shirt = [['S', 'Red', 50], ['M', 'Red', 0], ['L', 'Red', 50], ['S', 'Blue', 50], ['M', 'Blue', 50]];

// What the staff's part of the API takes: signed with JWT_ADMIN_SECRET, and good for long.
const token = readFileSync(join(here, 'staff-token'), 'utf8');

async function post(path, body) {
  const answer = await fetch(`${origin}/api${path}`, {
    method: 'POST', body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
  });
  const text = await answer.text();
  if (!answer.ok) fail(`${path}: ${answer.status} ${text}`);
  return JSON.parse(text).data;
}

async function sample() {
  await post('/settings', { codPaymentStatus: 1, storeCurrency: 'USD', catalogShowOutOfStockProduct: 1 });
  const box = await post('/packages', { name: 'Box', length: 30, width: 20, height: 10 });
  const group = await post('/attributeGroups', { group_name: 'Goods' });
  const groupId = group.attribute_group_id;
  const options = {};
  for (const [name, values] of [['Size', ['S', 'M', 'L']], ['Colour', ['Red', 'Blue']]]) {
    await post('/attributes', {
      attribute_name: name, attribute_code: `shirt_${name.toLowerCase()}`, type: 'select', is_required: 0, display_on_frontend: 1,
      is_filterable: 0, groups: [groupId], options: values.map((option_text) => ({ option_text })),
    });
  }
  const query = '{ attributes { items { attributeName options { optionText attributeOptionId } } } }';
  for (const attribute of (await post('/admin/graphql', { query })).attributes.items) {
    options[attribute.attributeName] = Object.fromEntries((attribute.options ?? []).map((each) => [each.optionText, each.attributeOptionId]));
  }
  const product = (name, sku, price, qty, more) => post('/products', {
    name, sku, price, qty, url_key: sku.toLowerCase(), status: 1, visibility: 1, manage_stock: 1, stock_availability: 1, weight: 0.2,
    group_id: groupId, package_id: box.package_id,
    description: [{ id: 'r1', size: 1, columns: [{ id: 'c1', size: 1, data: { blocks: [
      { id: 'b1', type: 'paragraph', data: { text: `${name} of good quality.` } }] } }] }],
    ...more,
  });
  for (const [at, [name, price, stock]] of goods.entries()) await product(name, `UP${at + 1}`, price, stock);
  const variants = await post('/variantGroups', { attribute_codes: ['shirt_size', 'shirt_colour'], attribute_group_id: groupId });
  for (const [at, [size, colour, stock]] of shirt.entries()) {
    const made = await product('Cotton shirt', `SHIRT-${at + 1}`, size === 'L' ? '27.50' : '25.00', stock, {
      attributes: [
        { attribute_code: 'shirt_size', value: String(options.Size[size]) },
        { attribute_code: 'shirt_colour', value: String(options.Colour[colour]) },
      ],
    });
    await post(`/variantGroups/${variants.uuid}/items`, { product_id: made.uuid });
  }
  const zone = await post('/shippingZones', { name: 'World', countries: ['US', 'AT'] });
  for (const [name, cost] of [['Standard', '4.90'], ['Express', '14.90']]) {
    const method = await post('/shippingProviders/core/methods', { name });
    await post('/shippingProviders/core/rates', { method_id: method.uuid, zone_id: zone.uuid, is_enabled: true, cost });
  }
  await post('/coupons', { coupon: 'WELCOME10', description: 'Welcome', status: 1, discount_amount: '10', discount_type: 'percentage_discount_to_entire_order',
    condition: {}, user_condition: {}, target_products: {},
  });
}

if (!made) {
  await sample();
  writeFileSync(join(directory, 'made'), '');
}
console.log(`${origin}/`);
