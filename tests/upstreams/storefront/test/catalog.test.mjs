// Browsing, searching, looking up and asking for one product, as the API answers it.
import { isOptionValueCombinationInEncodedVariant as isIn } from '@shopify/hydrogen-react/optionValueDecoder';
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { products, variantById } from '../src/catalog.mjs';
import { Client, product, variant } from './client.mjs';

const client = new Client();
const titles = ({ nodes }) => nodes.map(({ title }) => title);

suite('the catalogue', () => {
  before(() => client.start());
  after(() => client.stop());

  test('is as large as it says', () => {
    assert.equal(products.length, 125);
    assert.equal(variantById.size, 2_962);
    assert.deepEqual(
      products.slice(0, 4).map(({ variants }) => variants.length),
      [2_048, 185, 15, 3],
    );
  });

  const search = `query Search(
    $query: String!, $first: Int, $after: String, $filters: [ProductFilter!], $unavailable: SearchUnavailableProductsType,
    $types: [SearchType!] = [PRODUCT], $country: CountryCode, $language: LanguageCode
  ) @inContext(country: $country, language: $language) {
    search(
      query: $query, first: $first, after: $after, productFilters: $filters, types: $types, unavailableProducts: $unavailable
    ) {
      totalCount pageInfo { hasNextPage endCursor }
      nodes {
        __typename
        ... on Product {
          id title availableForSale productType priceRange { minVariantPrice { amount currencyCode } maxVariantPrice { amount } }
        }
        ... on Page { title }
      }
    }
  }`;

  test('is searched page by page', async () => {
    const found = [];
    let after = null;
    let pages = 0;
    do {
      const { search: page } = await client.data(search, { query: 'cotton', first: 7, after });
      assert.ok(page.nodes.length <= 7);
      found.push(...page.nodes.map(({ id }) => id));
      after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
      pages += 1;
      assert.ok(after === null || page.nodes.length === 7);
      assert.equal(page.totalCount, 22);
    } while (after !== null);
    assert.equal(new Set(found).size, found.length);
    assert.equal(found.length, 22);
    assert.equal(pages, 4);
  });

  test('finds pages too, where nobody asks for products alone', async () => {
    const { search: found } = await client.data(search, { query: 'guide', first: 5, types: null });
    assert.deepEqual(found.nodes, [{ __typename: 'Page', title: 'Size guide for shirts' }]);
  });

  test('is filtered: one kind is alternatives, kinds add up, unknown ones are ignored', async () => {
    const ask = async (filters) => (await client.data(search, { query: '', first: 100, filters })).search;
    const types = new Set(
      (await ask([{ productType: 'Mugs' }, { productType: 'Shoes' }])).nodes.map(({ productType }) => productType),
    );
    assert.deepEqual([...types].sort(), ['Mugs', 'Shoes']);
    const cheap = await ask([{ productType: 'Mugs' }, { productType: 'Shoes' }, { price: { max: 12.5 } }]);
    assert.deepEqual(titles(cheap), ['Gift Mug', 'Northern Runner']);
    assert.ok((await ask([{ available: false }])).nodes.every(({ availableForSale }) => !availableForSale));
    const shirts = await ask([{ category: { id: 'gid://shopify/TaxonomyCategory/aa-1-13' } }]);
    assert.ok(titles(shirts).includes('Summit Tee') && titles(shirts).includes('Cedar Shirt'), 'a category and what is below it');
    const all = await ask([]);
    assert.equal((await ask([{ productMetafield: { namespace: 'a', key: 'b', value: 'c' } }])).totalCount, all.totalCount);
    await client.steer('POST', '/settings', { filters: ['available'] });
    assert.equal((await ask([{ price: { max: 1 } }])).totalCount, all.totalCount, 'a filter that the merchant switched off');
    await client.steer('POST', '/reset');
  });

  test('is filtered by the price of the country', async () => {
    const ask = async (country, min, max) =>
      titles((await client.data(search, { query: 'gift mug', first: 1, country, filters: [{ price: { min, max } }] })).search);
    assert.deepEqual(await ask('US', 12.5, 12.5), ['Gift Mug']);
    assert.deepEqual(await ask('DE', 11.5, 11.5), ['Gift Mug']);
    assert.deepEqual(await ask('FR', 11.5, 11.5), []);
    assert.deepEqual(await ask('JP', 1_880, 1_880), ['Gift Mug']);
    assert.deepEqual(await ask('KW', 3.838, 3.838), ['Gift Mug']);
  });

  test('puts the unavailable where it is asked to', async () => {
    const ask = async (unavailable) => titles((await client.data(search, { query: 'gift', first: 9, unavailable })).search);
    assert.ok((await ask('SHOW')).includes('Vintage Poster'));
    assert.ok(!(await ask('HIDE')).includes('Vintage Poster'));
    assert.equal((await ask('LAST')).at(-1), 'Vintage Poster');
  });

  test('says prices as each country sees them', async () => {
    const prices = {};
    for (const country of ['US', 'CA', 'DE', 'FR', 'JP', 'KW', 'BR']) {
      const { search: found } = await client.data(search, { query: 'gift mug', first: 1, country });
      const { amount, currencyCode } = found.nodes[0].priceRange.minVariantPrice;
      prices[country] = `${amount} ${currencyCode}`;
    }
    // A country that nothing is sold to sees the shop's own.
    assert.deepEqual(prices, {
      US: '12.5 USD',
      CA: '16.9 CAD',
      DE: '11.5 EUR',
      FR: '12.5 EUR',
      JP: '1880.0 JPY',
      KW: '3.838 KWD',
      BR: '12.5 USD',
    });
    const body = await client.ask(search, { query: 'gift', first: 1, country: 'FR', language: 'FR' });
    assert.deepEqual(body.extensions.context, { country: 'FR', language: 'FR' });
  });

  test('speaks three languages, options included', async () => {
    const document = `query Product(
      $id: ID!, $language: LanguageCode, $selected: [SelectedOptionInput!]!
    ) @inContext(language: $language) {
      product(id: $id) {
        title options { id name optionValues { id name } } variantBySelectedOptions(selectedOptions: $selected) { title }
      }
    }`;
    const ask = (language, selected) => client.data(document, { id: product(1003), language, selected });
    const english = (
      await ask('EN', [
        { name: 'Color', value: 'Blue' },
        { name: 'Size', value: 'S' },
      ])
    ).product;
    const french = (
      await ask('FR', [
        { name: 'Couleur', value: 'Bleu' },
        { name: 'Taille', value: 'S' },
      ])
    ).product;
    assert.deepEqual([english.title, french.title], ['Summit Tee', 'T-shirt du sommet']);
    assert.deepEqual([english.variantBySelectedOptions.title, french.variantBySelectedOptions.title], ['Blue / S', 'Bleu / S']);
    const ids = ({ options }) => options.flatMap(({ id, optionValues }) => [id, ...optionValues.map((value) => value.id)]);
    assert.deepEqual(ids(french), ids(english), 'names change, ids do not');
    assert.equal((await ask('PT_BR', [{ name: 'Color', value: 'Blue' }])).product.title, 'Summit Tee');
    assert.equal((await ask('FR', [{ name: 'Color', value: 'Blue' }])).product.variantBySelectedOptions, null);
  });

  test('is browsed with the query language', async () => {
    const document = `query Browse($query: String, $first: Int = 250, $key: ProductSortKeys = ID) {
        products(first: $first, query: $query, sortKey: $key) { nodes { title productType } pageInfo { hasNextPage } }
      }`;
    const ask = async (query, more) => titles((await client.data(document, { query, ...more })).products);
    assert.equal((await ask('', {})).length, 124, 'the kettle is not sold in the United States');
    assert.deepEqual(await ask('product_type:Posters'), ['Vintage Poster', 'Limited Print']);
    assert.deepEqual(await ask('product_type:Posters OR tag:bolt'), ['Matrix Bolt', 'Vintage Poster', 'Limited Print']);
    assert.deepEqual(await ask('product_type:Posters AND tag:art'), ['Limited Print']);
    assert.deepEqual(await ask('(product_type:Posters OR tag:bolt) NOT tag:art'), ['Matrix Bolt', 'Vintage Poster']);
    assert.deepEqual(await ask('product_type:"Gift Cards"'), ['Gift Card']);
    assert.deepEqual(await ask('sku:BOLT-0001'), ['Matrix Bolt']);
    assert.deepEqual(await ask('title:honey available_for_sale:true'), ['Wildflower Honey']);
    assert.deepEqual(await ask('variants.price:>=1000'), ['Field Camera', 'Oak Workbench']);
    assert.equal((await ask('colour:red')).length, 124, 'a field that is not known');
    assert.deepEqual(await ask('tag:gift', { key: 'TITLE' }), [
      'Free Sticker',
      'Gift Card',
      'Gift Mug',
      'Limited Print',
      'Vintage Poster',
    ]);
  });

  test('is looked up by mixed ids, in order, with nulls', async () => {
    const { nodes } = await client.data(
      `query Lookup($ids: [ID!]!) {
        nodes(ids: $ids) { __typename id ... on Product { handle } ... on ProductVariant { title product { id } } }
      }`,
      {
        ids: [
          variant(1003, 2),
          product(1005),
          product(9),
          variant(9, 9),
          'gid://shopify/Collection/1',
          product(1005),
          product(1017),
        ],
      },
    );
    assert.deepEqual(nodes, [
      { __typename: 'ProductVariant', id: variant(1003, 2), title: 'Black / M', product: { id: product(1003) } },
      { __typename: 'Product', id: product(1005), handle: 'gift-mug' },
      null,
      null,
      null,
      { __typename: 'Product', id: product(1005), handle: 'gift-mug' },
      null,
    ]);
  });

  test('gives a product by its handle, and only one of both', async () => {
    const document = 'query One($id: ID, $handle: String) { product(id: $id, handle: $handle) { id } }';
    assert.deepEqual(await client.data(document, { handle: 'gift-mug' }), { product: { id: product(1005) } });
    assert.deepEqual(await client.data(document, { handle: 'gift-jug' }), { product: null });
    assert.equal((await client.ask(document, {})).errors[0].extensions.code, 'BAD_REQUEST');
  });

  test('answers for 2,048 variants in one query', async () => {
    const { product: bolt } = await client.data(
      `{ product(id: "${product(1001)}") {
        variantsCount { count precision } encodedVariantExistence encodedVariantAvailability options { name optionValues { name } }
      } }`,
    );
    assert.deepEqual(bolt.variantsCount, { count: 2_048, precision: 'EXACT' });
    assert.deepEqual(
      bolt.options.map(({ optionValues }) => optionValues.length),
      [16, 16, 8],
    );
    assert.ok(isIn([15, 15, 7], bolt.encodedVariantExistence));
    assert.ok(isIn([0, 0, 0], bolt.encodedVariantExistence) && !isIn([0, 0], bolt.encodedVariantAvailability));
    const available = products[0].variants.filter(({ stock }) => stock !== 0).length;
    assert.ok(available > 1_000 && available < 2_000, `${available}`);
  });

  test('selects variants with the defaults that the schema states', async () => {
    const ask = async (selected, more = '') =>
      (
        await client.data(
          `query Select($selected: [SelectedOptionInput!]!) { product(id: "${product(1003)}") {
      exact: variantBySelectedOptions(selectedOptions: $selected ${more}) { title }
      or: selectedOrFirstAvailableVariant(selectedOptions: $selected ${more}) { title } } }`,
          { selected },
        )
      ).product;
    const options = (color, size) => [
      { name: 'Color', value: color },
      { name: 'Size', value: size },
    ];
    assert.deepEqual(await ask(options('Red', 'L')), { exact: { title: 'Red / L' }, or: { title: 'Red / L' } });
    assert.deepEqual(await ask(options('Green', 'XL')), { exact: null, or: { title: 'Black / S' } });
    assert.deepEqual(await ask(options('red', 'l')), { exact: null, or: { title: 'Black / S' } });
    assert.deepEqual(await ask(options('red', 'l'), 'caseInsensitiveMatch: true'), {
      exact: { title: 'Red / L' },
      or: { title: 'Red / L' },
    });
    // Unknown options are ignored by the one and not by the other.
    const unknown = [...options('Red', 'L'), { name: 'Fit', value: 'Slim' }];
    assert.deepEqual(await ask(unknown), { exact: null, or: { title: 'Red / L' } });
    assert.deepEqual(await ask(unknown, 'ignoreUnknownOptions: true'), { exact: { title: 'Red / L' }, or: { title: 'Red / L' } });
  });

  test('has the trouble that README promises', async () => {
    const fields = `title handle onlineStoreUrl description descriptionHtml availableForSale requiresSellingPlan isGiftCard
      options { name optionValues { name } } media(first: 9) { nodes { __typename mediaContentType } } featuredImage { url }
      variants(first: 9) { nodes { title barcode availableForSale currentlyNotInStock price { amount } compareAtPrice { amount }
        unitPrice { amount } unitPriceMeasurement { referenceValue referenceUnit quantityValue quantityUnit }
        quantityRule { minimum maximum increment } requiresShipping } }`;
    const of = async (number, country = 'US') =>
      (await client.data(`query One @inContext(country: ${country}) { product(id: "${product(number)}") { ${fields} } }`))
        .product;
    const variants = async (number, ...keys) =>
      (await of(number)).variants.nodes.map((entry) => keys.map((key) => entry[key]?.amount ?? entry[key]));

    assert.deepEqual(await variants(1004, 'availableForSale', 'currentlyNotInStock'), [
      [true, false],
      [true, true],
      [false, true],
    ]);
    const mug = await of(1005);
    assert.deepEqual(mug.options, [{ name: 'Title', optionValues: [{ name: 'Default Title' }] }]);
    assert.equal(mug.variants.nodes[0].title, 'Default Title');
    assert.equal((await of(1006)).availableForSale, false);
    assert.deepEqual(await variants(1007, 'price', 'compareAtPrice'), [
      ['70.2', '100.0'],
      ['70.2', '0.0'],
      ['70.2', '70.2'],
      ['70.2', '50.0'],
    ]);
    assert.deepEqual(await variants(1008, 'unitPrice'), [['4.8'], ['4.0'], ['3.5']]);
    const lamp = await of(1009);
    assert.match(lamp.descriptionHtml, /<script>.*\u202e.*\u0007/s);
    assert.equal(lamp.onlineStoreUrl, 'javascript:alert(document.domain)');
    assert.match(lamp.featuredImage.url, /^http:/);
    assert.equal((await of(1010)).onlineStoreUrl, null);
    assert.match((await of(1011)).onlineStoreUrl, /^http:/);
    const camera = await of(1012);
    assert.deepEqual(
      camera.media.nodes.map(({ mediaContentType }) => mediaContentType),
      ['IMAGE', 'VIDEO', 'EXTERNAL_VIDEO', 'MODEL_3D'],
    );
    assert.deepEqual(
      camera.variants.nodes.map(({ barcode }) => barcode.length),
      [13, 12, 8, 14, 5],
    );
    assert.equal(camera.variants.nodes[0].price.amount, '1000.0');
    assert.equal((await of(1014)).variants.nodes[0].requiresShipping, false);
    const stone = await of(1015);
    assert.deepEqual([stone.description, stone.descriptionHtml, stone.featuredImage], ['', '', null]);
    assert.deepEqual(await variants(1016, 'quantityRule'), [[{ minimum: 6, maximum: 24, increment: 6 }]]);
    assert.equal(await of(1017), null);
    assert.equal((await of(1017, 'DE')).title, 'Continental Kettle');
    assert.equal((await of(1018)).requiresSellingPlan, true);
    assert.deepEqual(await variants(1020, 'price'), [['0.0']]);
  });

  test('says what it does not emulate instead of having nothing there', async () => {
    const { errors } = await client.ask('{ menu(handle: "main") { title } }');
    assert.equal(errors[0].extensions.code, 'NOT_EMULATED');
  });
});
