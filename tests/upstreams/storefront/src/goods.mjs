// The goods with a point to make. README.md lists them for the tests that rely on them: numbers and names stay as they are.
//
// `sold(position, index)` says what of a combination there is: undefined for no such variant, otherwise what differs from
// an ordinary variant. Prices are US cents.
const clothing = { id: 'aa-1-13-8', name: 'T-Shirts' };
const shoes = { id: 'aa-8-8', name: 'Athletic Shoes' };
const hardware = { id: 'ha-7-1', name: 'Bolts' };
const kitchen = { id: 'hg-11-10-1-3', name: 'Mugs' };
const food = { id: 'fb-2-3-4', name: 'Honey' };
const lighting = { id: 'hg-13-7', name: 'Lamps' };
const fabric = { id: 'ae-2-1-2-6', name: 'Fabric' };
const cameras = { id: 'co-2-1', name: 'Digital Cameras' };

const numbers = (count, name) => Array.from({ length: count }, (_, index) => name(index + 1));
const backorder = { stock: 0, oversell: true };
const soldOut = { stock: 0 };

/** Text that would do harm where it is taken for markup, or for what it looks like. */
const hostileHtml =
  '<p onclick="alert(1)">A lamp.<script>alert("lamp")</script><img src=x onerror=alert(2)>' +
  '<a href="javascript:alert(3)">More</a></p>\u202e\u2066dlog yllaer\u2069\u202c\u0007\u200b<style>body{display:none}</style>';

export const goods = [
  {
    id: 1001,
    title: 'Matrix Bolt',
    type: 'Hardware',
    category: hardware,
    vendor: 'Latticeworks',
    tags: ['bolt', 'industrial'],
    options: [
      ['Diameter', numbers(16, (n) => `M${n + 2}`)],
      ['Length', numbers(16, (n) => `${n * 5} mm`)],
      ['Finish', ['Plain', 'Zinc', 'Black Oxide', 'Brass', 'Nickel', 'Chrome', 'Galvanized', 'Stainless']],
    ],
    cents: 70,
    // All 2,048 exist, and about a third is gone. M3, 5 mm is gone in every finish.
    sold: ([diameter, length, finish], index) => ({
      cents: 70 + diameter * 13 + length * 5 + finish * 21,
      ...((diameter === 0 && length === 0) || (diameter * 7 + length * 3 + finish * 5) % 10 < 3 ? soldOut : {}),
      sku: `BOLT-${String(index + 1).padStart(4, '0')}`,
    }),
  },
  {
    id: 1002,
    title: 'Sparse Fabric',
    type: 'Fabrics',
    category: fabric,
    vendor: 'Weft & Co',
    tags: ['fabric', 'sewing'],
    options: [
      ['Color', numbers(24, (n) => `Shade ${n}`)],
      ['Width', numbers(20, (n) => `${n * 10} cm`)],
      ['Material', ['Cotton', 'Linen', 'Wool', 'Silk', 'Canvas', 'Felt']],
    ],
    cents: 1200,
    // About one combination of sixteen exists. Nothing is made of felt, though the option has the value.
    sold: ([color, width, material]) => {
      if (material === 5 || (color * 31 + width * 17 + material * 7) % 13 !== 0) return undefined;
      return (color + width) % 4 === 0 ? soldOut : {};
    },
  },
  {
    id: 1003,
    title: 'Summit Tee',
    type: 'Shirts',
    category: clothing,
    vendor: 'Ridgeline',
    tags: ['tee', 'cotton', 'summer'],
    options: [
      ['Color', ['Black', 'Blue', 'Green', 'Red']],
      ['Size', ['S', 'M', 'L', 'XL']],
    ],
    cents: 2500,
    // No green in XL; red is sold out, and so is blue in M.
    sold: ([color, size]) => {
      if (color === 2 && size === 3) return undefined;
      return color === 3 || (color === 1 && size === 1) ? soldOut : {};
    },
  },
  {
    id: 1004,
    title: 'Harbor Parka',
    type: 'Jackets',
    category: clothing,
    vendor: 'Ridgeline',
    tags: ['winter'],
    options: [['Size', ['S', 'M', 'L']]],
    cents: 18900,
    // M is out of stock and sold all the same; L is out of stock.
    sold: ([size]) => [{}, backorder, soldOut][size],
  },
  {
    id: 1005,
    title: 'Gift Mug',
    type: 'Mugs',
    category: kitchen,
    vendor: 'Kiln House',
    tags: ['gift'],
    cents: 1250,
    sold: () => ({ sku: 'MUG-1' }),
  },
  { id: 1006, title: 'Vintage Poster', type: 'Posters', vendor: 'Paper Trail', tags: ['gift'], cents: 4000, sold: () => soldOut },
  {
    id: 1007,
    title: 'Clearance Boots',
    type: 'Shoes',
    category: shoes,
    vendor: 'Ridgeline',
    tags: ['sale'],
    options: [['Size', ['40', '41', '42', '43']]],
    cents: 7020,
    // Reduced, from nothing (Shopify's "0.0"), from the same price, and from a lower one.
    sold: ([size]) => ({ compareAtCents: [10000, 0, 7020, 5000][size] }),
  },
  {
    id: 1008,
    title: 'Wildflower Honey',
    type: 'Food',
    category: food,
    vendor: 'Apiary Nine',
    tags: ['food'],
    options: [['Size', ['125 g', '250 g', '1 kg']]],
    cents: 600,
    sold: ([size]) => ({
      cents: [600, 1000, 3500][size],
      unit: {
        measuredType: 'WEIGHT',
        quantityUnit: size === 2 ? 'KG' : 'G',
        quantityValue: [125, 250, 1][size],
        referenceUnit: 'G',
        referenceValue: 100,
      },
    }),
    html: '<p>Honey from <strong>wild</strong> meadows.</p><ul><li>Unfiltered</li></ul>',
  },
  {
    id: 1009,
    title: 'Hostile \u202eLamp\u202c',
    handle: 'hostile-lamp',
    type: 'Lamps',
    category: lighting,
    vendor: 'Test & <b>Sons</b>',
    tags: ['<script>'],
    cents: 9900,
    html: hostileHtml,
    url: 'javascript:alert(document.domain)',
    options: [['Color', ['<i>White</i>', 'Black"onload="', 'Blue, or: 1-2 3']]],
    sold: () => ({}),
    media: [
      { kind: 'image', url: 'http://cdn.example/lamp.png', alt: '"><script>alert(1)</script>' },
      { kind: 'image', url: 'javascript:alert(1)', alt: '' },
    ],
  },
  {
    id: 1010,
    title: 'Unlisted Sample',
    type: 'Samples',
    vendor: 'Kiln House',
    tags: [],
    cents: 100,
    url: null,
    sold: () => ({}),
  },
  {
    id: 1011,
    title: 'Insecure Link',
    type: 'Samples',
    vendor: 'Kiln House',
    tags: [],
    cents: 250,
    url: 'http://shop.example/products/insecure-link',
    sold: () => ({}),
  },
  {
    id: 1012,
    title: 'Field Camera',
    type: 'Cameras',
    category: cameras,
    vendor: 'Optik',
    tags: ['photo'],
    options: [['Kit', ['Body', 'Body + 35 mm', 'Body + 50 mm', 'Travel', 'Studio']]],
    cents: 100000,
    // EAN-13, UPC-A, EAN-8, GTIN-14, and one that is none.
    sold: ([kit]) => ({
      cents: 100000 + kit * 25000,
      barcode: ['4006381333931', '036000291452', '96385074', '10012345678902', 'KIT-5'][kit],
    }),
    media: [
      { kind: 'image', url: 'https://cdn.example/camera.jpg', alt: 'The camera' },
      { kind: 'video', url: 'https://cdn.example/camera.mp4', alt: 'In the field' },
      { kind: 'external', url: 'https://www.youtube.com/watch?v=abc', alt: 'Review' },
      { kind: 'model', url: 'https://cdn.example/camera.glb', alt: 'From all sides' },
    ],
  },
  {
    id: 1013,
    title: 'Limited Print',
    type: 'Posters',
    vendor: 'Paper Trail',
    tags: ['gift', 'art'],
    cents: 12000,
    sold: () => ({ stock: 3 }),
  },
  {
    id: 1014,
    title: 'Gift Card',
    type: 'Gift Cards',
    vendor: 'Main Street',
    tags: ['gift'],
    giftCard: true,
    options: [['Denominations', ['$25', '$50']]],
    cents: 2500,
    sold: ([value]) => ({ cents: [2500, 5000][value], digital: true }),
  },
  {
    id: 1015,
    title: 'Plain Stone',
    type: 'Samples',
    vendor: 'Kiln House',
    tags: [],
    cents: 300,
    html: '',
    media: [],
    sold: () => ({}),
  },
  {
    id: 1016,
    title: 'Case of Bottles',
    type: 'Glass',
    vendor: 'Kiln House',
    tags: [],
    cents: 450,
    sold: () => ({ rule: { minimum: 6, maximum: 24, increment: 6 } }),
  },
  {
    id: 1017,
    title: 'Continental Kettle',
    type: 'Kitchen',
    vendor: 'Kiln House',
    tags: [],
    cents: 8000,
    countries: ['DE', 'FR'],
    sold: () => ({}),
  },
  {
    id: 1018,
    title: 'Coffee Club',
    type: 'Food',
    vendor: 'Apiary Nine',
    tags: ['food'],
    cents: 1900,
    subscription: true,
    sold: () => ({}),
  },
  {
    id: 1019,
    title: 'Oak Workbench',
    type: 'Furniture',
    vendor: 'Latticeworks',
    tags: [],
    cents: 120000,
    freight: true,
    sold: () => ({ stock: 5 }),
  },
  { id: 1020, title: 'Free Sticker', type: 'Samples', vendor: 'Paper Trail', tags: ['gift'], cents: 0, sold: () => ({}) },
];
