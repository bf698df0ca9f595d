//! Names of members and operations, and which of them mean the same.

use super::shape::Shape;

pub(super) const ID: &[&str] = &["id", "uuid", "pk", "productid", "code", "sku", "slug", "number"];
pub(super) const TITLE: &[&str] = &["title", "name", "label", "productname", "displayname"];
pub(super) const DESCRIPTION: &[&str] =
    &["description", "descriptionhtml", "body", "summary", "shortdescription", "text"];
pub(super) const HANDLE: &[&str] = &["slug", "handle", "urlkey"];
pub(super) const SKU: &[&str] = &["sku", "upc", "ean", "partnersku", "articlenumber"];
pub(super) const VARIANTS: &[&str] = &["variants", "children", "skus", "productvariants", "items"];
pub(super) const PRICE: &[&str] = &[
    "pricewithtax",
    "priceincltax",
    "inclTax",
    "grossprice",
    "saleprice",
    "price",
    "unitprice",
    "unitpricewithtax",
    "amount",
    "regularprice",
];
pub(super) const AMOUNT: &[&str] = &["incltax", "gross", "amount", "value", "centamount", "withtax", "price"];
pub(super) const CURRENCY: &[&str] = &["currency", "currencycode", "pricecurrency"];
pub(super) const AVAILABLE: &[&str] =
    &["available", "instock", "isavailable", "isavailabletobuy", "availableforsale", "purchasable", "stocklevel"];
pub(super) const STOCK: &[&str] = &["stock", "quantity", "inventory", "numavailable", "stockquantity", "numinstock"];
pub(super) const IMAGES: &[&str] = &["images", "media", "assets", "pictures", "gallery"];
pub(super) const IMAGE: &[&str] = &["image", "featuredasset", "thumbnail", "picture", "imageurl"];
pub(super) const ADDRESS_OF_IMAGE: &[&str] = &["url", "original", "preview", "src", "source", "href"];
pub(super) const LINES: &[&str] = &["lines", "items", "lineitems", "entries", "products"];
pub(super) const QUANTITY: &[&str] = &["quantity", "qty", "count"];
pub(super) const VARIANT: &[&str] = &[
    "variant",
    "variantid",
    "productvariantid",
    "productvariant",
    "merchandiseid",
    "product",
    "productid",
    "sku",
    "url",
];
pub(super) const TOTAL: &[&str] = &["totalwithtax", "totalincltax", "grandtotal", "total", "totalprice", "totalamount"];
pub(super) const COUNT: &[&str] = &["totalitems", "totalcount", "total", "count", "totalresults"];
pub(super) const NEXT: &[&str] = &["next", "nextpage", "hasmore", "hasnextpage", "nextcursor"];
pub(super) const WORDS: &[&str] = &["q", "query", "search", "term", "keyword", "keywords", "searchterm", "s", "text"];
pub(super) const PAGE: &[&str] = &["page", "pagenumber", "p"];
pub(super) const OFFSET: &[&str] = &["offset", "skip", "start", "from"];
pub(super) const AFTER: &[&str] = &["after", "cursor", "pagetoken"];
pub(super) const SIZE: &[&str] = &["limit", "take", "pagesize", "perpage", "first", "size"];
pub(super) const EMAIL: &[&str] = &["email", "guestemail", "emailaddress", "customeremail"];
pub(super) const CODE: &[&str] = &["code", "couponcode", "vouchercode", "discountcode", "coupon", "voucher"];

/// Returns a name without case and separators.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// Returns `true` if a name is one of several that mean the same.
pub(super) fn is(name: &str, names: &[&str]) -> bool {
    let name = plain(name);
    names.iter().any(|known| plain(known) == name)
}

/// Returns `true` if a name has one of the words in it.
pub(super) fn has(name: &str, words: &[&str]) -> bool {
    let name = plain(name);
    words.iter().any(|word| name.contains(word))
}

/// Returns the member that is best called by one of the names, which are in order of preference.
pub(super) fn member<'s>(shape: &'s Shape, names: &[&str]) -> Option<(&'s str, &'s Shape)> {
    names.iter().find_map(|known| {
        let member = shape.members().iter().find(|(name, ..)| plain(name) == plain(known))?;
        Some((member.0.as_str(), &member.1))
    })
}
