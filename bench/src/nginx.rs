//! nginx as the yardstick of what stands in front of a server, `proxy_pass` with kept connections on both sides, and of what
//! answers by itself: the same bytes each time, from files that are kept open.

use std::{
    fs,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Done, scenario::HOST, server::Server};

/// Programs to try, as nginx may not be on the path of an ordinary user.
const PROGRAMS: [&str; 2] = ["nginx", "/usr/sbin/nginx"];

/// nginx in front of an upstream, with so many worker processes.
///
/// # Errors
/// Why there is none: it is not installed, or does not start.
pub(crate) fn before(upstream: SocketAddr, directory: &Path, workers: usize) -> Done<Server> {
    let upstream = format!(
        "  upstream shop {{\n    server {upstream};\n    keepalive 64;\n    keepalive_requests 1000000000;\n  }}\n"
    );
    let passed = "    location / {\n      proxy_pass http://shop;\n      proxy_http_version 1.1;\n      \
                  proxy_set_header Connection \"\";\n    }\n";
    start(directory, workers, &upstream, passed)
}

/// nginx that answers each of these paths with a document, with so many worker processes.
///
/// # Errors
/// As [`before`].
pub(crate) fn fixed(answers: &[(&str, Vec<u8>)], directory: &Path, workers: usize) -> Done<Server> {
    fs::create_dir_all(directory)?;
    let mut locations = String::new();
    for (number, (path, answer)) in answers.iter().enumerate() {
        let file = directory.join(format!("{number}.json"));
        fs::write(&file, answer)?;
        // A file takes no POST, which is answered with it all the same.
        let file = file.display();
        locations += &format!("    location = {path} {{ alias {file}; error_page 405 =200 {path}; }}\n");
    }
    start(directory, workers, "  open_file_cache max=16;\n  default_type application/json;\n", &locations)
}

/// nginx with these lines for all servers, and with these locations.
fn start(directory: &Path, workers: usize, general: &str, locations: &str) -> Done<Server> {
    fs::create_dir_all(directory)?;
    let there = |program: &&str| Command::new(program).arg("-v").output().is_ok_and(|output| output.status.success());
    let program = PROGRAMS.into_iter().find(there).ok_or("nginx is not installed")?;
    let address = TcpListener::bind((HOST, 0))?.local_addr()?;
    let configuration = directory.join("nginx.conf");
    fs::write(&configuration, configured(general, locations, address, directory, workers))?;
    let command = |more: &[&str]| {
        let mut command = Command::new(program);
        command.arg("-p").arg(directory).arg("-c").arg(&configuration).arg("-e").arg(log(directory)).args(more);
        command
    };
    let server = Server::at(&mut command(&[]), address, command(&["-s", "stop"]));
    server.map_err(|error| {
        let said = fs::read_to_string(log(directory)).unwrap_or_default();
        format!("{error}: {}", said.trim()).into()
    })
}

/// Its version, as it says it.
pub(crate) fn version() -> Option<String> {
    let output = PROGRAMS.into_iter().find_map(|program| Command::new(program).arg("-v").output().ok())?;
    let said = String::from_utf8(output.stderr).ok()?;
    said.trim().rsplit_once('/').map(|(_, version)| version.to_owned())
}

fn log(directory: &Path) -> PathBuf {
    directory.join("error.log")
}

fn configured(general: &str, locations: &str, address: SocketAddr, directory: &Path, workers: usize) -> String {
    let log = log(directory).display().to_string();
    let paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .into_iter()
        .map(|kind| format!("  {kind}_temp_path {}/{kind};\n", directory.display()))
        .collect();
    // A connection is closed after 1,000 requests by default, on either side. Workers of a root's nginx are nobody's by default,
    // who may not read the directory.
    format!(
        "daemon off;\n\
         user root;\n\
         worker_processes {workers};\n\
         pid {}/nginx.pid;\n\
         error_log {log} warn;\n\
         events {{ worker_connections 1024; }}\n\
         http {{\n\
         {paths}\
         \x20 access_log off;\n\
         \x20 keepalive_requests 1000000000;\n\
         {general}\
         \x20 server {{\n\
         \x20   listen {address} reuseport;\n\
         {locations}\
         \x20 }}\n\
         }}\n",
        directory.display()
    )
}
