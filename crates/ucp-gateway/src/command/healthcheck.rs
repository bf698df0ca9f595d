//! `healthcheck`: asks the gateway of a configuration whether it serves.

use std::{
    io::{Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream},
    process::ExitCode,
    time::Duration,
};

use super::Done;
use crate::{
    clock,
    config::{ServeOptions, Settings},
};

/// Maximum time of each step.
const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum length of the status line in bytes.
const MAX_LINE: u64 = 256;

pub(crate) fn run(options: &ServeOptions) -> Done {
    let address = reached(Settings::resolve(options, clock::now())?.sections.server.listen.0);
    let status = ask(address).map_err(|error| format!("the gateway at {address} does not answer: {error}"))?;
    match status.split(' ').nth(1) {
        Some("200") => Ok(ExitCode::SUCCESS),
        _ => Err(format!("the gateway at {address} does not serve: {}", status.trim_end()).into()),
    }
}

/// Returns the address under which a listener is reached from this machine.
fn reached(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

/// Asks for the profile, which every gateway that serves has, and returns the status line of the answer.
fn ask(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /.well-known/ucp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(MAX_LINE).read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}
