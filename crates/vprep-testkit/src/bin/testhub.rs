//! `vprep-testhub [SETUP.json] [--port PORT]`: a hub for tests in other languages. Prints its
//! address on the first line of stdout, and serves until stdin closes: whoever starts it keeps a
//! pipe open, and cannot leave it behind.

use std::error::Error;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::process::ExitCode;

use vprep_testkit::Hub;
use vprep_testkit::setup::Setup;

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let source = error.source().map(|source| format!(": {source}")).unwrap_or_default();
            writeln!(io::stderr(), "vprep-testhub: {error}{source}").ok();
            ExitCode::from(2)
        }
    }
}

fn serve() -> Result<(), Box<dyn Error>> {
    let mut port = 0;
    let mut setup = Setup::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--port" => port = arguments.next().ok_or("--port needs a number")?.parse()?,
            "--help" | "-h" => {
                writeln!(io::stdout(), "usage: vprep-testhub [SETUP.json] [--port PORT]")?;
                return Ok(());
            }
            path => setup = serde_json::from_reader(BufReader::new(File::open(path)?))?,
        }
    }
    let hub = Hub::start_on(port)?;
    setup.apply(&hub)?;
    let mut stdout = io::stdout();
    writeln!(stdout, "{}", hub.url())?;
    stdout.flush()?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
