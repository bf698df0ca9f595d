//! Scripts: the steps that each kind of shopper takes.

use serde_json::{Value, json};
use ucp_core::Operation;

use super::{
    Options,
    knowledge::elements,
    purchase::Wishes,
    session::{End, Persona, Step},
    shopper::{Choice, GivingUp, Shopper, give_up},
};

/// Currencies that shoppers think in.
const CURRENCIES: [&str; 4] = ["EUR", "GBP", "JPY", "USD"];

impl Shopper<'_> {
    /// Plays a persona to its end.
    pub(super) async fn play(&mut self, persona: Persona, options: &Options) -> Result<End, GivingUp> {
        let choice = if self.offers(Operation::SearchCatalog) && self.has_catalog() {
            match persona {
                Persona::Gift => self.gift().await?,
                Persona::ExactSku => self.exact_sku().await?,
                Persona::WrongOptions => self.wrong_options().await?,
                Persona::OtherCurrency => self.other_currency().await?,
                _ => self.vague_words().await?,
            }
        } else {
            self.known_item()?
        };
        let wishes = Wishes {
            pick_up: persona == Persona::PickUp,
            declined: persona == Persona::DeclinedCard,
            expired: persona == Persona::ExpiredCheckout,
            undecided: persona == Persona::ChangesOfMind,
        };
        self.buy(&choice, &wishes, options).await
    }

    /// Returns `true` if the catalog is what shoppers know, and not a list of goods by name.
    fn has_catalog(&self) -> bool {
        self.knowledge.items.iter().all(|item| item.product.is_some())
    }

    /// Looks for something of a category within a budget, and raises the budget once.
    async fn gift(&mut self) -> Result<Choice, GivingUp> {
        self.enter(Step::Find);
        let Some(item) = self.item() else { return give_up("nothing to be found", "the catalog shows nothing") };
        let mut budget = item.amount + item.amount / 10;
        if self.random.below(4) == 0 {
            budget /= 2;
        }
        let words = self.words(&item.title, 1);
        let mut seen = String::new();
        for _ in 0..2 {
            let mut filters = json!({ "price": { "max": budget }, "available": true });
            if let Some(category) = &item.category {
                filters["categories"] = json!([category]);
            }
            let found = self.search(None, filters).await?;
            let found = if found.is_empty() {
                self.search(Some(&words), json!({ "price": { "max": budget } })).await?
            } else {
                found
            };
            let dear =
                |product: &&Value| product["price_range"]["min"]["amount"].as_i64().is_some_and(|least| least > budget);
            if let Some(product) = found.iter().find(dear) {
                let why = "a product is dearer than the filter allows";
                self.obstacle(Operation::SearchCatalog, "price filter", why, &product["price_range"].to_string());
            }
            if let Some(product) = found.iter().find(|product| !dear(product)) {
                return self.choose(product).await;
            }
            seen = format!("{words:?} for at most {budget}");
            budget *= 2;
        }
        give_up("nothing within the budget", seen)
    }

    /// Looks up a number, and searches for it where that leads nowhere.
    async fn exact_sku(&mut self) -> Result<Choice, GivingUp> {
        self.enter(Step::Find);
        let Some(item) = self.item() else { return give_up("nothing to be found", "the catalog shows nothing") };
        let number = item.sku.clone().unwrap_or_else(|| item.variant.clone());
        let mut found = if self.offers(Operation::LookupCatalog) { self.look_up(&number).await? } else { Vec::new() };
        if found.is_empty() && number != item.variant && self.offers(Operation::LookupCatalog) {
            found = self.look_up(&item.variant).await?;
        }
        if found.is_empty() {
            found = self.search(Some(&number), Value::Null).await?;
        }
        let exact = found.iter().flat_map(|product| elements(&product["variants"])).find(|variant| {
            variant["id"] == *item.variant || item.sku.as_ref().is_some_and(|sku| variant["sku"] == **sku)
        });
        match exact {
            Some(variant) => {
                self.enter(Step::Choose);
                let currency = variant["price"]["currency"].as_str().map(str::to_owned);
                Ok(Choice { variant: variant["id"].as_str().unwrap_or_default().to_owned(), currency })
            }
            None => give_up("the number leads nowhere", number),
        }
    }

    /// Searches for some words of a title, with a slip of the pen, and with fewer of them where nothing is found.
    async fn vague_words(&mut self) -> Result<Choice, GivingUp> {
        self.enter(Step::Find);
        let Some(item) = self.item() else { return give_up("nothing to be found", "the catalog shows nothing") };
        let words = self.words(&item.title, 2);
        let mut tries = vec![words.clone(), self.words(&item.title, 1), item.title.clone()];
        if self.random.below(3) == 0 {
            tries.insert(0, slip(&words));
        }
        for query in &tries {
            let found = self.search(Some(query), json!({ "available": true })).await?;
            if let Some(product) = found.first() {
                return self.choose(product).await;
            }
        }
        give_up("no words find anything", tries.join(" / "))
    }

    /// Names options that the product does not have; the page has to say what is left.
    async fn wrong_options(&mut self) -> Result<Choice, GivingUp> {
        let product = self.item().and_then(|item| item.product);
        let Some(product) = product else { return give_up("nothing to be found", "the catalog shows nothing") };
        let found = self.search(product["title"].as_str(), Value::Null).await?;
        let Some(first) = found.into_iter().next() else {
            return give_up("no words find anything", product["title"].to_string());
        };
        if !self.offers(Operation::GetProduct) {
            return self.choose(&first).await;
        }
        self.enter(Step::Open);
        let id = first["id"].as_str().unwrap_or_default().to_owned();
        let wrong = [
            json!([{ "name": "Colour", "label": "Ultraviolet" }, { "name": "size", "label": "XXXS" }]),
            json!([{ "name": "Flavor", "label": "Vanilla" }]),
        ];
        let wrong = self.random.pick(&wrong).cloned().unwrap_or_default();
        let page = self.open(&id, wrong.clone()).await?;
        let kept = elements(&page["selected"]).any(|choice| elements(&wrong).any(|other| choice == other));
        if kept {
            let why = "a choice that the product does not have is shown as selected";
            self.obstacle(Operation::GetProduct, "selected", why, &page["selected"].to_string());
        }
        self.narrow(page).await
    }

    /// States a currency, and takes what the shop shows.
    async fn other_currency(&mut self) -> Result<Choice, GivingUp> {
        self.enter(Step::Find);
        let Some(item) = self.item() else { return give_up("nothing to be found", "the catalog shows nothing") };
        let others: Vec<&str> =
            CURRENCIES.into_iter().filter(|currency| item.currency.as_deref() != Some(*currency)).collect();
        let wanted = self.random.pick(&others).copied().unwrap_or("EUR");
        self.context.insert("currency".to_owned(), wanted.into());
        let found = self.search(Some(&item.title), Value::Null).await?;
        match found.first() {
            Some(product) => {
                let product = product.clone();
                self.choose(&product).await
            }
            None => give_up("no words find anything", item.title),
        }
    }

    /// Returns some words of a title.
    fn words(&mut self, title: &str, count: usize) -> String {
        let words: Vec<&str> = title.split_whitespace().filter(|word| word.chars().count() > 2).collect();
        let start = self.random.below(words.len().saturating_sub(count) + 1);
        let some: Vec<&str> = words.into_iter().skip(start).take(count).collect();
        if some.is_empty() { title.to_owned() } else { some.join(" ") }
    }
}

/// Swaps two letters in the middle of the longest word.
fn slip(words: &str) -> String {
    let Some(longest) = words.split_whitespace().max_by_key(|word| word.chars().count()) else {
        return words.to_owned();
    };
    let mut letters: Vec<char> = longest.chars().collect();
    let middle = letters.len() / 2;
    if letters.len() < 4 {
        return words.to_owned();
    }
    letters.swap(middle - 1, middle);
    words.replace(longest, &letters.into_iter().collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_swaps_two_letters() {
        assert_eq!(slip("red garden"), "red gadren");
        assert_eq!(slip("tea"), "tea");
    }
}
