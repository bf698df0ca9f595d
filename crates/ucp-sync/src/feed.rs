//! Feeds by file or https.
//!
//! A feed is downloaded as a whole before anything of it is read, so that one that breaks off changes nothing, and a run
//! that is killed goes on with the same bytes.

use std::{
    fs,
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use http::{HeaderMap, HeaderValue, StatusCode, header};
use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use reqwest::Client;
use ucp_net::outbound::{self, Certificate, SetupError, check_address, has_content_coding};
use ucp_shop::import::Format;
use url::Url;

use crate::state::Version;

/// Longest value of a validator that is kept, in bytes.
const LONGEST_VALIDATOR: usize = 1_000;

/// Longest time without any byte of the answer.
const IDLE: Duration = Duration::from_secs(60);

/// Time for connecting.
const CONNECT: Duration = Duration::from_secs(10);

/// Place of a feed.
#[derive(Clone, Debug)]
enum FeedSource {
    File(PathBuf),
    Web { url: Url, client: Client, download: PathBuf },
}

/// A feed.
#[derive(Clone)]
pub struct Feed {
    place: FeedSource,
    format: Option<Format>,
    max_bytes: u64,
    timeout: Duration,
}
ucp_core::opaque!(Feed { format });

/// Failure to get a feed.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The file cannot be read or written.
    #[error("{0}")]
    File(PathBuf, #[source] std::io::Error),
    /// The server cannot be reached, or its answer breaks off.
    #[error("the server of the feed does not answer as it should")]
    Connection(#[source] reqwest::Error),
    /// The server answers with another status.
    #[error("the server of the feed answers with status {0}; it must be 200, without a redirect")]
    Status(u16),
    /// The answer is compressed.
    #[error("the feed is sent compressed, although it was asked for as it is")]
    Encoded,
    /// The feed is larger than what is read.
    #[error("the feed is larger than {0} MiB; see `catalog.max_feed_mb`")]
    TooLarge(u64),
    /// The feed takes too long.
    #[error("fetching the feed takes longer than {0:?}; see `catalog.feed_timeout_s`")]
    TooSlow(Duration),
}

/// A feed that can be read.
#[derive(Clone, Debug)]
pub(crate) struct Fetched {
    pub(crate) path: PathBuf,
    pub(crate) version: Version,
    /// Time since the feed was changed last, if that is known.
    pub(crate) age: Option<SignedDuration>,
}

impl Feed {
    /// Creates a feed that is a file.
    pub const fn file(path: PathBuf, format: Option<Format>, max_bytes: u64) -> Self {
        Self { place: FeedSource::File(path), format, max_bytes, timeout: Duration::MAX }
    }

    /// Creates a feed at an https address, or an http one on this machine, which is downloaded to `directory`. Fails
    /// with [`SetupError`] for an address that cannot be called.
    pub fn web(
        url: Url,
        format: Option<Format>,
        roots: &[Certificate],
        directory: &Path,
        max_bytes: u64,
        timeout: Duration,
    ) -> Result<Self, SetupError> {
        check_address(&url, false)?;
        let client = outbound::client(CONNECT, roots, |builder| builder.read_timeout(IDLE)).map_err(SetupError::Tls)?;
        let download = directory.join("feed.download");
        Ok(Self { place: FeedSource::Web { url, client, download }, format, max_bytes, timeout })
    }

    /// Returns the stated format, or the one that the name of the file shows.
    pub(crate) fn format(&self) -> Option<Format> {
        self.format.or_else(|| match &self.place {
            FeedSource::File(path) => Format::detect(path.file_name()?.to_str(), b""),
            FeedSource::Web { url, .. } => Format::detect(url.path_segments()?.next_back(), b""),
        })
    }

    /// Returns the feed of a run that was interrupted, if it is still there as it was.
    pub(crate) fn again(&self, version: &Version) -> Option<Fetched> {
        match &self.place {
            FeedSource::File(path) => {
                let own = version_of(path).ok()?;
                (own == *version).then(|| Fetched { path: path.clone(), version: own, age: None })
            }
            FeedSource::Web { download, .. } => {
                let bytes = fs::metadata(download).ok()?.len();
                (bytes == version.bytes).then(|| Fetched {
                    path: download.clone(),
                    version: version.clone(),
                    age: None,
                })
            }
        }
    }

    /// Gets the feed at the time `now`; `None` if it is still the one of `known`. Fails with [`FeedError`] if it cannot
    /// be got. What was downloaded before stays.
    pub(crate) async fn fetch(&self, known: Option<&Version>, now: Timestamp) -> Result<Option<Fetched>, FeedError> {
        match &self.place {
            FeedSource::File(path) => {
                let version = version_of(path).map_err(|error| FeedError::File(path.clone(), error))?;
                if version.bytes > self.max_bytes {
                    return Err(FeedError::TooLarge(self.max_bytes >> 20));
                }
                let modified = version.modified.map(i128::from).map(Timestamp::from_nanosecond);
                let age = modified.and_then(Result::ok).map(|modified| now.duration_since(modified));
                Ok((known != Some(&version)).then(|| Fetched { path: path.clone(), version, age }))
            }
            FeedSource::Web { url, client, download } => {
                let got = tokio::time::timeout(self.timeout, self.download(url, client, download, known)).await;
                got.unwrap_or(Err(FeedError::TooSlow(self.timeout)))
            }
        }
    }

    async fn download(
        &self,
        url: &Url,
        client: &Client,
        download: &Path,
        known: Option<&Version>,
    ) -> Result<Option<Fetched>, FeedError> {
        let mut headers = HeaderMap::from_iter([
            (header::ACCEPT, HeaderValue::from_static("*/*")),
            (header::ACCEPT_ENCODING, HeaderValue::from_static("identity")),
        ]);
        if let Some(known) = known {
            let validators = [(header::IF_NONE_MATCH, &known.etag), (header::IF_MODIFIED_SINCE, &known.last_modified)];
            for (name, value) in validators {
                if let Some(value) = value.as_ref().and_then(|value| HeaderValue::try_from(value).ok()) {
                    headers.insert(name, value);
                }
            }
        }
        let sent = client.get(url.clone()).headers(headers).send().await;
        let mut response = sent.map_err(|error| FeedError::Connection(error.without_url()))?;
        match response.status() {
            StatusCode::NOT_MODIFIED if known.is_some() => return Ok(None),
            StatusCode::OK => {}
            status => return Err(FeedError::Status(status.as_u16())),
        }
        if has_content_coding(response.headers()) {
            return Err(FeedError::Encoded);
        }
        if response.content_length().is_some_and(|length| length > self.max_bytes) {
            return Err(FeedError::TooLarge(self.max_bytes >> 20));
        }
        let validator = |name| {
            let value = response.headers().get(name)?.to_str().ok()?;
            (value.len() <= LONGEST_VALIDATOR).then(|| value.to_owned())
        };
        let (etag, last_modified) = (validator(header::ETAG), validator(header::LAST_MODIFIED));
        // Both by the clock of the server, whatever that shows.
        let date = |value: &str| rfc2822::DateTimeParser::new().parse_timestamp(value).ok();
        let dates = validator(header::DATE).zip(last_modified.as_ref());
        let age = dates.and_then(|(now, modified)| Some(date(&now)?.duration_since(date(modified)?)));
        let partial = download.with_extension("partial");
        let failed = |error| FeedError::File(partial.clone(), error);
        // What an interrupted download has left behind is not written into.
        match fs::remove_file(&partial) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let mut file = fs::File::create_new(&partial).map_err(failed)?;
        let mut bytes = 0;
        while let Some(chunk) = response.chunk().await.map_err(|error| FeedError::Connection(error.without_url()))? {
            bytes += chunk.len() as u64;
            if bytes > self.max_bytes {
                return Err(FeedError::TooLarge(self.max_bytes >> 20));
            }
            file.write_all(&chunk).map_err(failed)?;
        }
        let (from, to) = (partial.clone(), download.to_owned());
        // Writing goes to memory; this waits for the disk.
        let kept = tokio::task::spawn_blocking(move || file.sync_all().and_then(|()| fs::rename(from, to))).await;
        kept.unwrap_or_else(|failed| Err(std::io::Error::other(failed))).map_err(failed)?;
        let version = Version { bytes, modified: None, etag, last_modified };
        Ok(Some(Fetched { path: download.to_owned(), version, age }))
    }

    /// Removes what was downloaded, once it has been read.
    pub(crate) fn tidy(&self) {
        if let FeedSource::Web { download, .. } = &self.place
            && let Err(error) = fs::remove_file(download)
        {
            tracing::debug!(%error, "deleting a processed feed failed");
        }
    }
}

fn version_of(path: &Path) -> std::io::Result<Version> {
    let metadata = fs::metadata(path)?;
    let modified = metadata.modified()?.duration_since(UNIX_EPOCH).map(|since| since.as_nanos()).unwrap_or_default();
    let modified = i64::try_from(modified).unwrap_or_default();
    Ok(Version { bytes: metadata.len(), modified: Some(modified), ..Version::default() })
}
