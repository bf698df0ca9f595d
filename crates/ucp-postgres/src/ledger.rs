//! The [`Ledger`] of a [`PostgresStore`].

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use tokio_postgres::Row;
use ucp_core::{
    cart::Cart,
    checkout::Checkout,
    order::Order,
    ports::{
        PortError,
        ledger::{Change, Committed, Kept, Key, Ledger, Stored},
    },
};

use crate::{
    commit::{Commit, read_kept},
    connection::Param,
    failure::Failure,
    store::PostgresStore,
    text::{escaped, plain},
};

impl PostgresStore {
    /// Reads a document with its version. `$1` of the condition is the shop.
    pub(crate) async fn document<T: DeserializeOwned>(
        &self,
        table: &str,
        condition: &str,
        values: impl IntoIterator<Item = Param>,
    ) -> Result<Option<Stored<T>>, PortError> {
        let values: Vec<_> = std::iter::once(self.key()).chain(values).collect();
        let sql = format!("SELECT version, document, id FROM {table} WHERE shop = $1 AND {condition}");
        Ok(self.row(&sql, &values).await?.map(|row| stored(&row)).transpose()?)
    }
}

#[async_trait]
impl Ledger for PostgresStore {
    async fn cart(&self, owner: &str, id: &str) -> Result<Option<Stored<Cart>>, PortError> {
        self.document("carts", "id = $2 AND owner = $3", [Param::key(id), Param::text(owner)]).await
    }

    async fn checkout(&self, owner: &str, id: &str) -> Result<Option<Stored<Checkout>>, PortError> {
        self.document("checkouts", "id = $2 AND owner = $3", [Param::key(id), Param::text(owner)]).await
    }

    async fn checkout_of_cart(&self, owner: &str, cart: &str) -> Result<Option<Stored<Checkout>>, PortError> {
        let newest = "cart_id = $2 AND owner = $3 ORDER BY made DESC LIMIT 1";
        self.document("checkouts", newest, [Param::key(cart), Param::text(owner)]).await
    }

    async fn order(&self, owner: &str, id: &str) -> Result<Option<Stored<Order>>, PortError> {
        self.document("orders", "id = $2 AND owner = $3", [Param::key(id), Param::text(owner)]).await
    }

    async fn cart_by_token(&self, token: &str) -> Result<Option<Stored<Cart>>, PortError> {
        self.document("carts", "token = $2", [Param::key(token)]).await
    }

    async fn checkout_by_token(&self, token: &str) -> Result<Option<Stored<Checkout>>, PortError> {
        self.document("checkouts", "token = $2", [Param::key(token)]).await
    }

    async fn order_by_token(&self, token: &str) -> Result<Option<Stored<Order>>, PortError> {
        self.document("orders", "token = $2", [Param::key(token)]).await
    }

    async fn orders_named(&self, name: &str, limit: usize) -> Result<Vec<Stored<Order>>, PortError> {
        let sql = "SELECT version, document, id FROM orders WHERE shop = $1 AND (id = $2 OR label = $2 OR reference = $2) \
                   ORDER BY placed_at DESC, made DESC LIMIT $3";
        let rows = self.rows(sql, &[self.key(), Param::key(name), Param::count(limit)]).await?;
        Ok(rows.iter().map(stored).collect::<Result<_, Failure>>()?)
    }

    async fn stock(&self, variants: &[&str]) -> Result<Vec<Option<u64>>, PortError> {
        if variants.is_empty() {
            return Ok(Vec::new());
        }
        let keys: Vec<_> = variants.iter().map(|variant| escaped(variant).into_owned()).collect();
        let values = [self.key(), Param::Texts(keys.clone())];
        let sql = "SELECT variant, quantity FROM stock WHERE shop = $1 AND variant = ANY($2)";
        let rows = self.rows(sql, &values).await?;
        let counts = rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
        let counts: Vec<(String, i64)> = counts.collect::<Result<_, tokio_postgres::Error>>().map_err(Failure::from)?;
        let count =
            |key: &String| counts.iter().find(|(variant, _)| variant == key).map(|(_, count)| count.unsigned_abs());
        Ok(keys.iter().map(count).collect())
    }

    async fn kept(&self, key: &Key) -> Result<Option<Kept>, PortError> {
        let shop = self.key();
        self.run(async |connection, _| read_kept(&connection, &shop, key).await).await
    }

    async fn commit(&self, change: Change, keep: Option<(Key, Kept)>) -> Result<Committed, PortError> {
        let commit = Commit::new(self.key(), change, keep).map_err(|error| {
            // The error of serde can quote the document.
            PortError::internal().because(format!("a document cannot be written as JSON ({:?})", error.classify()))
        })?;
        let Some(commit) = commit else { return Ok(Committed::Done) };
        let committed =
            self.run(async |connection, in_doubt| commit.write(&connection, in_doubt, self.registered()).await).await?;
        if commit.rings && committed == Committed::Done {
            self.bell().notify_one();
        }
        Ok(committed)
    }
}

/// Reads `version, document, id`.
pub(crate) fn stored<T: DeserializeOwned>(row: &Row) -> Result<Stored<T>, Failure> {
    let version = row.try_get::<_, i64>(0)?.unsigned_abs();
    // What serde says may quote the document.
    let document = serde_json::from_str(row.try_get(1)?).map_err(|error| {
        let kind = std::any::type_name::<T>().rsplit("::").next().unwrap_or_default();
        let id = plain(row.try_get(2).unwrap_or_default());
        let (line, column) = (error.line(), error.column());
        Failure::Unreadable(format!(
            "{kind} `{id}`: unreadable JSON ({:?}) at line {line}, column {column}",
            error.classify()
        ))
    })?;
    Ok(Stored { document, version })
}
