//! The provider as a process of its own, for tests that kill things.
//!
//! `ucp-fake-psp --api-key KEY --signing-secret SECRET [--journal FILE] [--port PORT] [--seconds N] [--fault ORDER]…`
//! prints its address as the first line, and ends when its standard input does, or after that many seconds (600 unless
//! told otherwise).

use std::{
    io::{self, Read as _},
    process::ExitCode,
    thread,
    time::Duration,
};

use ucp_fake_psp::{FakePsp, Keys, Options, Order};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let mut options = Options::new(Keys { api_key: String::new(), signing_secret: String::new() });
    let mut seconds = 600;
    let mut orders: Vec<Order> = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{name} needs a number"));
        match name.as_str() {
            "--api-key" => options.keys.api_key = value,
            "--signing-secret" => options.keys.signing_secret = value,
            "--journal" => options.journal = Some(value.into()),
            "--port" => options.port = u16::try_from(number()?).map_err(|_| "there is no such port")?,
            "--seconds" => seconds = number()?,
            "--fault" => orders.push(value.parse().map_err(|error| format!("{name}: {error}"))?),
            _ => return Err(format!("{name} is not known")),
        }
    }
    let running = FakePsp::start(options).map_err(|error| error.to_string())?;
    for order in orders {
        running.psp().inject(order);
    }
    println!("{}", running.url());
    thread::spawn(move || {
        // Whatever is written to it is ignored: only its end matters.
        let mut ignored = [0; 64];
        while io::stdin().read(&mut ignored).is_ok_and(|read| read > 0) {}
        std::process::exit(0);
    });
    thread::sleep(Duration::from_secs(seconds));
    Ok(())
}
