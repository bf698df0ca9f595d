//! The last calls, up to a size: in memory, or on disk with their summaries in memory.

use std::{
    collections::{HashSet, VecDeque},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    disk::{self, Disk, Place},
    entry::Summary,
};

/// Maximum number of calls in memory.
const MOST: usize = 1_000;

/// Maximum size of all calls in memory in bytes, as JSON.
const MAX_BYTES: usize = 32 << 20;

/// A ring of calls. What does not fit into it pushes the oldest ones out.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    calls: Mutex<Calls>,
    disk: Option<(PathBuf, Mutex<Disk>)>,
}

#[derive(Debug, Default)]
struct Calls {
    /// Calls, the oldest first.
    all: VecDeque<Kept>,
    /// Number of calls in memory.
    in_memory: usize,
    /// Size of what is in memory.
    bytes: usize,
    /// Number of the next call.
    next: u64,
}

/// A call.
#[derive(Debug)]
struct Kept {
    summary: Arc<Summary>,
    /// The call as JSON, masked.
    json: Json,
    /// The call as it came, if it was recorded whole.
    whole: Option<String>,
}

#[derive(Debug)]
enum Json {
    Memory(String),
    Disk(Place),
}

impl Kept {
    fn bytes(&self) -> usize {
        let json = match &self.json {
            Json::Memory(json) => json.len(),
            Json::Disk(_) => 0,
        };
        json + self.whole.as_ref().map_or(0, String::len)
    }

    const fn is_in_memory(&self) -> bool {
        matches!(self.json, Json::Memory(_))
    }
}

impl Calls {
    fn push(&mut self, mut summary: Summary, json: Json, whole: Option<String>) -> Arc<Summary> {
        summary.number = self.next;
        self.next += 1;
        let kept = Kept { summary: Arc::new(summary), json, whole };
        self.bytes += kept.bytes();
        self.in_memory += usize::from(kept.is_in_memory());
        let summary = Arc::clone(&kept.summary);
        self.all.push_back(kept);
        summary
    }

    /// Removes calls.
    fn remove(&mut self, is_gone: impl Fn(&Kept) -> bool) -> VecDeque<Kept> {
        let (gone, left) = std::mem::take(&mut self.all).into_iter().partition::<VecDeque<_>, _>(is_gone);
        self.all = left;
        self.bytes -= gone.iter().map(Kept::bytes).sum::<usize>();
        self.in_memory -= gone.iter().filter(|kept| kept.is_in_memory()).count();
        gone
    }

    /// Removes what does not fit into memory, the oldest first. A call on disk stays there.
    fn make_room(&mut self) {
        while self.in_memory > MOST || self.bytes > MAX_BYTES {
            let Some(index) = self.all.iter().position(|kept| kept.is_in_memory() || kept.bytes() > 0) else { return };
            self.bytes -= self.all[index].bytes();
            if self.all[index].is_in_memory() {
                self.in_memory -= 1;
                self.all.remove(index);
            } else {
                self.all[index].whole = None;
            }
        }
    }
}

impl Ring {
    /// Opens a ring of at most `most` bytes on disk, in a folder below a directory, with the calls that are there.
    ///
    /// # Errors
    /// The directory cannot be read or written, or as many processes have a folder in it as may be.
    pub(super) fn open(directory: &Path, most: u64) -> io::Result<Self> {
        let (disk, found) = Disk::open(directory, most)?;
        let mut calls = Calls::default();
        for (place, summary) in found {
            calls.push(summary, Json::Disk(place), None);
        }
        Ok(Self { calls: Mutex::new(calls), disk: Some((disk.folder().to_path_buf(), Mutex::new(disk))) })
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a call, its JSON, and the call as it came, if it was recorded whole. What cannot be written to disk is kept in
    /// memory. Blocks.
    pub(super) fn add(&self, summary: Summary, json: String, whole: Option<String>) -> Arc<Summary> {
        let written = self.disk.as_ref().map(|(_, disk)| {
            disk.lock().unwrap_or_else(PoisonError::into_inner).add(&json).map_err(|error| {
                tracing::error!(%error, "writing a recorded call failed; keeping it in memory only");
            })
        });
        let mut calls = self.calls();
        let added = match written {
            Some(Ok((place, oldest))) => {
                let is_gone = |kept: &Kept| matches!(kept.json, Json::Disk(place) if !place.is_kept(oldest));
                if calls.all.front().is_some_and(is_gone) {
                    calls.remove(is_gone);
                }
                calls.push(summary, Json::Disk(place), whole)
            }
            _ => calls.push(summary, Json::Memory(json), whole),
        };
        calls.make_room();
        added
    }

    /// Deletes the calls with these numbers, in memory and on disk. Blocks.
    ///
    /// # Errors
    /// One of them cannot be deleted on disk. It is not found any more, until the process is started anew.
    pub(super) fn forget(&self, numbers: &HashSet<u64>) -> io::Result<()> {
        let gone = self.calls().remove(|kept| numbers.contains(&kept.summary.number));
        let Some((directory, _)) = &self.disk else { return Ok(()) };
        let places = gone.iter().filter_map(|kept| match kept.json {
            Json::Disk(place) => Some(place),
            Json::Memory(_) => None,
        });
        disk::erase(directory, &places.collect::<Vec<_>>())
    }

    /// Returns up to `most` calls that `takes` says `true` to, the newest first.
    pub(super) fn newest(&self, most: usize, takes: impl Fn(&Summary) -> bool) -> Vec<Arc<Summary>> {
        let calls = self.calls();
        calls.all.iter().rev().map(|kept| &kept.summary).filter(|summary| takes(summary)).take(most).cloned().collect()
    }

    /// Returns the newest call with the identifier `id`, as `take` takes it.
    fn find<T>(&self, id: &str, take: impl Fn(&Kept) -> T) -> Option<T> {
        self.calls().all.iter().rev().find(|kept| kept.summary.id == id).map(take)
    }

    /// Returns the JSON of the newest call with the identifier `id`. Blocks for as long as a file is read.
    pub(super) fn get(&self, id: &str) -> Option<String> {
        let found = self.find(id, |kept| match &kept.json {
            Json::Memory(json) => Ok(json.clone()),
            Json::Disk(place) => Err(*place),
        });
        found?.map_or_else(|place| disk::read(&self.disk.as_ref()?.0, place), Some)
    }

    /// Returns the newest call with the identifier `id` as it came, as JSON; `None` if it was not recorded whole.
    pub(super) fn whole(&self, id: &str) -> Option<String> {
        self.find(id, |kept| kept.whole.clone())?
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use ucp_host::ended::Ended;
    use ucp_record::Facts;

    use super::*;

    fn summary(id: &str) -> Summary {
        let facts = Facts { request_id: id.to_owned(), ..Facts::default() };
        let ended = Ended {
            shop: "default",
            platform: None,
            facts: &facts,
            status: Some(200),
            bytes_out: 0,
            spent: Default::default(),
            are_orders_elsewhere: false,
        };
        Summary::of(&ended, String::new(), "GET".to_owned(), "/")
    }

    fn add(ring: &Ring, id: &str) -> Arc<Summary> {
        let summary = summary(id);
        let json = serde_json::to_string(&summary).expect("JSON");
        ring.add(summary, json, None)
    }

    fn ids(ring: &Ring) -> Vec<String> {
        let mut calls = ring.newest(usize::MAX, |_| true);
        calls.reverse();
        calls.iter().map(|call| call.id.clone()).collect()
    }

    /// Returns the segments of the first gateway, each with what is in it.
    fn segments(directory: &Path) -> Vec<(PathBuf, String)> {
        let entries = fs::read_dir(directory.join("0")).expect("a directory");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.retain(|path| path.extension().is_some());
        paths.sort();
        paths.into_iter().map(|path| (path.clone(), fs::read_to_string(path).expect("a file"))).collect()
    }

    #[test]
    fn a_ring_keeps_the_newest_calls_that_fit() {
        let ring = Ring::default();
        for number in 0..=MOST {
            ring.add(summary(&format!("r{number}")), "{}".to_owned(), None);
        }
        assert!(ring.get("r0").is_none() && ring.get("r1").is_some());
        let ids: Vec<_> = ring.newest(2, |call| call.id != "r1000").into_iter().map(|call| call.id.clone()).collect();
        assert_eq!(ids, ["r999", "r998"]);
        ring.add(summary("large"), "x".repeat(MAX_BYTES - 4), None);
        assert_eq!(ring.newest(MOST, |_| true).len(), 3);
        ring.add(summary("larger"), "x".repeat(MAX_BYTES + 1), None);
        assert!(ring.newest(MOST, |_| true).is_empty());
        ring.add(summary("small"), "{}".to_owned(), None);
        assert_eq!(ring.get("small").as_deref(), Some("{}"));
    }

    #[test]
    fn calls_on_disk_are_there_after_a_restart() {
        let folder = tempfile::tempdir().expect("a directory");
        let directory = folder.path().join("inspector");
        let ring = Ring::open(&directory, 1 << 20).expect("opens");
        let first = add(&ring, "first");
        add(&ring, "second");
        ring.add(summary("whole"), r#"{"id":"whole"}"#.to_owned(), Some("as it came".to_owned()));
        assert_eq!(ring.whole("whole").as_deref(), Some("as it came"));
        drop(ring);

        let ring = Ring::open(&directory, 1 << 20).expect("opens");
        // The last one is no summary.
        assert_eq!(ids(&ring), ["first", "second"]);
        assert_eq!(ring.get("first"), serde_json::to_string(&*first).ok());
        assert_eq!(ring.whole("whole"), None, "what came as it came is not on disk");
        for (path, text) in segments(&directory) {
            assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
            assert!(!text.contains("as it came") && !text.contains("whole"), "{text}");
        }
        add(&ring, "third");
        assert_eq!(ids(&ring), ["first", "second", "third"]);
    }

    #[test]
    fn what_a_crash_tore_is_removed() {
        let folder = tempfile::tempdir().expect("a directory");
        add(&Ring::open(folder.path(), 1 << 20).expect("opens"), "first");
        let (path, whole) = segments(folder.path()).remove(0);
        for torn in ["{\"id\":\"torn\",\"at\":", "   \"id\":\"half overwritten\"}\n{\"id\":"] {
            fs::write(&path, format!("{whole}{torn}")).expect("writes");
            let ring = Ring::open(folder.path(), 1 << 20).expect("opens");
            assert_eq!(ids(&ring), ["first"]);
            add(&ring, "next");
            drop(ring);
            assert_eq!(ids(&Ring::open(folder.path(), 1 << 20).expect("opens")), ["first", "next"]);
            let text = fs::read_to_string(&path).expect("a file");
            assert!(!text.contains("torn") && !text.contains("half"), "{text}");
        }
    }

    #[test]
    fn the_size_on_disk_is_bounded() {
        const MOST_BYTES: u64 = 64 << 10;
        let folder = tempfile::tempdir().expect("a directory");
        let ring = Ring::open(folder.path(), MOST_BYTES).expect("opens");
        for number in 0..2_000 {
            add(&ring, &format!("r{number}"));
        }
        let bytes = segments(folder.path()).iter().map(|(_, text)| text.len() as u64).sum::<u64>();
        assert!((MOST_BYTES / 2..=MOST_BYTES).contains(&bytes), "{bytes}");
        let kept = ids(&ring);
        assert_eq!(kept.last().map(String::as_str), Some("r1999"));
        assert!(kept.iter().all(|id| ring.get(id).is_some()), "what is listed can be read");
        drop(ring);
        assert_eq!(ids(&Ring::open(folder.path(), MOST_BYTES).expect("opens")), kept);
        // With less room than before, too.
        let less = Ring::open(folder.path(), MOST_BYTES / 4).expect("opens");
        let bytes = segments(folder.path()).iter().map(|(_, text)| text.len() as u64).sum::<u64>();
        assert!(bytes <= MOST_BYTES / 4 && less.get("r1999").is_some(), "{bytes}");
    }

    #[test]
    fn what_is_deleted_is_overwritten_on_disk() {
        let folder = tempfile::tempdir().expect("a directory");
        let ring = Ring::open(folder.path(), 1 << 20).expect("opens");
        let numbers: Vec<_> = ["one", "secret", "two"].iter().map(|id| add(&ring, id).number).collect();
        let before = segments(folder.path())[0].1.len();
        ring.forget(&HashSet::from([numbers[1]])).expect("is written");
        assert_eq!(ids(&ring), ["one", "two"]);
        let text = &segments(folder.path())[0].1;
        assert!(!text.contains("secret") && text.len() == before, "{text}");
        add(&ring, "three");
        drop(ring);
        let ring = Ring::open(folder.path(), 1 << 20).expect("opens");
        assert_eq!(ids(&ring), ["one", "two", "three"]);

        // By another process, meanwhile.
        let [own] = &*disk::folders(folder.path()) else { panic!("one folder") };
        let places = disk::read_all(own).expect("reads");
        let place = places.iter().find(|(_, call)| call.id == "two").expect("is there").0;
        disk::erase(own, &[place]).expect("is written");
        assert_eq!((ring.get("two"), ring.get("three").is_some()), (None, true));
    }

    #[test]
    fn gateways_that_share_a_directory_leave_each_other_alone() {
        let folder = tempfile::tempdir().expect("a directory");
        let open = || Ring::open(folder.path(), 1 << 20).expect("opens");
        let (first, second) = (open(), open());
        add(&first, "first");
        add(&second, "second");
        disk::remove(folder.path()).expect("is removed");
        assert_eq!((ids(&first), ids(&second)), (vec!["first".to_owned()], vec!["second".to_owned()]));
        assert!(
            first.get("first").is_some() && second.get("second").is_some(),
            "who records none leaves others theirs"
        );
        drop((first, second));
        assert_eq!(ids(&open()), ["first"]);
        // Nobody went on with it, and nobody would have deleted anything in it.
        let (first, second) = (open(), open());
        assert_eq!((ids(&first).len(), ids(&second).len()), (1, 0));
        drop((first, second));
        disk::remove(folder.path()).expect("is removed");
        assert!(ids(&open()).is_empty());
    }
}
