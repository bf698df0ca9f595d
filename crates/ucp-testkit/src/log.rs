//! What is logged, to be looked into: for what may not be there, and for what has to be.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

/// Everything that is written to it. Clones are the same log.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// What was logged so far.
    ///
    /// # Panics
    ///
    /// When that is not UTF-8.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()).expect("UTF-8")
    }

    /// Whether a text was logged.
    #[must_use]
    pub fn has(&self, text: &str) -> bool {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.windows(text.len()).any(|own| own == text.as_bytes())
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
