// Where a cart goes: addresses, the groups of lines that travel together, and what each way of delivery costs.
import { createHash } from 'node:crypto';
import { sellsIn } from './market.mjs';
import { convert } from './money.mjs';

const ways = {
  parcel: [
    { code: 'Standard', title: 'Standard', description: '4 to 6 days', cents: 590, type: 'SHIPPING' },
    { code: 'Express', title: 'Express', description: '', cents: 1500, type: 'SHIPPING' },
  ],
  freight: [{ code: 'Freight', title: 'Freight to the kerb', description: null, cents: 9900, type: 'SHIPPING' }],
};
// What a carrier calculates: shown to those who ask for it alone.
const carried = { code: 'Carrier', title: 'Carrier', description: null, cents: 845, type: 'SHIPPING', calculated: true };
const pickUp = { code: 'Main Street', title: 'Main Street store', description: 'Ready in 2 hours', cents: 0, type: 'PICK_UP' };

const beside = { US: [pickUp], CA: [carried] };

const digest = (text) => createHash('sha256').update(text).digest('hex').slice(0, 32);

/** An address of which nothing is known. */
export const noAddress = Object.fromEntries(
  [
    'firstName',
    'lastName',
    'company',
    'address1',
    'address2',
    'city',
    'provinceCode',
    'zip',
    'countryCode',
    'phone',
    'formattedArea',
    'latitude',
    'longitude',
  ].map((field) => [field, null]),
);

/** The address that counts, as far as it is known: the selected one, or else the buyer's country alone. */
export function destination({ addresses, country, countryKnown }) {
  const chosen = addresses.find(({ selected }) => selected) ?? addresses[0];
  if (chosen) return chosen.address;
  return countryKnown ? { ...noAddress, countryCode: country } : undefined;
}

/** The groups of a cart's lines, each with its options and the one that is taken. None before there is a destination. */
export function deliveryGroups(cart, currency) {
  const address = destination(cart);
  if (!address) return [];
  return ['parcel', 'freight'].flatMap((kind) => {
    const lines = cart.lines.filter(
      ({ variant, quantity }) => quantity > 0 && !variant.digital && (variant.product.freight === true) === (kind === 'freight'),
    );
    if (lines.length === 0) return [];
    const id = `gid://shopify/CartDeliveryGroup/${digest(`${cart.token} ${kind}`)}`;
    const country = address.countryCode;
    const offered = sellsIn(country) ? [...ways[kind], ...(kind === 'parcel' ? (beside[country] ?? []) : [])] : [];
    const options = offered.map((way) => ({
      ...way,
      handle: `${digest(id)}-${digest(way.code)}`,
      cost: convert(way.cents, currency),
    }));
    // Shopify takes the first until somebody chooses.
    const selected = options.find(({ handle }) => handle === cart.chosen.get(id)) ?? options[0];
    return [{ id, lines, address, options, selected }];
  });
}

const texts = ['firstName', 'lastName', 'company', 'address1', 'address2', 'city', 'zip'];
const required = ['lastName', 'address1', 'city', 'zip'];
const provinces = { US: /^[A-Z]{2}$/, CA: /^(AB|BC|MB|NB|NL|NS|NT|NU|ON|PE|QC|SK|YT)$/ };
const zips = { US: /^\d{5}(-\d{4})?$/, CA: /^[A-Z]\d[A-Z] ?\d[A-Z]\d$/i, DE: /^\d{5}$/, FR: /^\d{5}$/, JP: /^\d{3}-?\d{4}$/ };

/** What is wrong with an address, as `{code, field, message}`. Only STRICT looks further than the country. */
export function addressFaults(address, strategy) {
  const faults = [];
  const fault = (code, field, message) => faults.push({ code, field, message });
  if (!address.countryCode) fault('ADDRESS_FIELD_IS_REQUIRED', 'countryCode', 'Country is required');
  if (strategy !== 'STRICT') return faults;
  const { countryCode: country } = address;
  for (const field of required) {
    if (!address[field]) fault('ADDRESS_FIELD_IS_REQUIRED', field, `${field} is required`);
  }
  for (const field of texts) {
    const text = address[field] ?? '';
    if (text.length > 255) fault('ADDRESS_FIELD_IS_TOO_LONG', field, `${field} is too long`);
    if (/<[^>]*>/.test(text)) fault('ADDRESS_FIELD_CONTAINS_HTML_TAGS', field, `${field} cannot contain HTML tags`);
    if (/https?:\/\//i.test(text)) fault('ADDRESS_FIELD_CONTAINS_URL', field, `${field} cannot contain a URL`);
    if (/\p{Extended_Pictographic}/u.test(text)) fault('ADDRESS_FIELD_CONTAINS_EMOJIS', field, `${field} cannot contain emojis`);
  }
  if (address.zip && zips[country] && !zips[country].test(address.zip))
    fault('INVALID_ZIP_CODE_FOR_COUNTRY', 'zip', 'Enter a valid ZIP code for the country');
  if (address.zip === '00000') fault('ZIP_CODE_NOT_SUPPORTED', 'zip', 'We do not deliver there');
  if (provinces[country] && !provinces[country].test(address.provinceCode ?? ''))
    fault('PROVINCE_NOT_FOUND', 'provinceCode', 'Select a state or province');
  return faults;
}
