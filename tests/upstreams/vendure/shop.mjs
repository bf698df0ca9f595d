// A shop made with Vendure, as its documentation sets one up, with sample goods.
//
//     shop.mjs DIRECTORY PORT
//
// The database is in the directory, and is made where there is none. The shop says where it listens once it does.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

process.env.VENDURE_DISABLE_TELEMETRY = 'true';
const {
  bootstrap, DefaultLogger, DefaultSearchPlugin, JobQueueService, LanguageCode, LogLevel, PaymentMethodHandler,
  PromotionService, RequestContextService, SearchService,
} = await import('@vendure/core');
const { populate } = await import('@vendure/core/cli/index.js');

const directory = resolve(process.argv[2]);
const port = Number(process.argv[3]);
mkdirSync(directory, { recursive: true });
const database = join(directory, 'shop.sqlite3');

// The payment of the shop: it reads the token that the platform submitted.
const cards = new PaymentMethodHandler({
  code: 'cards',
  description: [{ languageCode: LanguageCode.en, value: 'Cards' }],
  args: {},
  createPayment: (ctx, order, amount, args, metadata) =>
    metadata.token === 'success_token'
      ? { amount, state: 'Settled', transactionId: String(metadata.reference), metadata: {} }
      : { amount, state: 'Declined', errorMessage: 'The card was declined.', metadata: {} },
  settlePayment: () => ({ success: true }),
});

const config = {
  apiOptions: { port, hostname: '127.0.0.1', shopApiPath: 'shop-api', adminApiPath: 'admin-api' },
  authOptions: {
    tokenMethod: 'cookie',
    cookieOptions: { secret: 'of-the-test-shop' },
    superadminCredentials: { identifier: 'staff', password: 'staff-password' },
  },
  dbConnectionOptions: { type: 'better-sqlite3', database, synchronize: true, enableWAL: true, timeout: 30_000 },
  logger: new DefaultLogger({ level: LogLevel.Error }),
  paymentOptions: { paymentMethodHandlers: [cards] },
  importExportOptions: { importAssetsDir: directory },
  plugins: [DefaultSearchPlugin.init({ bufferUpdates: false, indexStockStatus: true })],
};

const initial = {
  defaultLanguage: LanguageCode.en,
  defaultZone: 'World',
  countries: [
    { name: 'United States of America', code: 'US', zone: 'World' },
    { name: 'Austria', code: 'AT', zone: 'World' },
  ],
  taxRates: [{ name: 'Standard Tax', percentage: 20 }],
  shippingMethods: [{ name: 'Standard', price: 490 }, { name: 'Express', price: 1490 }],
  paymentMethods: [{ name: 'Cards', handler: { code: 'cards', arguments: [] } }],
  collections: [],
  roles: [],
};

// Title, price, number in stock.
const goods = [
  ['Cotton socks', '7.50', 100000], ['Cotton mug cosy', '12.00', 100000], ['Cotton robe', '89.00', 0],
  ['Cotton towel', '19.90', 40], ['Cotton scarf', '24.95', 40], ['Cotton apron', '31.00', 40],
  ['Cotton bag', '4.99', 40], ['Cotton sheet', '45.50', 40], ['Cotton cushion', '29.00', 40],
  ['Cotton blanket', '119.00', 40], ['Cotton napkin', '3.25', 40], ['Linen tablecloth', '59.00', 40],
];
// What there is of the shirt, and how many; other combinations do not exist.
const shirt = [['S', 'Red', 50], ['M', 'Red', 0], ['L', 'Red', 50], ['S', 'Blue', 50], ['M', 'Blue', 50]];

async function sample() {
  const row = (name, group, option, sku, price, stock) =>
    [name, name && name.toLowerCase().replaceAll(' ', '-'), name && `<p>${name} of good quality.</p>`, '', '', group,
      option, sku, price, 'standard', stock, 'true', '', ''].join(',');
  const lines = [
    'name,slug,description,assets,facets,optionGroups,optionValues,sku,price,taxCategory,stockOnHand,trackInventory,variantAssets,variantFacets',
    ...goods.map(([name, price, stock], at) => row(name, '', '', `UP${at + 1}`, price, stock)),
    ...shirt.map(([size, colour, stock], at) =>
      row(at ? '' : 'Cotton shirt', at ? '' : 'Size|Colour', `${size}|${colour}`, `SHIRT-${at + 1}`, size === 'L' ? '27.50' : '25.00', stock)),
  ];
  const csv = join(directory, 'products.csv');
  writeFileSync(csv, lines.join('\n') + '\n');
  const app = await populate(async () => bootstrap(config), initial, csv);
  const ctx = await app.get(RequestContextService).create({ apiType: 'admin' });
  await app.get(PromotionService).createPromotion(ctx, {
    enabled: true, couponCode: 'WELCOME10', conditions: [],
    actions: [{ code: 'order_percentage_discount', arguments: [{ name: 'discount', value: '10' }] }],
    translations: [{ languageCode: LanguageCode.en, name: 'Welcome', description: '' }],
  });
  return app;
}

const app = existsSync(database) ? await bootstrap(config) : await sample();
await app.get(JobQueueService).start();
const ctx = await app.get(RequestContextService).create({ apiType: 'admin' });
await app.get(SearchService).reindex(ctx);
for (let left = 600; ; left -= 1) {
  if (left === 0) throw new Error('the goods are not in the index');
  const answer = await fetch(`http://127.0.0.1:${port}/shop-api`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ search(input: { groupByProduct: true }) { totalItems } }' }),
  });
  if ((await answer.json()).data.search.totalItems > goods.length) break;
  await new Promise((wait) => setTimeout(wait, 100));
}
console.log(`http://127.0.0.1:${port}/shop-api`);
