// A project of commercetools, as @labdigital/commercetools-mock executes its API, with sample goods.
//
//     shop.mjs DIRECTORY PORT
//
// The database is in the directory, and is made where there is none. The shop says where it listens once it does. What the API
// documents and the mock leaves out is here: totals with shipping and discounts, words in any case, prices for all countries, and
// orders that are placed from one version of a cart, once, under a number of their own.
import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CommercetoolsMock } from '@labdigital/commercetools-mock';
import { SQLiteStorage } from '@labdigital/commercetools-mock/sqlite';

const directory = resolve(process.argv[2]);
const port = Number(process.argv[3]);
mkdirSync(directory, { recursive: true });
const filename = join(directory, 'shop.sqlite');
const PROJECT = 'sample';
const isNew = !existsSync(filename);

const dollars = (centAmount) => ({ type: 'centPrecision', currencyCode: 'USD', centAmount, fractionDigits: 2 });
const localised = (en, de) => ({ en, 'de-DE': de });
const named = (number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const DISCOUNT = named(900);

class Storage extends SQLiteStorage {
  async add(project, type, resource, params) {
    if (type === 'cart') {
      const goods = resource.lineItems.reduce((sum, line) => sum + line.totalPrice.centAmount, 0);
      const off = resource.discountCodes.length > 0 ? Math.floor(goods / 10) : 0;
      resource.discountOnTotalPrice = off === 0 ? undefined : {
        discountedAmount: dollars(off),
        includedDiscounts: [{ discount: { typeId: 'cart-discount', id: DISCOUNT }, discountedAmount: dollars(off) }],
      };
      resource.totalPrice = dollars(goods - off + (resource.shippingInfo?.price.centAmount ?? 0));
      // There is none unless every line has a tax rate.
      resource.taxedPrice = undefined;
    }
    return super.add(project, type, resource, params);
  }
}

const storage = new Storage({ filename });
const mock = new CommercetoolsMock({ enableAuthentication: true, validateCredentials: true, storage });
const refused = (reply, status, code, message) =>
  reply.status(status).send({ statusCode: status, message, errors: [{ code, message }] });

// One order at a time: what is read here is still so when it is placed.
let before = Promise.resolve();
mock.app.addHook('preHandler', async (request, reply) => {
  const path = request.url.split('?')[0];
  if (request.method !== 'POST') return undefined;
  if (path === `/${PROJECT}/products/search`) {
    request.body.query = withoutCase(request.body.query);
    delete request.body.productProjectionParameters?.priceCountry;
    return undefined;
  }
  const id = path === `/${PROJECT}/orders` ? request.body.cart.id : path.match(/\/carts\/([^/]+)$/)?.[1];
  const cart = id && await storage.get(PROJECT, 'cart', id);
  if (!cart) return undefined;
  if (path.endsWith('/orders')) {
    const turn = before;
    before = new Promise((done) => { request.done = done; });
    await turn;
    const now = await storage.get(PROJECT, 'cart', id);
    const number = request.body.orderNumber;
    const known = await storage.query(PROJECT, 'order', { where: [`orderNumber="${number}"`] });
    if (known.count > 0) return refused(reply, 400, 'DuplicateField', `A duplicate value '"${number}"' exists for field 'orderNumber'.`);
    if (now.cartState !== 'Active') return refused(reply, 400, 'InvalidOperation', 'The cart was ordered.');
    if (now.version !== request.body.version) return refused(reply, 409, 'ConcurrentModification', `Version mismatch: ${now.version}.`);
    if (now.lineItems.length === 0) return refused(reply, 400, 'InvalidOperation', 'The cart is empty.');
    return undefined;
  }
  return cart.cartState === 'Active' ? undefined : refused(reply, 400, 'InvalidOperation', 'The cart was ordered.');
});
mock.app.addHook('onResponse', async (request, reply) => {
  if (!request.done) return;
  if (reply.statusCode === 201) {
    const cart = await storage.get(PROJECT, 'cart', request.body.cart.id);
    await storage.add(PROJECT, 'cart', { ...cart, cartState: 'Ordered', version: cart.version + 1 });
  }
  request.done();
});

function withoutCase(query) {
  if (query?.and) return { and: query.and.map(withoutCase) };
  if (!query?.fullText) return query;
  const { field, language, value } = query.fullText;
  return { wildcard: { field, language, value: `*${value}*`, caseInsensitive: true } };
}

// Title, in German, price, number in stock.
const GOODS = [
  ['Cotton socks', 'Socken aus Baumwolle', 750, 100_000], ['Cotton mug cosy', 'Tassenwärmer aus Baumwolle', 1200, 100_000],
  ['Cotton robe', 'Bademantel aus Baumwolle', 8900, 0], ['Cotton towel', 'Handtuch aus Baumwolle', 1990, 40],
  ['Cotton scarf', 'Schal aus Baumwolle', 2495, 40], ['Cotton apron', 'Schürze aus Baumwolle', 3100, 40],
  ['Cotton bag', 'Beutel aus Baumwolle', 499, 40], ['Cotton sheet', 'Laken aus Baumwolle', 4550, 40],
  ['Cotton cushion', 'Kissen aus Baumwolle', 2900, 40], ['Cotton blanket', 'Decke aus Baumwolle', 11900, 40],
  ['Cotton napkin', 'Serviette aus Baumwolle', 325, 40], ['Linen tablecloth', 'Tischtuch aus Leinen', 5900, 40],
];
// What there is of the shirt, and how many; other combinations do not exist.
const SHIRT = [['S', 'Red', 50], ['M', 'Red', 0], ['L', 'Red', 50], ['S', 'Blue', 50], ['M', 'Blue', 50]];

async function sample() {
  const project = mock.project(PROJECT);
  const add = (type, resource) => project.unsafeAdd(type, { version: 1, ...resource });
  await add('product-type', {
    id: named(901), key: 'goods', name: 'Goods', description: 'Goods',
    attributes: [['size', 'Size', 'Größe'], ['colour', 'Colour', 'Farbe']].map(([name, en, de]) => (
      { name, label: localised(en, de), type: { name: 'text' }, isRequired: false, isSearchable: true, attributeConstraint: 'None', inputHint: 'SingleLine' })),
  });
  await add('category', { id: named(902), key: 'textiles', name: localised('Textiles', 'Textilien'), slug: localised('textiles', 'textilien'), ancestors: [], orderHint: '0' });
  const product = async (number, en, de, variants) => {
    const made = variants.map(([sku, price, , attributes = []], at) => ({
      id: at + 1, sku, attributes, images: [{ url: `https://images.example.com/${sku}.jpg`, dimensions: { w: 800, h: 600 } }],
      prices: [{ id: named(1000 + number * 10 + at), value: dollars(price) }],
    }));
    const data = {
      name: localised(en, de), slug: localised(en.toLowerCase().replaceAll(' ', '-'), en.toLowerCase().replaceAll(' ', '-')),
      description: localised(`<p>${en}, of good quality.</p>`, `<p>${de}, von guter Qualität.</p>`),
      categories: [{ typeId: 'category', id: named(902) }], masterVariant: made[0], variants: made.slice(1), attributes: [],
      searchKeywords: {},
    };
    await add('product', {
      id: named(number), key: `product-${number}`, productType: { typeId: 'product-type', id: named(901) }, priceMode: 'Embedded',
      masterData: { published: true, hasStagedChanges: false, current: data, staged: data },
    });
    for (const [at, [sku, , stock]] of variants.entries()) {
      await add('inventory-entry', { id: named(2000 + number * 10 + at), sku, quantityOnStock: stock, availableQuantity: stock });
    }
  };
  for (const [at, [en, de, price, stock]] of GOODS.entries()) await product(at + 1, en, de, [[`UP${at + 1}`, price, stock]]);
  await product(13, 'Cotton shirt', 'Hemd aus Baumwolle', SHIRT.map(([size, colour, stock], at) => (
    [`SHIRT-${at + 1}`, size === 'L' ? 2750 : 2500, stock, [{ name: 'size', value: size }, { name: 'colour', value: colour }]])));
  await add('zone', { id: named(903), key: 'world', name: 'World', locations: [{ country: 'US' }, { country: 'AT' }] });
  await add('tax-category', { id: named(906), key: 'none', name: 'None', rates: ['US', 'AT'].map((country) => ({ id: country, name: 'None', amount: 0, includedInPrice: true, country })) });
  for (const [at, [key, en, de, price]] of [['standard', 'Standard', 'Standard', 490], ['express', 'Express', 'Eilig', 1490]].entries()) {
    await add('shipping-method', {
      id: named(904 + at), key, name: en, localizedName: localised(en, de), isDefault: at === 0, active: true,
      taxCategory: { typeId: 'tax-category', id: named(906) },
      zoneRates: [{ zone: { typeId: 'zone', id: named(903) }, shippingRates: [{ price: dollars(price), tiers: [] }] }],
    });
  }
  await add('cart-discount', { id: DISCOUNT, key: 'welcome', name: localised('10% off', '10 % Nachlass'), isActive: true, cartPredicate: '1=1', target: { type: 'totalPrice' }, value: { type: 'relative', permyriad: 1000 } });
  await add('discount-code', { id: named(907), code: 'WELCOME10', name: localised('Welcome', 'Willkommen'), isActive: true, cartDiscounts: [{ typeId: 'cart-discount', id: DISCOUNT }] });
}

if (isNew) await sample();
await mock.app.listen({ port, host: '127.0.0.1' });
console.log(`http://127.0.0.1:${port}/${PROJECT}`);
