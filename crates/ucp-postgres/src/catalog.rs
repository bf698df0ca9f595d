//! The products of the embedded shop, and their numbered changes.
//!
//! A writer of products increments the number of the catalog in the same transaction and assigns it to the changed
//! products: a reader that has read everything up to a number finds later changes by a larger one. Each gateway derives a
//! copy of its own from that, in which it searches.

use std::collections::HashMap;

use tokio_postgres::{Error, Row};
use ucp_core::ports::shared::{SharedProduct, SharedShop, SharedStock};

use crate::{
    connection::Param,
    failure::Failure,
    store::PostgresStore,
    text::{escaped, plain, signed},
};

/// Maximum number of products that are written in one transaction, and so share a number.
pub const TOGETHER: usize = 500;

/// A catalog, without its products.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalog {
    /// The shop.
    pub shop: SharedShop,
    /// Number of the last change of products.
    pub number: i64,
    /// Number of the last change that was more than goods being sold out.
    pub edition: i64,
}

/// Numbers of the last changes of a catalog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Number of the last change of products, 0 if the shop has none.
    pub products: i64,
    /// Number of the last change of synonyms.
    pub synonyms: i64,
}

/// Publication of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Publication {
    /// As a statement about them: a number that is stored already changes no quantity, and of another one what is held
    /// and what was sold since is subtracted.
    Statement,
    /// As a copy: every quantity replaces the one that is there.
    Copy,
}

/// Result of [`PostgresStore::publish`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// The products are stored under this number.
    Under(i64),
    /// Nothing is stored: others have changed products since the edition that the change is based on.
    Overtaken,
}

/// Parts of a statement that store products under the number of the part `numbered`. Quantities of the same variants are changed
/// in place: one statement cannot remove a row and insert it again.
fn stored(publication: Publication) -> String {
    // The number that is stored stays, and what became of it.
    let (quantity, owed, stays) = match publication {
        Publication::Copy => ("s.quantity", "s.owed", "false"),
        Publication::Statement => (
            "greatest(coalesce(s.stated - s.taken, s.quantity), 0)",
            "greatest(coalesce(s.taken - s.stated, s.owed), 0)",
            "excluded.stated IS NULL OR coalesce(stock.stated = excluded.stated, false)",
        ),
    };
    let set = ["quantity", "owed", "stated", "stated_at"]
        .map(|column| format!("{column} = CASE WHEN {stays} THEN stock.{column} ELSE excluded.{column} END"));
    format!(
        "stored AS (INSERT INTO products (shop, id, place, number, document) \
            SELECT $1, p.id, p.place, numbered.number, p.document FROM numbered, unnest($2, $3, $4) AS p (id, place, document) \
            ON CONFLICT (shop, id) DO UPDATE SET number = excluded.number, document = excluded.document), \
        uncounted AS (DELETE FROM stock USING numbered WHERE shop = $1 AND product = ANY ($2) AND variant <> ALL ($6)), \
        counted AS (INSERT INTO stock (shop, product, variant, quantity, owed, stated, stated_at) \
            SELECT $1, s.product, s.variant, {quantity}, {owed}, s.stated, s.stated_at FROM numbered, \
            (SELECT given.product, given.variant, given.quantity, given.owed, nullif(given.stated, -1) AS stated, \
                nullif(given.stated_at, {UNKNOWN}) AS stated_at, coalesce((SELECT sum(quantity) FROM takings \
                WHERE shop = $1 AND variant = given.variant AND at > given.stated_at), 0)::bigint AS taken \
                FROM unnest($5, $6, $7, $8, $9, $10) AS given (product, variant, quantity, owed, stated, stated_at)) AS s \
            ON CONFLICT (shop, variant) DO UPDATE SET product = excluded.product, {})",
        set.join(", ")
    )
}

/// Stands for a time that is not known, in lists of times.
const UNKNOWN: i64 = i64::MIN + 1;

/// Locks the stock of variants, so that what is taken meanwhile is taken before or after it is stated anew.
const LOCKED: &str =
    "SELECT 1 FROM stock WHERE shop = $1 AND (variant = ANY ($2) OR product = ANY ($3)) ORDER BY variant FOR UPDATE";

impl PostgresStore {
    /// Returns the catalog of the shop; `None` if it has none. Fails with [`Failure`] if the database cannot be read.
    pub async fn catalog(&self) -> Result<Option<Catalog>, Failure> {
        let shop = [self.key()];
        self.work(async |connection, _| {
            let sql = "SELECT identity, market, terms, synonyms, number, edition FROM catalogs WHERE shop = $1";
            let Some(row) = connection.row(sql, &shop).await? else { return Ok(None) };
            Ok(Some(Catalog {
                shop: SharedShop {
                    identity: row.try_get(0)?,
                    market: row.try_get(1)?,
                    terms: row.try_get(2)?,
                    synonyms: row.try_get(3)?,
                },
                number: row.try_get(4)?,
                edition: row.try_get(5)?,
            }))
        })
        .await
    }

    /// Returns the numbers of the last changes, 0 if the shop has no catalog. Fails with [`Failure`] if the database
    /// cannot be read.
    pub async fn numbers(&self) -> Result<Numbers, Failure> {
        let shop = [self.key()];
        let numbers = self.work(async |connection, _| {
            let row = connection.row("SELECT number, synonyms_number FROM catalogs WHERE shop = $1", &shop).await?;
            row.map(|row| Ok(Numbers { products: row.try_get(0)?, synonyms: row.try_get(1)? })).transpose()
        });
        Ok(numbers.await?.unwrap_or_default())
    }

    /// Creates the catalog of the shop with its first products under its number, unless it has one. Returns the one
    /// that it has: there is never half a catalog, and of several gateways that try at once one creates it. Fails with
    /// [`Failure`] if the database failed.
    pub async fn found(&self, catalog: &Catalog, products: &[SharedProduct]) -> Result<Catalog, Failure> {
        let mut values = self.columns(products);
        values.extend([
            Param::Text(catalog.shop.identity.clone()),
            Param::Text(catalog.shop.market.clone()),
            Param::Text(catalog.shop.terms.clone()),
            Param::Number(catalog.number),
            Param::plain(&catalog.shop.synonyms),
        ]);
        let sql = format!(
            "WITH numbered AS (INSERT INTO catalogs (shop, identity, market, terms, number, edition, synonyms) \
                VALUES ($1, $11, $12, $13, $14, $14, $15) ON CONFLICT (shop) DO NOTHING RETURNING number), {} SELECT number FROM numbered",
            stored(Publication::Copy)
        );
        self.work(async |connection, _| connection.rows(&sql, &values).await).await?;
        let founded = self.catalog().await?;
        founded.ok_or_else(|| Failure::Unreadable("the catalog that was just created is gone".to_owned()))
    }

    /// Stores other terms of sale, which hold from the next opening of a gateway on. Fails with [`Failure`] if the
    /// database failed.
    pub async fn set_terms(&self, terms: &str) -> Result<(), Failure> {
        let values = [self.key(), Param::plain(terms)];
        self.work(async |connection, _| {
            connection.execute("UPDATE catalogs SET terms = $2 WHERE shop = $1", &values).await
        })
        .await
        .map(drop)
    }

    /// Stores other synonyms, which all gateways follow. Fails with [`Failure`] if the database failed.
    pub async fn set_synonyms(&self, synonyms: &str) -> Result<(), Failure> {
        let values = [self.key(), Param::plain(synonyms)];
        let sql = "UPDATE catalogs SET synonyms = $2, synonyms_number = synonyms_number + 1 WHERE shop = $1 AND synonyms <> $2";
        self.work(async |connection, _| connection.execute(sql, &values).await).await.map(drop)
    }

    /// Returns products that changed after a number, in the order of their numbers: all that share a number, or none of
    /// them. The list is empty only if nothing changed. Fails with [`Failure`] if the database cannot be read.
    pub async fn changes(&self, after: i64) -> Result<Vec<SharedProduct>, Failure> {
        let limit = signed(TOGETHER * 2);
        let values = [self.key(), Param::Number(after), Param::Number(limit)];
        // One statement, and so one state of the database.
        let [variants, quantities, owed, stated, stated_at] =
            ["variant", "quantity", "owed", "coalesce(stated, -1)", &format!("coalesce(stated_at, {UNKNOWN})")].map(
                |column| {
                    format!(
                        "ARRAY(SELECT {column} FROM stock AS s WHERE s.shop = $1 AND s.product = p.id ORDER BY variant)"
                    )
                },
            );
        let sql = format!(
            "SELECT p.id, p.place, p.number, p.document, {variants}, {quantities}, {owed}, {stated}, {stated_at} \
                   FROM products AS p WHERE p.shop = $1 AND p.number > $2 ORDER BY p.number, p.place LIMIT $3"
        );
        let mut products = self
            .work(async |connection, _| {
                let rows = connection.rows(&sql, &values).await?;
                let products = rows.iter().map(|row| {
                    Ok(SharedProduct {
                        id: plain(row.try_get(0)?),
                        place: row.try_get(1)?,
                        number: row.try_get(2)?,
                        document: row.try_get(3)?,
                        stock: stock(row)?,
                    })
                });
                products.collect::<Result<Vec<_>, _>>()
            })
            .await?;
        if signed(products.len()) == limit
            && let Some(last) = products.last().map(|product| product.number)
        {
            products.retain(|product| product.number < last);
        }
        Ok(products)
    }

    /// Returns the number and the document of each of these products that there is. Fails with [`Failure`] if the
    /// database cannot be read.
    pub async fn documents(&self, ids: &[&str]) -> Result<HashMap<String, (i64, String)>, Failure> {
        let values = [self.key(), Param::Texts(ids.iter().map(|id| escaped(id).into_owned()).collect())];
        let sql = "SELECT id, number, document FROM products WHERE shop = $1 AND id = ANY ($2)";
        self.work(async |connection, _| {
            let rows = connection.rows(sql, &values).await?;
            let read = |row: &Row| Ok((plain(row.try_get(0)?), (row.try_get(1)?, row.try_get(2)?)));
            rows.iter().map(read).collect()
        })
        .await
    }

    /// Stores products, at most [`TOGETHER`], with their stock, if nobody has changed products since the edition
    /// `base`. The number that they are stored under is the next edition. Fails with [`Failure`] if the database
    /// failed.
    pub async fn publish(
        &self,
        base: i64,
        products: &[SharedProduct],
        publication: Publication,
    ) -> Result<Published, Failure> {
        let mut values = self.columns(products);
        let locked = [values[0].clone(), values[5].clone(), values[1].clone()];
        values.push(Param::Number(base));
        let sql = format!(
            "WITH numbered AS (UPDATE catalogs SET number = number + 1, edition = number + 1 \
                WHERE shop = $1 AND edition = $11 RETURNING number), {} SELECT number FROM numbered",
            stored(publication)
        );
        self.work(async |connection, in_doubt| {
            // Two statements: the second one sees what was taken before the first one had its locks.
            connection.object.batch_execute("BEGIN").await?;
            let published = async {
                connection.rows(LOCKED, &locked).await?;
                let row = connection.row(&sql, &values).await?;
                connection.object.batch_execute("COMMIT").await?;
                Ok(row)
            };
            let published = published.await;
            if published.is_err() {
                // Fails only with the connection.
                drop(connection.object.batch_execute("ROLLBACK").await);
            }
            if let Some(row) = published? {
                return Ok(Published::Under(row.try_get(0)?));
            }
            if in_doubt {
                // An attempt whose reply was lost, if the newest edition is what it would have stored.
                let mine = "SELECT count(*), max(c.edition) FROM unnest($2, $3, $4) AS p (id, place, document) \
                            JOIN catalogs AS c ON c.shop = $1 \
                            JOIN products AS q ON q.shop = $1 AND q.id = p.id AND q.document = p.document AND q.number >= c.edition";
                if let Some(row) = connection.row(mine, &values).await?
                    && row.try_get::<_, i64>(0)? == signed(products.len())
                {
                    return Ok(Published::Under(row.try_get(1)?));
                }
            }
            Ok(Published::Overtaken)
        })
        .await
    }

    /// Values `$1` to `$10` of a statement with [`stored`].
    fn columns(&self, products: &[SharedProduct]) -> Vec<Param> {
        let all = || products.iter().flat_map(|product| product.stock.iter().map(move |stock| (&product.id, stock)));
        let numbers = |number: fn(&SharedStock) -> i64| Param::Numbers(all().map(|(_, stock)| number(stock)).collect());
        vec![
            self.key(),
            Param::Texts(products.iter().map(|product| escaped(&product.id).into_owned()).collect()),
            Param::Numbers(products.iter().map(|product| product.place).collect()),
            Param::Texts(products.iter().map(|product| product.document.clone()).collect()),
            Param::Texts(all().map(|(product, _)| escaped(product).into_owned()).collect()),
            Param::Texts(all().map(|(_, stock)| escaped(&stock.variant).into_owned()).collect()),
            numbers(|stock| stock.quantity),
            numbers(|stock| stock.owed),
            numbers(|stock| stock.stated.unwrap_or(-1)),
            numbers(|stock| stock.stated_at.unwrap_or(UNKNOWN)),
        ]
    }
}

/// Reads the stock of a product, whose columns begin at the fifth.
fn stock(row: &Row) -> Result<Vec<SharedStock>, Error> {
    let variants: Vec<String> = row.try_get(4)?;
    let numbers = |at| row.try_get::<_, Vec<i64>>(at);
    let numbers = numbers(5)?.into_iter().zip(numbers(6)?).zip(numbers(7)?.into_iter().zip(numbers(8)?));
    let stock = |(variant, ((quantity, owed), (stated, stated_at)))| SharedStock {
        variant: plain(variant),
        quantity,
        owed,
        stated: (stated != -1).then_some(stated),
        stated_at: (stated_at != UNKNOWN).then_some(stated_at),
    };
    Ok(variants.into_iter().zip(numbers).map(stock).collect())
}
