// Amounts are integers in the smallest unit of their currency until they are printed. Conversions are made up and fixed: no
// test may depend on a rate of the day.
const currencies = {
  USD: { digits: 2, per: [1, 1], step: 1, symbol: '$', name: 'United States Dollar' },
  CAD: { digits: 2, per: [27, 20], step: 5, symbol: '$', name: 'Canadian Dollar' },
  EUR: { digits: 2, per: [23, 25], step: 1, symbol: '€', name: 'Euro' },
  // Of one hundredth of a dollar: 1.5 yen.
  JPY: { digits: 0, per: [3, 2], step: 10, symbol: '¥', name: 'Japanese Yen' },
  // Of one hundredth of a dollar: 3.07 fils.
  KWD: { digits: 3, per: [307, 100], step: 1, symbol: 'د.ك', name: 'Kuwaiti Dinar' },
};

export const currency = (code) => currencies[code];

/** What `cents` US cents cost in a currency, rounded half up to what that currency is priced in. */
export function convert(cents, code) {
  const {
    per: [times, by],
    step,
  } = currencies[code];
  return Math.floor((cents * times * 2 + by * step) / (by * step * 2)) * step;
}

/** A decimal as Shopify writes it: no trailing zeros, but one digit behind the point at least. */
export function decimal(amount, code) {
  const { digits } = currencies[code];
  const sign = amount < 0 ? '-' : '';
  const text = String(Math.abs(amount)).padStart(digits + 1, '0');
  const whole = text.slice(0, text.length - digits);
  const fraction = digits === 0 ? '' : text.slice(-digits).replace(/0+$/, '');
  return `${sign}${whole}.${fraction || '0'}`;
}

export const money = (amount, code) => ({ __typename: 'MoneyV2', amount: decimal(amount, code), currencyCode: code });

/** The same with all digits that the currency has, which is how the costs of deliveries come. */
export function fixedMoney(amount, code) {
  const { digits } = currencies[code];
  const [whole, fraction] = decimal(amount, code).split('.');
  const text = digits === 0 ? decimal(amount, code) : `${whole}.${fraction.padEnd(digits, '0')}`;
  return { __typename: 'MoneyV2', amount: text, currencyCode: code };
}
