//! `heddle completions` and `heddle man`: generated from the definition of the arguments, so that
//! they cannot drift from it. Installs nothing.

use crate::failure::{Failure, exit};
use crate::terminal::print;
use clap::{Command, ValueEnum};
use clap_complete::Shell;
use clap_mangen::roff::{Roff, bold, roman};
use std::process::ExitCode;

/// The shells that completions exist for.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum For {
    Bash,
    Zsh,
    Fish,
}

/// The exit codes of commands that talk to a ResourceManager or a store.
pub(crate) const EXIT_CODES: [(&str, &str); 5] = [
    ("0", "done"),
    (
        "1",
        "refused: the server or the store said no, or a check found faults",
    ),
    (
        "2",
        "usage: an argument, a setting or a file with a secret is wrong",
    ),
    (
        "3",
        "not reachable: no server or store, no answer in time, or none that is Heddle's",
    ),
    (
        "4",
        "in force, but not stored yet: a kill of the ResourceManager would lose it",
    ),
];

/// The environment variables that the commands read.
const VARIABLES: [(&str, &str); 5] = [
    (
        "HEDDLE_URL",
        "the ResourceManager's web address, unless --url is given",
    ),
    ("HEDDLE_USER", "the user, unless --user is given"),
    (
        "HEDDLE_SECRET_FILE",
        "the file with the secret, unless --secret-file is given",
    ),
    ("HEDDLE_SECRET", "the secret itself, if no file is named"),
    (
        "HEDDLE_LOG",
        "what is logged on standard error: off (the default), warn, info, debug",
    ),
];

/// Returns the text after the list of commands in `heddle --help`.
pub(crate) fn after_help() -> String {
    let lines = |title: &str, pairs: &[(&str, &str)]| {
        let line = |(name, text): &(&str, &str)| format!("  {name:<19} {text}\n");
        format!("{title}:\n{}", pairs.iter().map(line).collect::<String>())
    };
    format!(
        "{}\n{}",
        lines("Exit codes", &EXIT_CODES),
        lines("Environment", &VARIABLES)
    )
}

/// Prints the completions for a shell.
pub(crate) fn completions(shell: For, mut command: Command) -> ExitCode {
    let shell = match shell {
        For::Bash => Shell::Bash,
        For::Zsh => Shell::Zsh,
        For::Fish => Shell::Fish,
    };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "heddle", &mut text);
    exit(printed(text))
}

/// Prints one manual page for all commands, because they share most of their arguments.
pub(crate) fn man(mut command: Command) -> ExitCode {
    command.build();
    let mut text = Vec::new();
    let written = (|| {
        let man = clap_mangen::Man::new(command.clone());
        man.render_title(&mut text)?;
        man.render_name_section(&mut text)?;
        man.render_synopsis_section(&mut text)?;
        man.render_description_section(&mut text)?;
        of_commands(&command, "heddle", &mut text)?;
        pairs("EXIT STATUS", &EXIT_CODES).to_writer(&mut text)?;
        pairs("ENVIRONMENT", &VARIABLES).to_writer(&mut text)
    })();
    exit(match written {
        Ok(()) => printed(text),
        Err(error) => Err(Failure::output(&error)),
    })
}

fn printed(text: Vec<u8>) -> Result<(), Failure> {
    print(&String::from_utf8_lossy(&text))
}

/// Writes a section with its options for every command that does something.
fn of_commands(command: &Command, path: &str, text: &mut Vec<u8>) -> std::io::Result<()> {
    for below in command
        .get_subcommands()
        .filter(|below| below.get_name() != "help")
    {
        let path = format!("{path} {}", below.get_name());
        if below.has_subcommands() {
            of_commands(below, &path, text)?;
            continue;
        }
        let mut head = Roff::new();
        head.control("SH", [path.to_uppercase().as_str()]);
        let about = below.get_long_about().or(below.get_about());
        head.text([roman(about.map(ToString::to_string).unwrap_or_default())]);
        head.to_writer(text)?;
        let man = clap_mangen::Man::new(below.clone());
        let mut options = Vec::new();
        man.render_options_section(&mut options)?;
        // Options become a subsection of their command instead of a section of their own.
        let options = String::from_utf8_lossy(&options).replace(".SH OPTIONS", ".SS Options");
        text.extend(options.into_bytes());
    }
    Ok(())
}

fn pairs(title: &str, pairs: &[(&str, &str)]) -> Roff {
    let mut section = Roff::new();
    section.control("SH", [title]);
    for (name, text) in pairs {
        section.control("TP", []);
        section.text([bold(*name)]);
        section.text([roman(*text)]);
    }
    section
}
