//! Throw-away clusters of PostgreSQL, for tests that need a real server.
//!
//! A cluster lives in a directory of its own, is reached through a port of the loopback interface, and ends with the test
//! process. It flushes nothing: what a test kills is the server process, not the machine.

mod proxy;

use std::{
    fs,
    io::Write as _,
    net::TcpListener,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
    time::Duration,
};

use tempfile::TempDir;

pub use self::proxy::{CuttingProxy, Side};
use crate::{
    leash::{Leashed, free_address, run},
    wait::{PATIENCE, eventually},
};

/// Name of the variable with the address of a database to test on.
pub const DATABASE_URL: &str = "DATABASE_URL";

/// Number of times that a server is started whose port somebody else has.
const STARTS: u32 = 20;

/// Pause between them.
const PAUSE: Duration = Duration::from_millis(250);

/// User who owns the cluster in the database.
const USER: &str = "ucp";

/// Settings of every cluster.
const SETTINGS: [&str; 7] = [
    "fsync=off",
    "full_page_writes=off",
    "max_connections=400",
    "shared_buffers=64MB",
    "wal_level=replica",
    "max_wal_senders=4",
    "unix_socket_directories=",
];

/// A running server with a cluster of its own.
#[derive(Debug)]
pub struct Cluster {
    directory: TempDir,
    data: PathBuf,
    port: u16,
    settings: Vec<String>,
    process: Option<Leashed>,
}

impl Cluster {
    /// Creates a cluster and starts its server, with settings such as `fsync=on` beside those of every cluster; `None`
    /// if PostgreSQL is not installed. Panics if it is installed and cannot be started.
    #[must_use]
    pub fn start(settings: &[&str]) -> Option<Self> {
        Self::create(Self::prepare(settings))
    }

    /// Creates a cluster as [`start`](Self::start) does, whose server encrypts connections with a certificate and its
    /// key (PEM). Panics if PostgreSQL is installed and cannot be started.
    #[must_use]
    pub fn start_with_certificate(certificate: &str, key: &str) -> Option<Self> {
        let mut cluster = Self::prepare(&["ssl=on"]);
        for (setting, name, content) in
            [("ssl_cert_file", "server.crt", certificate), ("ssl_key_file", "server.key", key)]
        {
            let path = cluster.directory.path().join(name);
            fs::write(&path, content).expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is the owner's alone");
            if let Some((user, group)) = server_user() {
                chown(&path, Some(user), Some(group)).expect("it belongs to the server");
            }
            cluster.settings.push(format!("{setting}={}", path.display()));
        }
        Self::create(cluster)
    }

    fn create(cluster: Self) -> Option<Self> {
        let initdb = program("initdb")?;
        let mut command = as_server(&initdb);
        command.args(["--no-sync", "--no-instructions", "-A", "trust", "-E", "UTF8", "--locale=C", "-U", USER, "-D"]);
        command.arg(&cluster.data);
        succeed(&command);
        Some(cluster.started())
    }

    /// Creates a standby of this cluster, from which it streams, and starts its server. Panics if it cannot be started.
    pub fn standby(&self, name: &str) -> Self {
        let cluster = Self::prepare(&[]);
        let mut command = as_server(&program("pg_basebackup").expect("installed with the server"));
        let from = format!("host=127.0.0.1 port={} user={USER} application_name={name}", self.port);
        command.args(["--no-sync", "--checkpoint=fast", "--write-recovery-conf", "-X", "stream", "-d", &from, "-D"]);
        command.arg(&cluster.data);
        succeed(&command);
        cluster.started()
    }

    fn prepare(settings: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let data = directory.path().join("data");
        fs::DirBuilder::new().mode(0o700).create(&data).expect("a directory");
        if let Some((user, group)) = server_user() {
            for path in [directory.path(), &data] {
                chown(path, Some(user), Some(group)).expect("it belongs to the server");
            }
        }
        // Free now; a server that finds it taken says so.
        let port = free_address().port();
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        Self { directory, data, port, settings, process: None }
    }

    fn started(mut self) -> Self {
        self.run();
        self
    }

    /// Starts the server, which was killed. Panics if it is running, or does not start.
    pub fn run(&mut self) {
        assert!(self.process.is_none(), "the server is running");
        // What a killed server left behind.
        drop(fs::remove_file(self.data.join("postmaster.pid")));
        let mut command = as_server(&program("postgres").expect("installed"));
        command.arg("-D").arg(&self.data).args([
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            &format!("port={}", self.port),
        ]);
        for setting in SETTINGS.into_iter().chain(self.settings.iter().map(String::as_str)) {
            command.args(["-c", setting]);
        }
        let start = |cluster: &Self| {
            let log = fs::File::options().create(true).append(true).open(cluster.log()).expect("a file");
            Some(Leashed::start(&command, Stdio::null(), log))
        };
        self.process = start(self);
        let ready = program("pg_isready").expect("installed");
        let port = self.port.to_string();
        // A port that was free is lent to a connection of somebody else now and then, for a moment.
        let mut starts = 1;
        eventually("PostgreSQL answers", PATIENCE, || {
            if let Some(status) = self.process.as_mut().expect("started").ended() {
                let log = fs::read_to_string(self.log()).unwrap_or_default();
                let taken = log.lines().rev().take(5).any(|line| line.contains("could not create any TCP/IP sockets"));
                assert!(taken && starts < STARTS, "PostgreSQL ended with {status}:\n{log}");
                starts += 1;
                std::thread::sleep(PAUSE);
                self.process = start(self);
            }
            let asked = Command::new(&ready).args(["-q", "-h", "127.0.0.1", "-p", &port]).status();
            asked.is_ok_and(|status| status.success()).then_some(())
        });
    }

    /// Kills the server with all of its processes, as a power cut would; flushed or not, the system keeps what it
    /// wrote. Panics if it is not running.
    pub fn kill(&mut self) {
        let mut process = self.process.take().expect("the server is running");
        process.kill();
        // Its children end by themselves as soon as they notice, and the next server must not meet them.
        let port = self.port;
        eventually("nobody listens any more", PATIENCE, || TcpListener::bind(("127.0.0.1", port)).ok());
        eventually("its children end", PATIENCE, || (!has_processes(&self.data)).then_some(()));
    }

    /// Makes a standby the primary. Panics if it cannot be.
    pub fn promote(&self) {
        let mut command = as_server(&program("pg_ctl").expect("installed"));
        succeed(command.args(["promote", "-w", "-D"]).arg(&self.data));
    }

    /// Returns the port.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Returns the address of a database of the cluster.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.port)
    }

    /// Returns the path of the server's log.
    pub fn log(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    /// Runs statements with `psql`, and returns what they print, without alignment. Panics if one of them fails.
    pub fn psql(&self, sql: &str) -> String {
        psql(&self.url("postgres"), sql)
    }
}

/// A running pgbouncer in transaction mode, in front of a cluster.
#[derive(Debug)]
pub struct Bouncer {
    port: u16,
    _directory: TempDir,
    _process: Leashed,
}

impl Bouncer {
    /// Starts one with so many connections to the server; `None` if pgbouncer is not installed. Panics if it is
    /// installed and cannot be started.
    #[must_use]
    pub fn start(server: u16, connections: usize) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
        let program = folders.map(|folder| folder.join("pgbouncer")).find(|program| program.is_file())?;
        let directory = tempfile::tempdir().expect("a directory");
        let port = free_address().port();
        let file = directory.path().join("pgbouncer.ini");
        let configuration = format!(
            "[databases]\n* = host=127.0.0.1 port={server} user={USER}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = {connections}\nmax_client_conn = 500\n\
             server_login_retry = 0.2\n"
        );
        fs::write(&file, configuration).expect("a file");
        if let Some((user, group)) = server_user() {
            chown(directory.path(), Some(user), Some(group)).expect("it belongs to the server");
            chown(&file, Some(user), Some(group)).expect("it belongs to the server");
        }
        let mut command = as_server(&program);
        command.arg(&file);
        let log = fs::File::create(directory.path().join("log")).expect("a file");
        let process = Leashed::start(&command, Stdio::null(), log);
        eventually("pgbouncer listens", PATIENCE, || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
        Some(Self { port, _directory: directory, _process: process })
    }

    /// Returns the address of a database behind it.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.port)
    }
}

/// Runs statements with `psql` in a database, and returns what they print, without alignment. Panics if one of them
/// fails, or there is no `psql`.
#[must_use]
pub fn psql(url: &str, sql: &str) -> String {
    let mut command = Command::new(program("psql").expect("installed with the server"));
    command.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql, url]);
    let output = run(&command, |_| Ok(()));
    assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// Returns the address of a database for tests of this process: that of [`DATABASE_URL`], or one in a cluster that all
/// of them share; `None`, once with a line that says so, if there is neither. Panics if PostgreSQL is installed and
/// cannot be started.
#[must_use]
pub fn database() -> Option<&'static str> {
    static SHARED: OnceLock<Option<(String, Option<Cluster>)>> = OnceLock::new();
    let shared = SHARED.get_or_init(|| {
        if let Ok(url) = std::env::var(DATABASE_URL) {
            return Some((url, None));
        }
        let cluster = Cluster::start(&["synchronous_commit=off"]);
        if cluster.is_none() {
            // Past the capture of what tests print: whoever runs them has to know.
            let told = "\nskipped: tests on PostgreSQL, because it is not installed. Install Debian's `postgresql` (`apt-get install \
                        postgresql`), or name a database of yours by DATABASE_URL=postgres://user:password@host/database.\n";
            drop(std::io::stderr().write_all(told.as_bytes()));
        }
        cluster.map(|cluster| (cluster.url("postgres"), Some(cluster)))
    });
    shared.as_ref().map(|(url, _)| &**url)
}

/// Returns the path of a program of the newest PostgreSQL that is installed.
#[must_use]
pub fn program(name: &str) -> Option<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    versions.sort();
    let debian = versions.into_iter().rev().map(|(_, path)| path);
    let path = std::env::var_os("PATH").unwrap_or_default();
    debian.chain(std::env::split_paths(&path)).map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// Returns user and group for the server, which refuses to run as root: those of Debian's user, or of nobody.
fn server_user() -> Option<(u32, u32)> {
    if fs::metadata("/proc/self").is_ok_and(|process| process.uid() != 0) {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("users");
    ["postgres", "nobody"].into_iter().find_map(|name| {
        let mut fields = users.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?.split(':').skip(1);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    })
}

/// Returns a command that runs a program as the user of the server.
#[must_use]
pub fn as_server(program: &Path) -> Command {
    let Some((user, group)) = server_user() else { return Command::new(program) };
    let mut command = Command::new("setpriv");
    command.arg(format!("--reuid={user}")).arg(format!("--regid={group}")).arg("--clear-groups").arg(program);
    command
}

#[track_caller]
fn succeed(command: &Command) {
    let mut command_in_root = Command::new(command.get_program());
    command_in_root.args(command.get_args()).current_dir("/");
    let output = run(&command_in_root, |_| Ok(()));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Returns `true` if a process works in a directory.
fn has_processes(directory: &Path) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else { return false };
    processes.flatten().any(|process| fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == directory))
}
