//! `import --merchants`: loads merchants into the directory.
//!
//! As with products, valid lines are stored and invalid ones reported, all faults of a line together, and a gateway
//! that serves the same data directory picks the changes up by itself.

use std::path::Path;

use ucp_directory::{
    import::{Import, Row, Tolerance},
    merchants::put_blocking,
};

use super::{Done, ImportOptions, Tally, Wanted, opened, progress_bar, report};
use crate::command::output::remark;

/// Number of merchants per transaction.
const BATCH: usize = 500;

pub(super) fn run(options: &ImportOptions, file: &Path, lenient: bool) -> Done {
    let wanted = Wanted::read(options)?;
    let tolerance = if lenient { Tolerance::Lenient } else { Tolerance::Strict };
    // Opened before the database, so that an unreadable file does not create a shop.
    let import = Import::open(file, tolerance).map_err(|error| format!("{}: {error}", file.display()))?;
    let location = options.store.locate()?;
    let database = opened(&location, &location.dir, &wanted)?;
    let progress = import.progress().clone();
    let bar = progress_bar(progress.total);
    let mut tally = Tally::default();
    let mut batch: Vec<Row> = Vec::with_capacity(BATCH);
    let mut rows = import.peekable();
    while let Some(row) = rows.next() {
        match row {
            Ok(row) => {
                for bad in &row.set_aside {
                    bar.suspend(|| remark!("{bad} (set aside)"));
                }
                batch.push(row);
            }
            Err(bad) => report(&bar, &mut tally, &bad),
        }
        if batch.len() == BATCH || rows.peek().is_none() {
            let (lines, merchants): (Vec<_>, Vec<_>) = batch.drain(..).map(|row| (row.line, row.merchant)).unzip();
            for (line, outcome) in lines.into_iter().zip(put_blocking(database.store(), merchants)?) {
                tally.count(&bar, line, outcome);
            }
            bar.set_position(progress.bytes());
            bar.set_message(format!("{} merchants", tally.stored()));
        }
    }
    bar.finish_and_clear();
    Ok(tally.told(file))
}
