//! Never twice, never lost: purchases while processes die, disks fail and the payment provider misbehaves.
//!
//! `cargo test -p ucp-gateway --test faults -- run` runs all scenarios, `… -- run NAME…` some of them. Each says in one
//! line what it did. `UCP_FAULTS_KILLS` changes how often the gateway is killed at random, `UCP_FAULTS_SEED` how chance
//! begins. What a scenario that failed did stays on disk: what clients asked and were answered (`record.jsonl`), the
//! gateways' log, the database, the provider's journal and what platforms were told (`webhooks.jsonl`).
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`kills`] | killed at random moments while platforms buy |
//! | [`disk`] | killed at every n-th system call; failing and full disks |
//! | [`provider`] | a provider that hangs, breaks off and talks nonsense |
//! | [`captures`] | a merchant who captures and releases at such a provider |
//! | [`refunds`] | refunds at such a provider while the gateway is killed |
//! | [`rivals`] | calls that race each other, in one gateway and in two |
//! | [`postgres`] | three gateways on one PostgreSQL server: killed, cut off, failed over |
//! | [`agenda`] | purchases that wait for a bank, at three gateways on one PostgreSQL server |
//! | [`room`] | callers whose room is used up |
//! | [`webhooks`] | killed while platforms are told about their orders, and do not listen |
//! | [`notices`] | killed while a shop behind the backend API tells what becomes of orders |
//! | [`bank`] | buyers at their bank, and the events of Stripe |
//! | [`history`] | the judgment of everything that callers, the provider and platforms were told |
//! | [`books`] | what must be true of the database and of the provider's journal |
//! | [`response`] | what must be true of everything that platforms were told |
//! | [`proof`] | whether a webhook is signed, found out without the code under test |
//! | [`platforms`] | receivers of webhooks that misbehave |
//! | [`client`] | clients that repeat calls, and compare answers with earlier ones |
//! | [`process`] | the gateway and the provider, as processes |
//! | [`strace`] | faults of system calls |
//! | [`oracle`] | whether `books` would notice; that `response` does, `webhooks` shows |
//! | [`random`] | chance |
//!
//! Kills end a process, so its writes are in the hands of the operating system. Failing flushes show that a response
//! also waits for the flush: nothing is acknowledged then.

mod agenda;
mod bank;
mod books;
mod captures;
mod client;
mod disk;
mod history;
mod kills;
mod notices;
mod oracle;
mod platforms;
mod postgres;
mod process;
mod proof;
mod provider;
mod random;
mod refunds;
mod rivals;
mod room;
mod strace;
mod told;
mod webhooks;

use std::{
    env, fs,
    io::Read as _,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    process::ExitCode,
    sync::Mutex,
    time::Instant,
};

use crate::{
    client::CANARY,
    process::{Provider, Times, World},
    random::Random,
    strace::Strace,
};

/// Default number of times that the gateway is killed at random.
const KILLS: u64 = 200;

/// Number of scenarios that run at the same time.
const AT_ONCE: usize = 2;

/// Something that is done to a shop; says what it did.
type Run = fn(&World, &Random) -> String;

struct Scenario {
    name: &'static str,
    times: Times,
    traced: bool,
    provider: Provider,
    run: Run,
}

/// Comes first, and alone.
const ORACLE: Scenario = Scenario {
    name: "oracle",
    times: Times::PATIENT,
    traced: false,
    provider: Provider::Processor,
    run: oracle::notices,
};

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "kills",
        times: kills::TIMES,
        traced: false,
        provider: Provider::Processor,
        run: |world, random| kills::at_random(world, random, number("UCP_FAULTS_KILLS", KILLS)),
    },
    Scenario {
        name: "calls",
        times: Times::PATIENT,
        traced: true,
        provider: Provider::Processor,
        run: disk::killed_at_every_call,
    },
    Scenario { name: "disk", times: Times::PATIENT, traced: true, provider: Provider::Processor, run: disk::failing },
    Scenario {
        name: "provider",
        times: Times::BRISK,
        traced: false,
        provider: Provider::Processor,
        run: provider::misbehaving,
    },
    Scenario {
        name: "doubt",
        times: Times::BRISK,
        traced: false,
        provider: Provider::Processor,
        run: provider::in_doubt,
    },
    Scenario {
        name: "overtaken",
        times: provider::OVERTAKING,
        traced: false,
        provider: Provider::Processor,
        run: provider::overtaken,
    },
    Scenario {
        name: "stripe",
        times: Times::BRISK,
        traced: false,
        provider: Provider::Stripe,
        run: provider::misbehaving,
    },
    Scenario {
        name: "stripe-doubt",
        times: Times::BRISK,
        traced: false,
        provider: Provider::Stripe,
        run: provider::in_doubt,
    },
    Scenario {
        name: "stripe-kills",
        times: kills::TIMES,
        traced: false,
        provider: Provider::Stripe,
        run: |world, random| kills::at_random(world, random, number("UCP_FAULTS_KILLS", KILLS)),
    },
    Scenario {
        name: "captures",
        times: Times::BRISK,
        traced: false,
        provider: Provider::Processor,
        run: captures::killed,
    },
    Scenario {
        name: "stripe-captures",
        times: Times::BRISK,
        traced: false,
        provider: Provider::Stripe,
        run: captures::killed,
    },
    Scenario { name: "refunds", times: Times::BRISK, traced: false, provider: Provider::Stripe, run: refunds::killed },
    Scenario {
        name: "rivals",
        times: Times::PATIENT,
        traced: false,
        provider: Provider::Processor,
        run: rivals::in_one,
    },
    Scenario { name: "thawed", times: Times::BRISK, traced: false, provider: Provider::Processor, run: rivals::thawed },
    Scenario {
        name: "gateways",
        times: Times::PATIENT,
        traced: false,
        provider: Provider::Processor,
        run: rivals::in_two,
    },
    Scenario {
        name: "webhooks",
        times: Times::PATIENT,
        traced: false,
        provider: Provider::Processor,
        run: webhooks::killed_at_random,
    },
    Scenario {
        name: "notices",
        times: Times::PATIENT,
        traced: false,
        provider: Provider::Processor,
        run: notices::killed,
    },
    Scenario {
        name: "letters",
        times: Times::PATIENT,
        traced: true,
        provider: Provider::Processor,
        run: webhooks::killed_at_every_call,
    },
    Scenario {
        name: "postgres",
        times: kills::TIMES,
        traced: false,
        provider: Provider::Processor,
        run: |world, random| postgres::killed(world, random, number("UCP_FAULTS_KILLS", postgres::KILLS)),
    },
    Scenario {
        name: "failover",
        times: kills::TIMES,
        traced: false,
        provider: Provider::Processor,
        run: postgres::failed_over,
    },
    Scenario {
        name: "agenda",
        times: kills::TIMES,
        traced: false,
        provider: Provider::Stripe,
        run: |world, random| agenda::killed(world, random, number("UCP_FAULTS_KILLS", postgres::KILLS)),
    },
    Scenario {
        name: "events",
        times: Times::PATIENT,
        traced: false,
        provider: Provider::Stripe,
        run: agenda::events_at_any_gateway,
    },
    Scenario {
        name: "cart",
        times: Times::PATIENT,
        traced: false,
        provider: Provider::Processor,
        run: rivals::one_cart,
    },
    Scenario {
        name: "room",
        times: Times::PATIENT,
        traced: false,
        provider: Provider::Processor,
        run: room::before_charge,
    },
];

fn number(variable: &str, otherwise: u64) -> u64 {
    env::var(variable).map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{variable} is no number")))
}

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    match arguments.next().as_deref() {
        Some(process::PSP) => process::psp(arguments),
        Some("run") => run(&arguments.collect::<Vec<_>>()),
        _ => {
            println!("faults: skipped, for it takes minutes: cargo test -p ucp-gateway --test faults -- run");
            ExitCode::SUCCESS
        }
    }
}

fn run(wanted: &[String]) -> ExitCode {
    if let Some(unknown) = wanted.iter().find(|name| !SCENARIOS.iter().any(|scenario| scenario.name == **name)) {
        let known: Vec<_> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        eprintln!("there is no scenario {unknown}; there are {}", known.join(", "));
        return ExitCode::FAILURE;
    }
    let seed = number("UCP_FAULTS_SEED", u64::from(std::process::id()));
    println!("faults: UCP_FAULTS_SEED={seed}");
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let traceable = Strace::available();
    let chosen =
        SCENARIOS.iter().filter(|scenario| wanted.is_empty() || wanted.iter().any(|name| name == scenario.name));
    let queue = Mutex::new(chosen);
    let failed = Mutex::new(Vec::new());
    if !carried_out(&ORACLE, root.path(), seed) {
        return ExitCode::FAILURE;
    }
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(scenario) = { queue.lock().expect("the queue").next() } {
                    match &traceable {
                        Err(reason) if scenario.traced => println!("{}: skipped: {reason}", scenario.name),
                        _ if carried_out(scenario, root.path(), seed) => {}
                        _ => failed.lock().expect("the list").push(scenario.name),
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("the list");
    if failed.is_empty() {
        println!("faults: all went well");
        return ExitCode::SUCCESS;
    }
    println!("faults: {} went wrong; what they did is in {}", failed.join(", "), root.keep().display());
    ExitCode::FAILURE
}

/// Returns `true` if a scenario went well.
fn carried_out(scenario: &Scenario, root: &Path, seed: u64) -> bool {
    let start = Instant::now();
    let done = catch_unwind(AssertUnwindSafe(|| {
        let world = World::new(scenario.name, root, scenario.times, scenario.provider);
        let more = (scenario.run)(&world, &Random::new(seed));
        let searched = secret_kept(world.folder());
        println!("{}, {} MB searched, {} s", world.summary(&more), searched >> 20, start.elapsed().as_secs());
    }));
    if done.is_err() {
        println!("{}: FAILED after {} s, see above", scenario.name, start.elapsed().as_secs());
    }
    done.is_ok()
}

/// Searches everything that was written for the credential: the database with its journal, the index, the log. What the
/// client asked is its own. Returns how many bytes were searched.
fn secret_kept(folder: &Path) -> u64 {
    let mut searched = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            searched += secret_kept(&path);
        } else if path.file_name().is_some_and(|name| name != "record.jsonl") {
            searched += search(&path);
        }
    }
    searched
}

fn search(path: &Path) -> u64 {
    let mut file = fs::File::open(path).expect("a file");
    let (mut kept, mut searched, mut piece) = (Vec::new(), 0, vec![0; 1 << 20]);
    loop {
        let read = file.read(&mut piece).expect("it is read");
        if read == 0 {
            return searched;
        }
        searched += read as u64;
        kept.extend_from_slice(&piece[..read]);
        let found = kept.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
        assert!(!found, "the credential is in {}", path.display());
        kept.drain(..kept.len().saturating_sub(CANARY.len() - 1));
    }
}
