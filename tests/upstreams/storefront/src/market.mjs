// Where the shop sells: which country sees which currency, and which languages there are.
import { convert, currency } from './money.mjs';

const languages = {
  EN: { name: 'English', endonymName: 'English' },
  FR: { name: 'French', endonymName: 'français' },
  ES: { name: 'Spanish', endonymName: 'español' },
};

const countries = {
  US: { name: 'United States', currency: 'USD', unitSystem: 'IMPERIAL_SYSTEM' },
  CA: { name: 'Canada', currency: 'CAD', unitSystem: 'METRIC_SYSTEM' },
  DE: { name: 'Germany', currency: 'EUR', unitSystem: 'METRIC_SYSTEM' },
  // The same currency as in Germany, at other prices: what a euro price is depends on the country.
  FR: { name: 'France', currency: 'EUR', unitSystem: 'METRIC_SYSTEM', surcharge: 100 },
  JP: { name: 'Japan', currency: 'JPY', unitSystem: 'METRIC_SYSTEM' },
  KW: { name: 'Kuwait', currency: 'KWD', unitSystem: 'METRIC_SYSTEM' },
};

export const homeCountry = 'US';
export const homeLanguage = 'EN';
export const sellsIn = (country) => country in countries;

/** The market that a request is about: what the shop does not know is as if it had not been said. */
export function market(country, language) {
  const code = sellsIn(country) ? country : homeCountry;
  return { country: code, language: language in languages ? language : homeLanguage, currency: countries[code].currency };
}

/** What an article of `cents` US cents costs in a market, in the smallest unit of its currency. */
export function priced(cents, { country, currency: code }) {
  const { surcharge = 0 } = countries[country];
  return cents === 0 ? 0 : convert(cents, code) + surcharge;
}

const language = (code) => ({ __typename: 'Language', isoCode: code, ...languages[code] });

function describe(code) {
  const { name, currency: money, unitSystem } = countries[code];
  const { name: moneyName, symbol } = currency(money);
  return {
    __typename: 'Country',
    isoCode: code,
    name,
    unitSystem,
    currency: { __typename: 'Currency', isoCode: money, name: moneyName, symbol },
    availableLanguages: Object.keys(languages).map(language),
    defaultLanguage: language(homeLanguage),
    market: { __typename: 'Market', id: `gid://shopify/Market/${code}`, handle: code.toLowerCase() },
  };
}

export const localization = (here) => ({
  __typename: 'Localization',
  availableCountries: Object.keys(countries).map(describe),
  availableLanguages: Object.keys(languages).map(language),
  country: describe(here.country),
  language: language(here.language),
  market: describe(here.country).market,
});

export const shippingCountries = Object.keys(countries);
