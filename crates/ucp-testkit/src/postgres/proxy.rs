//! A proxy in front of a PostgreSQL server, which cuts connections between two messages of the protocol.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};

/// Longest message that is passed on, in bytes.
const LONGEST: usize = 64 << 20;

/// Side whose messages are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The gateway's.
    Client,
    /// The server's.
    Server,
}

/// Point of the cut: after so many messages of a side have been passed on. All others are lost.
#[derive(Clone, Copy, Debug)]
struct Cut {
    side: Side,
    left: usize,
}

#[derive(Debug, Default)]
struct State {
    cut: Mutex<Option<Cut>>,
    cuts: AtomicU64,
}

/// A running proxy.
#[derive(Clone, Debug)]
pub struct CuttingProxy {
    address: SocketAddr,
    state: Arc<State>,
}

impl CuttingProxy {
    /// Starts a proxy in front of the server that listens on a port of this machine. It ends with the runtime. Panics
    /// if there is no port to listen on.
    pub async fn start(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::<State>::default();
        let proxy = Self { address, state: Arc::clone(&state) };
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let state = Arc::clone(&state);
                tokio::spawn(async move {
                    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).await else { return };
                    // Each message is passed on by itself, and must not wait for the next one.
                    if client.set_nodelay(true).and_then(|()| server.set_nodelay(true)).is_err() {
                        return;
                    }
                    let ((from_client, to_client), (from_server, to_server)) =
                        (client.into_split(), server.into_split());
                    tokio::select! {
                        () = pass(&state, Side::Client, from_client, to_server) => {}
                        () = pass(&state, Side::Server, from_server, to_client) => {}
                    }
                });
            }
        });
        proxy
    }

    /// Returns the port.
    pub const fn port(&self) -> u16 {
        self.address.port()
    }

    /// Cuts a connection after so many further messages of a side, counted over all connections.
    pub fn cut_after(&self, side: Side, messages: usize) {
        *self.state.cut.lock().unwrap_or_else(PoisonError::into_inner) = Some(Cut { side, left: messages });
    }

    /// Returns `true` if a cut that was asked for has not been made. From then on it will not be.
    pub fn spare(&self) -> bool {
        self.state.cut.lock().unwrap_or_else(PoisonError::into_inner).take().is_some()
    }

    /// Returns the number of connections that were cut between messages.
    pub fn cuts(&self) -> u64 {
        self.state.cuts.load(Ordering::Relaxed)
    }
}

/// Passes messages on until there are no more, or the connection is to be cut.
async fn pass(state: &State, side: Side, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    // The first message of a client has no type.
    let mut is_typed = side == Side::Server;
    while let Some(message) = read(&mut from, is_typed).await {
        is_typed = true;
        if state.cuts(side) {
            return;
        }
        if write(&mut to, &message).await.is_none() {
            return;
        }
    }
}

impl State {
    /// Counts a message. Returns `true` if the connection is cut before it.
    fn cuts(&self, side: Side) -> bool {
        let mut cut = self.cut.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *cut {
            Some(cut) if cut.side == side && cut.left > 0 => {
                cut.left -= 1;
                false
            }
            Some(armed) if armed.side == side => {
                *cut = None;
                self.cuts.fetch_add(1, Ordering::Relaxed);
                true
            }
            _ => false,
        }
    }
}

async fn read(from: &mut (impl AsyncRead + Unpin), is_typed: bool) -> Option<Vec<u8>> {
    let head = if is_typed { 5 } else { 4 };
    let mut message = vec![0; head];
    from.read_exact(&mut message).await.ok()?;
    let length = u32::from_be_bytes(message[head - 4..].try_into().ok()?);
    let rest = usize::try_from(length).ok()?.checked_sub(4)?;
    if rest > LONGEST {
        return None;
    }
    message.resize(head + rest, 0);
    from.read_exact(&mut message[head..]).await.ok()?;
    Some(message)
}

async fn write(to: &mut (impl AsyncWrite + Unpin), message: &[u8]) -> Option<()> {
    to.write_all(message).await.ok()?;
    to.flush().await.ok()
}
