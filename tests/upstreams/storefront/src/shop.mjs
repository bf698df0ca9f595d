// What the shop says about itself, in no country and language in particular but the policies' titles.
import { shippingCountries } from './market.mjs';
import { translate } from './words.mjs';

export const shopUrl = 'https://storefront.example';

const policy = (handle, title) => ({
  __typename: 'ShopPolicy',
  id: `gid://shopify/ShopPolicy/${handle}`,
  handle,
  title: (_, { here }) => translate(title, here.language),
  body: `<p>${title}</p>`,
  url: `${shopUrl}/policies/${handle}`,
});

const policies = {
  privacyPolicy: policy('privacy-policy', 'Privacy policy'),
  refundPolicy: policy('refund-policy', 'Refund policy'),
  shippingPolicy: policy('shipping-policy', 'Shipping policy'),
  termsOfService: policy('terms-of-service', 'Terms of service'),
  // A shop without these.
  contactInformation: null,
  legalNotice: null,
  termsOfSale: null,
  subscriptionPolicy: null,
};

export const policyById = new Map(
  Object.values(policies)
    .filter(Boolean)
    .map((entry) => [entry.id, entry]),
);

export const shop = {
  __typename: 'Shop',
  id: 'gid://shopify/Shop/1',
  name: 'Main Street Supply',
  description: 'Everything for a test.',
  moneyFormat: '${{amount}}',
  primaryDomain: { __typename: 'Domain', host: 'storefront.example', sslEnabled: true, url: shopUrl },
  paymentSettings: {
    __typename: 'PaymentSettings',
    acceptedCardBrands: ['VISA', 'MASTERCARD'],
    cardVaultUrl: 'https://vault.example',
    countryCode: 'US',
    currencyCode: 'USD',
    enabledPresentmentCurrencies: ['USD', 'CAD', 'EUR', 'JPY', 'KWD'],
    shopifyPaymentsAccountId: null,
    supportedDigitalWallets: [],
  },
  shipsToCountries: shippingCountries,
  brand: null,
  customerAccountTranslations: null,
  customerAccountUrl: null,
  shopPayInstallmentsPricing: null,
  socialLoginProviders: [],
  metafield: null,
  metafields: ({ identifiers }) => identifiers.map(() => null),
  ...policies,
};
