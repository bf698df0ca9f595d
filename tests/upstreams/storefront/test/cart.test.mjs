// Carts: what goes in, what it costs, where it goes, and what is said when something is not as asked.
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { Client, product, variant } from './client.mjs';

const client = new Client();

const fragment = `fragment Parts on Cart {
  id checkoutUrl totalQuantity note attributes { key value }
  buyerIdentity { email phone countryCode }
  delivery { addresses { id selected address { ... on CartDeliveryAddress { city zip countryCode } } } }
  lines(first: 40) { nodes { __typename id quantity attributes { key value }
    cost { amountPerQuantity { amount } compareAtAmountPerQuantity { amount } subtotalAmount { amount } totalAmount { amount } }
    discountAllocations { __typename discountedAmount { amount }
      ... on CartCodeDiscountAllocation { code } ... on CartAutomaticDiscountAllocation { title } }
    merchandise { ... on ProductVariant { id title product { title } } } } }
  cost { subtotalAmount { amount currencyCode } totalAmount { amount } }
  discountCodes { code applicable }
  discountAllocations { targetType discountedAmount { amount } ... on CartCodeDiscountAllocation { code } }
  deliveryGroups(first: 3) { nodes { id cartLines(first: 9) { nodes { id } } deliveryAddress { city countryCodeV2 }
    deliveryOptions { handle title deliveryMethodType estimatedCost { amount } } selectedDeliveryOption { handle title } } }
}`;
const answer = 'cart { ...Parts } userErrors { code field message } warnings { code target message }';

/** A mutation of a cart, with the rest of its arguments. */
async function change(name, cartId, args, types) {
  const declared = Object.entries(types)
    .map(([key, type]) => `, $${key}: ${type}`)
    .join('');
  const passed = Object.keys(types)
    .map((key) => `, ${key}: $${key}`)
    .join('');
  const document = `${fragment} mutation Change($cartId: ID!${declared}) { ${name}(cartId: $cartId${passed}) { ${answer} } }`;
  return (await client.data(document, { cartId, ...args }))[name];
}
const create = async (input, country) =>
  (
    await client.data(
      `${fragment} mutation Create($input: CartInput, $country: CountryCode) @inContext(country: $country) {
        cartCreate(input: $input) { ${answer} }
      }`,
      { input, country },
    )
  ).cartCreate;
const get = async (id, options) =>
  (await client.data(`${fragment} query Get($id: ID!) { cart(id: $id) { ...Parts } }`, { id }, options)).cart;

const add = (cart, lines) => change('cartLinesAdd', cart, { lines }, { lines: '[CartLineInput!]!' });
const update = (cart, lines) => change('cartLinesUpdate', cart, { lines }, { lines: '[CartLineUpdateInput!]!' });
const remove = (cart, lineIds) => change('cartLinesRemove', cart, { lineIds }, { lineIds: '[ID!]!' });
const codes = (cart, discountCodes) =>
  change('cartDiscountCodesUpdate', cart, { discountCodes }, { discountCodes: '[String!]!' });
const buyer = (cart, buyerIdentity) =>
  change('cartBuyerIdentityUpdate', cart, { buyerIdentity }, { buyerIdentity: 'CartBuyerIdentityInput!' });
const replaceAddresses = (cart, addresses) =>
  change('cartDeliveryAddressesReplace', cart, { addresses }, { addresses: '[CartSelectableAddressInput!]!' });
const addAddresses = (cart, addresses) =>
  change('cartDeliveryAddressesAdd', cart, { addresses }, { addresses: '[CartSelectableAddressInput!]!' });
const select = (cart, selectedDeliveryOptions) =>
  change(
    'cartSelectedDeliveryOptionsUpdate',
    cart,
    { selectedDeliveryOptions },
    { selectedDeliveryOptions: '[CartSelectedDeliveryOptionInput!]!' },
  );

const mug = variant(1005);
const eugene = {
  firstName: 'Bea',
  lastName: 'Buyer',
  address1: '1 Main St',
  city: 'Eugene',
  provinceCode: 'OR',
  zip: '97401',
  countryCode: 'US',
};
const to = (deliveryAddress, more) => ({ address: { deliveryAddress }, selected: true, ...more });
const codesOf = (list) => list.map(({ code }) => code);
const money = ({ amount }) => amount;

suite('carts', () => {
  before(() => client.start());
  after(() => client.stop());
  beforeEach(() => client.steer('POST', '/reset'));

  test('are made, read and emptied', async () => {
    const { cart, userErrors, warnings } = await create({
      lines: [{ merchandiseId: mug, quantity: 2 }],
      note: 'Hello',
      attributes: [{ key: '_from', value: 'test' }],
    });
    assert.deepEqual([userErrors, warnings], [[], []]);
    assert.match(cart.id, /^gid:\/\/shopify\/Cart\/[\w-]+\?key=[0-9a-f]{32}$/);
    assert.match(cart.checkoutUrl, /^https:\/\/storefront\.example\/cart\/c\/[\w-]+\?key=[0-9a-f]{32}$/);
    assert.notEqual(new URL(cart.checkoutUrl).searchParams.get('key'), cart.id.split('key=')[1], 'two secrets');
    assert.deepEqual(cart.cost, { subtotalAmount: { amount: '25.0', currencyCode: 'USD' }, totalAmount: { amount: '25.0' } });
    assert.deepEqual([cart.totalQuantity, cart.note, cart.attributes], [2, 'Hello', [{ key: '_from', value: 'test' }]]);
    assert.deepEqual(await get(cart.id), cart);
    const emptied = await remove(cart.id, [cart.lines.nodes[0].id]);
    assert.deepEqual(
      [emptied.cart.lines.nodes, emptied.cart.totalQuantity, money(emptied.cart.cost.totalAmount)],
      [[], 0, '0.0'],
    );
  });

  test('merge equal lines, and keep different ones apart', async () => {
    const { cart } = await create({ lines: [{ merchandiseId: mug }, { merchandiseId: mug, quantity: 2 }] });
    assert.deepEqual(
      cart.lines.nodes.map(({ quantity }) => quantity),
      [3],
    );
    const more = await add(cart.id, [
      { merchandiseId: mug },
      { merchandiseId: mug, attributes: [{ key: 'engraving', value: 'B' }] },
    ]);
    assert.deepEqual(
      more.cart.lines.nodes.map(({ quantity }) => quantity),
      [4, 1],
    );
  });

  test('show the buyer, and change, only to who has the key', async () => {
    const { cart } = await create({
      lines: [{ merchandiseId: mug }],
      buyerIdentity: { email: 'bea@example.com', phone: '+15415550100', countryCode: 'US' },
      delivery: { addresses: [to(eugene)] },
    });
    assert.deepEqual(cart.buyerIdentity, { email: 'bea@example.com', phone: '+15415550100', countryCode: 'US' });
    assert.equal(cart.deliveryGroups.nodes.length, 1);
    const bare = cart.id.split('?')[0];
    const seen = await get(bare);
    assert.deepEqual(seen.buyerIdentity, { email: null, phone: null, countryCode: 'US' });
    assert.deepEqual([seen.delivery.addresses, seen.deliveryGroups.nodes, seen.id, seen.totalQuantity], [[], [], bare, 1]);
    const refused = await add(bare, [{ merchandiseId: mug }]);
    assert.deepEqual(refused, {
      cart: null,
      userErrors: [{ code: 'INVALID', field: ['cartId'], message: 'The specified cart does not exist.' }],
      warnings: [],
    });
    assert.equal((await get(`${bare}?key=${'0'.repeat(32)}`)).buyerIdentity.email, null);
  });

  test('are gone when they expire', async () => {
    const { cart } = await create({ lines: [{ merchandiseId: mug }] });
    assert.deepEqual(await client.steer('POST', '/carts/expire', { id: cart.id }), { expired: 1 });
    assert.equal(await get(cart.id), null);
    const { cart: none, userErrors } = await codes(cart.id, ['WELCOME10']);
    assert.equal(none, null);
    assert.deepEqual(
      userErrors.map(({ message }) => message),
      ['The specified cart does not exist.'],
    );
  });

  test('hold no more than there is', async () => {
    const { cart, warnings, userErrors } = await create({
      lines: [
        { merchandiseId: variant(1013), quantity: 5 },
        { merchandiseId: variant(1006), quantity: 1 },
        { merchandiseId: variant(1004, 2), quantity: 9 },
      ],
    });
    assert.deepEqual(userErrors, []);
    assert.deepEqual(codesOf(warnings), ['MERCHANDISE_NOT_ENOUGH_STOCK', 'MERCHANDISE_OUT_OF_STOCK']);
    assert.deepEqual(
      warnings.map(({ target }) => target),
      cart.lines.nodes.slice(0, 2).map(({ id }) => id),
    );
    assert.deepEqual(
      cart.lines.nodes.map(({ quantity }) => quantity),
      [3, 0, 9],
      'sold out leaves an empty line; a backorder has no end',
    );
    assert.equal(cart.totalQuantity, 12);
    const again = await update(cart.id, [{ id: cart.lines.nodes[0].id, quantity: 4 }]);
    assert.deepEqual([codesOf(again.warnings), again.cart.lines.nodes[0].quantity], [['MERCHANDISE_NOT_ENOUGH_STOCK'], 3]);
  });

  test('refuse what does not exist, all or nothing', async () => {
    const refused = await create({ lines: [{ merchandiseId: mug }, { merchandiseId: variant(9) }] });
    assert.deepEqual(refused, {
      cart: null,
      userErrors: [
        {
          code: 'INVALID',
          field: ['input', 'lines', '1', 'merchandiseId'],
          message: `The merchandise with id ${variant(9)} does not exist.`,
        },
      ],
      warnings: [],
    });
    const { cart } = await create({ lines: [{ merchandiseId: mug }] });
    const added = await add(cart.id, [{ merchandiseId: variant(1003) }, { merchandiseId: product(1003) }]);
    assert.deepEqual(
      [codesOf(added.userErrors), added.userErrors[0].field, added.cart.totalQuantity],
      [['INVALID'], ['lines', '1', 'merchandiseId'], 1],
    );
    assert.deepEqual(codesOf((await update(cart.id, [{ id: `${cart.lines.nodes[0].id}x`, quantity: 1 }])).userErrors), [
      'INVALID_MERCHANDISE_LINE',
    ]);
    assert.deepEqual(codesOf((await update(cart.id, [{ id: cart.lines.nodes[0].id, quantity: -1 }])).userErrors), ['INVALID']);
    assert.deepEqual(codesOf((await remove(cart.id, ['gid://shopify/CartLine/none'])).userErrors), ['INVALID_MERCHANDISE_LINE']);
    assert.deepEqual(codesOf((await add(cart.id, [{ merchandiseId: variant(1018) }])).userErrors), [
      'VARIANT_REQUIRES_SELLING_PLAN',
    ]);
    assert.deepEqual(
      codesOf((await add(cart.id, [{ merchandiseId: variant(1017) }])).userErrors),
      ['INVALID'],
      'not sold in the country of the cart',
    );
  });

  test('keep to the rules about quantities', async () => {
    const ask = async (quantity) => codesOf((await create({ lines: [{ merchandiseId: variant(1016), quantity }] })).userErrors);
    assert.deepEqual(await ask(3), ['MINIMUM_NOT_MET']);
    assert.deepEqual(await ask(30), ['MAXIMUM_EXCEEDED']);
    assert.deepEqual(await ask(8), ['INVALID_INCREMENT']);
    assert.deepEqual(await ask(12), []);
  });

  test('take codes off the lines, the cart and the delivery', async () => {
    const { cart } = await create({
      lines: [
        { merchandiseId: mug, quantity: 2 },
        { merchandiseId: variant(1007), quantity: 1 },
      ],
      buyerIdentity: { countryCode: 'US' },
    });
    const { cart: cheaper, warnings } = await codes(cart.id, ['welcome10', 'ORDER5', 'FREESHIP']);
    assert.deepEqual(warnings, []);
    assert.deepEqual(cheaper.discountCodes, [
      { code: 'welcome10', applicable: true },
      { code: 'ORDER5', applicable: true },
      { code: 'FREESHIP', applicable: true },
    ]);
    assert.deepEqual(
      cheaper.lines.nodes.map(({ cost }) => [money(cost.subtotalAmount), money(cost.totalAmount)]),
      [
        ['25.0', '22.5'],
        ['70.2', '63.18'],
      ],
    );
    assert.equal(money(cheaper.lines.nodes[1].cost.compareAtAmountPerQuantity), '100.0');
    assert.deepEqual(cheaper.discountAllocations, [
      { targetType: 'LINE_ITEM', discountedAmount: { amount: '5.0' }, code: 'ORDER5' },
      { targetType: 'SHIPPING_LINE', discountedAmount: { amount: '5.9' }, code: 'FREESHIP' },
    ]);
    // 22.50 + 63.18 = 85.68, less 5.00, and the delivery of 5.90 for nothing.
    assert.deepEqual([money(cheaper.cost.subtotalAmount), money(cheaper.cost.totalAmount)], ['85.68', '80.68']);
    assert.deepEqual((await codes(cart.id, [])).cart.discountCodes, []);
  });

  test('say why a code takes off nothing, and keep it', async () => {
    const { cart } = await create({ lines: [{ merchandiseId: mug }] });
    const reasons = {
      NOSUCH: 'DISCOUNT_NOT_FOUND',
      EXPIRED10: 'DISCOUNT_CURRENTLY_INACTIVE',
      VIP: 'DISCOUNT_CUSTOMER_NOT_ELIGIBLE',
      MEMBERS: 'DISCOUNT_ELIGIBLE_CUSTOMER_MISSING',
      ONCE: 'DISCOUNT_CUSTOMER_USAGE_LIMIT_REACHED',
      USEDUP: 'DISCOUNT_USAGE_LIMIT_REACHED',
      SHOES20: 'DISCOUNT_NO_ENTITLED_LINE_ITEMS',
      FREESHIP: 'DISCOUNT_NO_ENTITLED_SHIPPING_LINES',
      BIG100: 'DISCOUNT_PURCHASE_NOT_IN_RANGE',
      FIVEPLUS: 'DISCOUNT_QUANTITY_NOT_IN_RANGE',
    };
    const { cart: same, warnings, userErrors } = await codes(cart.id, Object.keys(reasons));
    assert.deepEqual([codesOf(warnings), userErrors], [Object.values(reasons), []]);
    assert.ok(same.discountCodes.every(({ applicable }) => !applicable) && same.discountCodes.length === 10);
    assert.equal(money(same.cost.totalAmount), '12.5');
  });

  test('give automatic discounts to nobody who asks', async () => {
    const { cart } = await create({ lines: [{ merchandiseId: mug, quantity: 3 }] });
    assert.deepEqual(cart.lines.nodes[0].discountAllocations, [
      { __typename: 'CartAutomaticDiscountAllocation', discountedAmount: { amount: '7.5' }, title: 'Mug trio' },
    ]);
    assert.equal(money(cart.cost.totalAmount), '30.0');
  });

  test('offer deliveries once they know where to', async () => {
    const { cart } = await create({
      lines: [{ merchandiseId: mug }, { merchandiseId: variant(1019) }, { merchandiseId: variant(1014) }],
    });
    assert.deepEqual(cart.deliveryGroups.nodes, []);
    const { cart: addressed } = await replaceAddresses(cart.id, [to(eugene)]);
    const [parcel, freight] = addressed.deliveryGroups.nodes;
    assert.deepEqual(parcel.deliveryAddress, { city: 'Eugene', countryCodeV2: 'US' });
    assert.deepEqual(
      parcel.deliveryOptions.map(({ title, deliveryMethodType, estimatedCost }) => [
        title,
        deliveryMethodType,
        money(estimatedCost),
      ]),
      [
        ['Standard', 'SHIPPING', '5.90'],
        ['Express', 'SHIPPING', '15.00'],
        ['Main Street store', 'PICK_UP', '0.00'],
      ],
    );
    assert.deepEqual(
      [parcel, freight].map(({ cartLines, selectedDeliveryOption }) => [cartLines.nodes.length, selectedDeliveryOption.title]),
      [
        [1, 'Standard'],
        [1, 'Freight to the kerb'],
      ],
    );
    assert.deepEqual(
      [money(addressed.cost.subtotalAmount), money(addressed.cost.totalAmount)],
      ['1237.5', '1342.4'],
      'the gift card is not delivered',
    );
    const express = parcel.deliveryOptions[1].handle;
    const { cart: faster } = await select(cart.id, [{ deliveryGroupId: parcel.id, deliveryOptionHandle: express }]);
    assert.equal(faster.deliveryGroups.nodes[0].selectedDeliveryOption.handle, express);
    assert.equal(money(faster.cost.totalAmount), '1351.5');
    assert.deepEqual(
      codesOf((await select(cart.id, [{ deliveryGroupId: freight.id, deliveryOptionHandle: express }])).userErrors),
      ['INVALID_DELIVERY_OPTION'],
    );
    assert.deepEqual(
      codesOf(
        (await select(cart.id, [{ deliveryGroupId: 'gid://shopify/CartDeliveryGroup/none', deliveryOptionHandle: express }]))
          .userErrors,
      ),
      ['INVALID_DELIVERY_GROUP'],
    );
    await client.steer('POST', '/settings', { totalIncludesDelivery: false });
    assert.equal(money((await get(cart.id)).cost.totalAmount), '1237.5');
  });

  test('deliver nowhere where nothing is sold', async () => {
    const { cart } = await create({
      lines: [{ merchandiseId: mug }],
      delivery: { addresses: [to({ ...eugene, countryCode: 'BR' })] },
    });
    assert.deepEqual(
      cart.deliveryGroups.nodes.map(({ deliveryOptions, selectedDeliveryOption }) => [deliveryOptions, selectedDeliveryOption]),
      [[[], null]],
    );
  });

  test('judge addresses as strictly as they are asked to', async () => {
    const { cart } = await create({ lines: [{ merchandiseId: mug }] });
    const ask = async (changes, validationStrategy) =>
      (await replaceAddresses(cart.id, [to({ ...eugene, ...changes }, { validationStrategy })])).userErrors;
    assert.deepEqual(await ask({ zip: 'none', city: '<b>', lastName: '' }, 'COUNTRY_CODE_ONLY'), []);
    assert.deepEqual(
      (await ask({ countryCode: null }, 'COUNTRY_CODE_ONLY')).map(({ code, field }) => [code, field.at(-1)]),
      [['ADDRESS_FIELD_IS_REQUIRED', 'countryCode']],
    );
    const faults = [
      [{ zip: 'none' }, 'INVALID_ZIP_CODE_FOR_COUNTRY'],
      [{ city: '<b>Eugene</b>' }, 'ADDRESS_FIELD_CONTAINS_HTML_TAGS'],
      [{ city: 'https://a.example' }, 'ADDRESS_FIELD_CONTAINS_URL'],
      [{ address1: '1 Main St 🎁' }, 'ADDRESS_FIELD_CONTAINS_EMOJIS'],
      [{ address1: 'x'.repeat(256) }, 'ADDRESS_FIELD_IS_TOO_LONG'],
      [{ lastName: null }, 'ADDRESS_FIELD_IS_REQUIRED'],
      [{ provinceCode: 'Oregon' }, 'PROVINCE_NOT_FOUND'],
      [{ zip: '00000' }, 'ZIP_CODE_NOT_SUPPORTED'],
    ];
    for (const [changes, code] of faults) assert.deepEqual(codesOf(await ask(changes, 'STRICT')), [code]);
    assert.deepEqual(await ask({}, 'STRICT'), []);
  });

  test('hold several addresses, one of them selected', async () => {
    const { cart } = await create({ lines: [{ merchandiseId: mug }] });
    const springfield = { ...eugene, city: 'Springfield', zip: '97477' };
    assert.deepEqual(codesOf((await replaceAddresses(cart.id, [to(eugene), to(springfield)])).userErrors), [
      'ONLY_ONE_DELIVERY_ADDRESS_CAN_BE_SELECTED',
    ]);
    await replaceAddresses(cart.id, [to(eugene)]);
    const { cart: both } = await addAddresses(cart.id, [to(springfield)]);
    assert.deepEqual(
      both.delivery.addresses.map(({ selected, address }) => [selected, address.city]),
      [
        [false, 'Eugene'],
        [true, 'Springfield'],
      ],
    );
    assert.equal(both.deliveryGroups.nodes[0].deliveryAddress.city, 'Springfield');
    assert.deepEqual(codesOf((await addAddresses(cart.id, [to(springfield)])).warnings), ['DUPLICATE_DELIVERY_ADDRESS']);
    assert.deepEqual(
      codesOf(
        (
          await addAddresses(
            cart.id,
            Array.from({ length: 20 }, () => to(eugene, { selected: false })),
          )
        ).userErrors,
      ),
      ['TOO_MANY_DELIVERY_ADDRESSES'],
    );
  });

  test('forget who bought', async () => {
    const { cart } = await create({
      lines: [{ merchandiseId: mug }],
      buyerIdentity: { email: 'bea@example.com', countryCode: 'DE' },
      delivery: { addresses: [to(eugene)] },
    });
    const { cart: nobody } = await change('cartRemovePersonalData', cart.id, {}, {});
    assert.deepEqual(nobody.buyerIdentity, { email: null, phone: null, countryCode: 'DE' });
    assert.deepEqual(nobody.delivery.addresses, []);
    assert.equal(nobody.totalQuantity, 1);
  });

  test('are in the currency of the buyer, wherever that changes', async () => {
    const { cart } = await create({ lines: [{ merchandiseId: mug }] }, 'JP');
    assert.deepEqual(cart.cost.subtotalAmount, { amount: '1880.0', currencyCode: 'JPY' });
    assert.deepEqual(
      cart.deliveryGroups.nodes[0].deliveryOptions.map(({ estimatedCost }) => money(estimatedCost)),
      ['890.0', '2250.0'],
    );
    const { cart: kuwaiti } = await buyer(cart.id, { countryCode: 'KW' });
    assert.deepEqual(kuwaiti.cost.subtotalAmount, { amount: '3.838', currencyCode: 'KWD' });
    assert.deepEqual(codesOf((await buyer(cart.id, { email: 'nobody' })).userErrors), ['INVALID']);
  });

  test('have rates of carriers for those who defer them', async () => {
    const { cart } = await create({ lines: [{ merchandiseId: mug }], buyerIdentity: { countryCode: 'CA' } });
    const rates = 'deliveryGroups(first: 1, withCarrierRates: true) { nodes { deliveryOptions { title } } }';
    const asked = (fields) => `query Rates($id: ID!) { cart(id: $id) { id ${fields} } }`;
    const titles = ({ nodes }) => nodes[0].deliveryOptions.map(({ title }) => title);
    assert.deepEqual(titles(cart.deliveryGroups), ['Standard', 'Express']);
    const { errors } = await client.ask(asked(rates), { id: cart.id });
    assert.equal(errors[0].extensions.code, 'NOT_EMULATED');
    const headers = { Accept: 'multipart/mixed; deferSpec=20220824, application/json' };
    const response = await client.post(asked(`... @defer { ${rates} }`), { id: cart.id }, { headers });
    assert.match(response.headers.get('content-type'), /^multipart\/mixed; boundary="-"/);
    const parts = (await response.text()).split('\r\n---').filter((part) => part.includes('{'));
    const [first, last] = parts.map((part) => JSON.parse(part.slice(part.indexOf('{'))));
    assert.deepEqual([first.data, first.hasNext, last.hasNext], [{ cart: { id: cart.id } }, true, false]);
    assert.deepEqual(last.incremental[0].path, ['cart']);
    assert.deepEqual(titles(last.incremental[0].data.deliveryGroups), ['Standard', 'Express', 'Carrier']);
  });

  test('take notes and attributes', async () => {
    const { cart } = await create({});
    const noted = await change('cartNoteUpdate', cart.id, { note: 'Ring twice' }, { note: 'String!' });
    assert.equal(noted.cart.note, 'Ring twice');
    assert.deepEqual(
      codesOf((await change('cartNoteUpdate', cart.id, { note: 'x'.repeat(5_001) }, { note: 'String!' })).userErrors),
      ['NOTE_TOO_LONG'],
    );
    const { cart: told } = await change(
      'cartAttributesUpdate',
      cart.id,
      { attributes: [{ key: 'a', value: 'b' }] },
      { attributes: '[AttributeInput!]!' },
    );
    assert.deepEqual([told.attributes, told.note], [[{ key: 'a', value: 'b' }], 'Ring twice']);
  });

  test('are changed in order by several mutations of one request', async () => {
    const { cart } = await create({ lines: [{ merchandiseId: mug }] });
    const document = `${fragment} mutation Replace(
      $id: ID!, $gone: [ID!]!, $lines: [CartLineInput!]!, $buyer: CartBuyerIdentityInput!, $addresses: [CartSelectableAddressInput!]!
    ) {
      cartLinesRemove(cartId: $id, lineIds: $gone) { cart { totalQuantity } userErrors { code } }
      cartLinesAdd(cartId: $id, lines: $lines) { cart { totalQuantity } userErrors { code } }
      cartDiscountCodesUpdate(cartId: $id, discountCodes: ["ORDER5"]) { userErrors { code } }
      cartBuyerIdentityUpdate(cartId: $id, buyerIdentity: $buyer) { userErrors { code } }
      cartDeliveryAddressesReplace(cartId: $id, addresses: $addresses) { cart { ...Parts } userErrors { code } }
    }`;
    const done = await client.data(document, {
      id: cart.id,
      gone: [cart.lines.nodes[0].id],
      lines: [{ merchandiseId: variant(1003), quantity: 2 }],
      buyer: { email: 'bea@example.com', countryCode: 'US' },
      addresses: [to(eugene)],
    });
    assert.deepEqual([done.cartLinesRemove.cart.totalQuantity, done.cartLinesAdd.cart.totalQuantity], [0, 2]);
    const after = done.cartDeliveryAddressesReplace.cart;
    assert.deepEqual(
      [after.buyerIdentity.email, money(after.cost.subtotalAmount), money(after.cost.totalAmount)],
      ['bea@example.com', '50.0', '50.9'],
    );
  });
});
