//! `compare` and `record`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use clap::Args;

use crate::{
    Done,
    allow::Allowed,
    corpus::{self, Scene},
    stage::{Stage, Tools},
    transcript::{Difference, Transcript},
};

/// Options of the comparison.
#[derive(Debug, Args)]
pub(crate) struct CompareOptions {
    /// The binary that is right.
    old: PathBuf,
    /// The binary that has to answer alike.
    new: PathBuf,
    /// Compare only the scenes whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Allowed differences: `order` for the order of fields, or the file of intended differences, with a pattern of
    /// call names and a reason per line; repeatable.
    #[arg(long, value_name = "order|FILE")]
    allow: Vec<PathBuf>,
    /// Print the seconds of every scene.
    #[arg(long)]
    times: bool,
}

/// Options of the recording.
#[derive(Debug, Args)]
pub(crate) struct RecordOptions {
    /// The binary to ask.
    binary: PathBuf,
    /// The file to write.
    file: PathBuf,
    /// The binary of shops behind the gateway [default: the same].
    #[arg(long, value_name = "BINARY")]
    shop: Option<PathBuf>,
    /// Record only the scenes whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

/// Compares two binaries; fails when a difference is not allowed.
pub(crate) fn compare(options: &CompareOptions) -> Done<ExitCode> {
    let allowed = Allowed::read(&options.allow)?;
    let (old, new) = (Tools::new(&options.old, &options.old)?, Tools::new(&options.new, &options.old)?);
    let (mut calls, mut differ, mut kinds) = (0, 0, BTreeMap::new());
    for scene in scenes(options.only.as_deref())? {
        let start = Instant::now();
        let (old, new) = std::thread::scope(|scope| {
            let other = scope.spawn(|| play(&scene, &new));
            let own = play(&scene, &old);
            (own, other.join())
        });
        let new = new.map_err(|_| format!("the scene {} panicked", scene.name))??;
        let old = old?;
        calls += old.entries.len();
        if options.times {
            println!("{:>7.1} s {:>6} calls  {}", start.elapsed().as_secs_f64(), old.entries.len(), scene.name);
        }
        for transcript in [&old, &new] {
            // Steps that both could not take are not compared.
            if let Some(failed) = transcript.entries.iter().find(|entry| entry.name == format!("{}/failed", scene.name))
            {
                differ += 1;
                println!("{}\n    {}", failed.name, failed.answer);
            }
        }
        for difference in old.differences(&new) {
            let Difference { name, kind, text } = difference;
            if allowed.covers(&name) {
                continue;
            }
            *kinds.entry(kind).or_insert(0) += 1;
            if allowed.permits(kind) {
                continue;
            }
            differ += 1;
            println!("{name} ({kind})\n{text}");
        }
    }
    if options.only.is_none() {
        for (number, pattern) in allowed.unused() {
            println!("line {number} of the list of allowed differences is not needed: {pattern}");
        }
    }
    println!("{calls} calls, {differ} differ");
    for (kind, count) in kinds {
        println!("{count:>7} {kind}{}", if allowed.permits(kind) { ", allowed" } else { "" });
    }
    Ok(if differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Writes the transcript of one binary.
pub(crate) fn record(options: &RecordOptions) -> Done<ExitCode> {
    let tools = Tools::new(&options.binary, options.shop.as_deref().unwrap_or(&options.binary))?;
    let mut text = String::new();
    for scene in scenes(options.only.as_deref())? {
        text.push_str(&play(&scene, &tools)?.text());
    }
    write(&options.file, &text)?;
    Ok(ExitCode::SUCCESS)
}

fn write(file: &Path, text: &str) -> Done {
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

fn scenes(only: Option<&str>) -> Done<Vec<Scene>> {
    let scenes: Vec<_> =
        corpus::scenes().into_iter().filter(|scene| scene.name.contains(only.unwrap_or_default())).collect();
    if scenes.is_empty() {
        let names: Vec<_> = corpus::scenes().iter().map(|scene| scene.name).collect();
        return Err(format!("`--only` must be a part of one of these names: {}", names.join(", ")));
    }
    Ok(scenes)
}

/// Plays a scene. What keeps it from going on stands in the transcript, too.
fn play(scene: &Scene, tools: &Tools) -> Done<Transcript> {
    let mut stage = Stage::new(scene.name, tools)?;
    if let Err(fault) = (scene.play)(&mut stage) {
        stage.note("failed", &fault);
        eprintln!("golden: {} with {}: {fault}", scene.name, tools.binary.display());
    }
    Ok(stage.finish())
}
