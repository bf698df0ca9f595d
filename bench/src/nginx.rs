//! nginx as the yardstick of what stands in front of a server: `proxy_pass`, with kept connections on both sides.

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
    fs::create_dir_all(directory)?;
    let there = |program: &&str| Command::new(program).arg("-v").output().is_ok_and(|output| output.status.success());
    let program = PROGRAMS.into_iter().find(there).ok_or("nginx is not installed")?;
    let address = TcpListener::bind((HOST, 0))?.local_addr()?;
    let configuration = directory.join("nginx.conf");
    fs::write(&configuration, configured(upstream, address, directory, workers))?;
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

fn configured(upstream: SocketAddr, address: SocketAddr, directory: &Path, workers: usize) -> String {
    let log = log(directory).display().to_string();
    let paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .into_iter()
        .map(|kind| format!("  {kind}_temp_path {}/{kind};\n", directory.display()))
        .collect();
    // A connection is closed after 1,000 requests by default, on either side.
    format!(
        "daemon off;\n\
         worker_processes {workers};\n\
         pid {}/nginx.pid;\n\
         error_log {log} warn;\n\
         events {{ worker_connections 1024; }}\n\
         http {{\n\
         {paths}\
         \x20 access_log off;\n\
         \x20 keepalive_requests 1000000000;\n\
         \x20 upstream shop {{\n\
         \x20   server {upstream};\n\
         \x20   keepalive 64;\n\
         \x20   keepalive_requests 1000000000;\n\
         \x20 }}\n\
         \x20 server {{\n\
         \x20   listen {address} reuseport;\n\
         \x20   location / {{\n\
         \x20     proxy_pass http://shop;\n\
         \x20     proxy_http_version 1.1;\n\
         \x20     proxy_set_header Connection \"\";\n\
         \x20   }}\n\
         \x20 }}\n\
         }}\n",
        directory.display()
    )
}
