//! The columns of an export, under their older and newer names.

/// Maximum number of options of a product.
pub(super) const AXES: usize = 3;

/// A column that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Column {
    Handle,
    Title,
    Body,
    Vendor,
    Category,
    GoogleCategory,
    Type,
    Tags,
    Published,
    Status,
    OptionName(usize),
    OptionValue(usize),
    Sku,
    Barcode,
    Price,
    ListPrice,
    Tracker,
    Quantity,
    Policy,
    Grams,
    RequiresShipping,
    Image,
    ImagePosition,
    ImageText,
    VariantImage,
}

impl Column {
    pub(super) const ALL: [Self; 29] = [
        Self::Handle,
        Self::Title,
        Self::Body,
        Self::Vendor,
        Self::Category,
        Self::GoogleCategory,
        Self::Type,
        Self::Tags,
        Self::Published,
        Self::Status,
        Self::OptionName(0),
        Self::OptionValue(0),
        Self::OptionName(1),
        Self::OptionValue(1),
        Self::OptionName(2),
        Self::OptionValue(2),
        Self::Sku,
        Self::Barcode,
        Self::Price,
        Self::ListPrice,
        Self::Tracker,
        Self::Quantity,
        Self::Policy,
        Self::Grams,
        Self::RequiresShipping,
        Self::Image,
        Self::ImagePosition,
        Self::ImageText,
        Self::VariantImage,
    ];

    pub(super) const REQUIRED: [Self; 3] = [Self::Handle, Self::Title, Self::Price];

    /// The names it has had, lower case.
    pub(super) const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Handle => &["handle", "url handle"],
            Self::Title => &["title"],
            Self::Body => &["body (html)", "body html", "description"],
            Self::Vendor => &["vendor"],
            Self::Category => &["product category", "standard product type", "standardized product type"],
            Self::GoogleCategory => &["google shopping / google product category"],
            Self::Type => &["type", "custom product type"],
            Self::Tags => &["tags"],
            Self::Published => &["published", "published on online store"],
            Self::Status => &["status"],
            Self::OptionName(0) => &["option1 name"],
            Self::OptionName(1) => &["option2 name"],
            Self::OptionName(_) => &["option3 name"],
            Self::OptionValue(0) => &["option1 value"],
            Self::OptionValue(1) => &["option2 value"],
            Self::OptionValue(_) => &["option3 value"],
            Self::Sku => &["variant sku", "sku"],
            Self::Barcode => &["variant barcode", "barcode"],
            Self::Price => &["variant price", "price"],
            Self::ListPrice => &["variant compare at price", "compare-at price", "compare at price"],
            Self::Tracker => &["variant inventory tracker", "inventory tracker"],
            Self::Quantity => &["variant inventory qty", "inventory quantity"],
            Self::Policy => &["variant inventory policy", "continue selling when out of stock"],
            Self::Grams => &["variant grams", "weight value (grams)"],
            Self::RequiresShipping => &["variant requires shipping", "requires shipping"],
            Self::Image => &["image src", "product image url"],
            Self::ImagePosition => &["image position"],
            Self::ImageText => &["image alt text"],
            Self::VariantImage => &["variant image", "variant image url"],
        }
    }

    pub(super) fn of(name: &str) -> Option<Self> {
        let name = name.trim_start_matches('\u{feff}').trim().to_ascii_lowercase();
        Self::ALL.into_iter().find(|column| column.names().contains(&name.as_str()))
    }
}
