//! `heddle apply` and `heddle rollback`: change the configuration in force of a ResourceManager,
//! and its heddle.json. Both show the plan first and ask.

use super::plan::{after_start, parsed, read, shown};
use crate::failure::Failure;
use crate::remote::{Client, Holds, Server};
use crate::terminal::{clean, print, said};
use clap::Args;
use serde_json::Value;
use std::io::{IsTerminal, stdin};
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct Apply {
    /// The heddle.json to bring into force. `heddle convert` makes one of a stock scheduler's file.
    file: PathBuf,
    #[command(flatten)]
    sure: Sure,
}

#[derive(Args)]
pub(crate) struct Rollback {
    #[command(flatten)]
    sure: Sure,
}

#[derive(Args)]
struct Sure {
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    server: Server,
}

impl Apply {
    pub(crate) fn main(&self) -> Result<(), Failure> {
        let (text, config) = read(&self.file)?;
        let client = Client::new(&self.sure.server)?;
        self.sure.ask(&client, &config)?;
        self.sure
            .change(&client, "PUT", "configuration/file", Some(text))
    }
}

impl Rollback {
    pub(crate) fn main(&self) -> Result<(), Failure> {
        let client = Client::new(&self.sure.server)?;
        let kept = client.get("configuration/file", "", Holds::Text("text"))?;
        if let Some(previous) = kept.json["previous"].as_str() {
            let at = format!("{}.previous", said(&kept.json["file"]));
            self.sure.ask(&client, &parsed(previous, &at)?)?;
        }
        // Without an earlier file the server says what is missing.
        self.sure.change(
            &client,
            "POST",
            "configuration/rollback",
            Some("{}".to_string()),
        )
    }
}

impl Sure {
    /// Shows what a configuration would change, and asks whether it shall.
    fn ask(&self, client: &Client, config: &Value) -> Result<(), Failure> {
        if self.yes {
            return Ok(());
        }
        let plan = client.change("POST", "plan", Some(config), Holds::List("queues"))?;
        print(&shown(&plan.json))?;
        if !stdin().is_terminal() {
            let what =
                "nothing was changed: standard input is no terminal, so nothing can be confirmed";
            return Err(Failure::usage(
                what,
                "standard input",
                "a terminal, or `--yes`",
            ));
        }
        print("Bring it into force? [y/N] ")?;
        let mut answer = String::new();
        // An input that ends is a no.
        let _ = stdin().read_line(&mut answer);
        match answer.trim() {
            "y" | "Y" | "yes" => Ok(()),
            _ => Err(Failure::usage(
                "not confirmed; nothing was changed",
                "the answer",
                "y",
            )),
        }
    }

    fn change(
        &self,
        client: &Client,
        method: &str,
        path: &str,
        body: Option<String>,
    ) -> Result<(), Failure> {
        let answer = client.change_text(method, path, body, Holds::Text("file"))?;
        if self.server.json {
            return print(&answer.shown());
        }
        let file = clean(&said(&answer.json["file"]));
        let later = after_start(&answer.json).map_or(String::new(), |sections| {
            format!(
                " except {sections}, which changes at the next start of the ResourceManager only"
            )
        });
        print(&format!(
            "in force{later}, and kept as {file}; `heddle rollback` brings the one before back\n\
             Copy the file to the other ResourceManagers: the one that becomes active reads \
             its own.\n"
        ))
    }
}
