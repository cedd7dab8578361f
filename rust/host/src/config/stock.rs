//! The file or the properties of a stock scheduler, translated, with heddle.json over it.

use super::{INFO, Stock, WARN};
use heddle_stock::{
    Fault, Note, Properties, Property, Verdict, capacity, fair, in_vain, merge, refused, site,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// Remedies of what cannot be done, said once for all of them.
const REMEDY: &str = "Change them, or list them in heddle.queues.tolerate in yarn-site.xml to \
                      lose what they say";

/// heddle.json over a stock configuration.
pub(super) struct Merged {
    pub(super) config: Value,
    /// The name of the stock scheduler's file.
    pub(super) name: String,
    /// The settings that pages show; null for the Fair Scheduler's file.
    pub(super) shown: Value,
    /// Lines for the log: level and text.
    pub(super) log: Vec<(u8, String)>,
}

/// Translates a stock configuration and lays `own`, which is heddle.json, over it.
pub(super) fn under(is_fair: bool, stock: &Stock, own: &Value) -> Result<Merged, String> {
    let places = Places::of(stock);
    let properties = places.properties(stock);
    let read = match is_fair {
        true => fair::read(stock.text.as_deref(), &properties),
        false => capacity::read(&properties),
    };
    let said = |fault: Fault| places.fault(&fault);
    let front = read.map_err(said)?;
    let shown = match is_fair {
        true => Value::Null,
        false => capacity::shown(&properties).map_err(said)?,
    };
    let tolerate = stock.tolerate.split(',').map(str::trim);
    let tolerate: Vec<String> = tolerate.map(str::to_owned).collect();
    let stops = refused(&front.notes, &tolerate);
    if !stops.is_empty() {
        let lines: Vec<String> = stops.iter().map(|note| places.said(note)).collect();
        return Err(format!("{}. {REMEDY}", lines.join("; ")));
    }
    let mut log = Vec::new();
    if is_fair && stock.text.is_none() {
        let problem = "is not on the class path: all of its settings are at their defaults";
        log.push((WARN, format!("{} {problem}", places.main)));
    }
    log.extend(front.notes.iter().filter_map(|note| match note.verdict {
        Verdict::Exact => None,
        Verdict::Approximated(_) => Some((INFO, places.said(note))),
        Verdict::Warned(_) => Some((WARN, places.said(note))),
        Verdict::Refused(_) => Some((WARN, format!("{} (tolerated)", places.said(note)))),
    }));
    let config = merge(front.config.clone(), own);
    let in_vain = in_vain(&front.config, &config);
    log.extend(
        in_vain
            .iter()
            .map(|note| (INFO, format!("heddle.json: {note}"))),
    );
    Ok(Merged {
        config,
        name: places.main,
        shown,
        log,
    })
}

/// Where properties and elements are.
struct Places {
    /// The file of elements, or else the scheduler's own file of properties.
    main: String,
    /// File and line of each property that a file sets.
    properties: BTreeMap<String, (String, u32)>,
}

impl Places {
    fn of(stock: &Stock) -> Places {
        let mut properties = BTreeMap::new();
        for (file, text) in &stock.files {
            // Hadoop has read the file: what is wrong there is no matter of lines.
            for (name, property) in site::properties(text).unwrap_or_default() {
                let place = (file.clone(), property.line);
                properties.entry(name).or_insert(place);
            }
        }
        let first = stock.files.first().map(|(file, _)| file);
        let main = stock.name.as_ref().or(first);
        Places {
            main: main.cloned().unwrap_or_default(),
            properties,
        }
    }

    /// The host's values, with the lines of the files.
    fn properties(&self, stock: &Stock) -> Properties {
        let located = |(name, value): (&String, &String)| {
            let line = self.properties.get(name).map_or(0, |(_, line)| *line);
            let value = value.clone();
            (name.clone(), Property { value, line })
        };
        stock.properties.iter().map(located).collect()
    }

    /// A fault as `file line N: problem`. The problem of a property begins with its name.
    fn fault(&self, fault: &Fault) -> String {
        let name = fault.problem.split(": ").next().unwrap_or_default();
        let place = self.properties.get(name);
        let file = place.map_or(&self.main, |(file, _)| file);
        match fault.line {
            0 => format!("{file}: {}", fault.problem),
            line => format!("{file} line {line}: {}", fault.problem),
        }
    }

    /// A note as `file line N: element: verdict`.
    fn said(&self, note: &Note) -> String {
        let place = self.properties.get(&note.element);
        let file = place.map_or(&self.main, |(file, _)| file);
        match note.line {
            0 => format!("{file}: {note}"),
            line => format!("{file} line {line}: {note}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SITE: &str = "<configuration>\n<property><name>yarn.scheduler.fair.assignmultiple</name>\
                        <value>x</value></property>\n</configuration>";

    fn fair(text: Option<&str>, tolerate: &str) -> Result<Merged, String> {
        let own = json!({"queues": [{"path": "root.b", "weight": 7.0}]});
        fair_under(&own, text, tolerate)
    }

    fn fair_under(own: &Value, text: Option<&str>, tolerate: &str) -> Result<Merged, String> {
        let stock = json!({
            "name": text.map(|_| "/etc/fair.xml"),
            "text": text,
            "properties": {"yarn.scheduler.fair.allow-undeclared-pools": "false"},
            "files": [["yarn-site.xml", SITE]],
            "tolerate": tolerate,
        });
        let stock: Stock = serde_json::from_value(stock).expect("it is well formed");
        under(true, &stock, own)
    }

    #[test]
    fn a_policy_over_the_file_is_logged_with_what_it_does_not_look_at() {
        let text = "<allocations><queue name='a'><weight>2</weight></queue></allocations>";
        let said = |own: Value| -> Vec<String> {
            let merged = fair_under(&own, Some(text), "").expect("a good file");
            let lines = merged.log.into_iter().map(|(_, line)| line);
            lines.filter(|line| line.contains("policy")).collect()
        };
        assert_eq!(said(json!({})), [""; 0]);
        let lines = said(json!({"policy": "hfsp"}));
        let weights =
            |line: &String| line.starts_with("heddle.json: policy: ") && line.contains("weights");
        assert!(lines.iter().any(weights), "{lines:?}");
    }

    #[test]
    fn heddle_json_is_over_the_file() {
        let text = "<allocations><queue name='a'><weight>2</weight></queue></allocations>";
        let merged = fair(Some(text), "").expect("a good file");
        let weight = |path: &str| {
            let queues = merged.config["queues"].as_array().into_iter().flatten();
            let queue = queues.clone().find(|queue| queue["path"] == path);
            queue.map(|queue| queue["weight"].clone())
        };
        assert_eq!(weight("root.a"), Some(json!(2.0)));
        assert_eq!(weight("root.b"), Some(json!(7.0)));
        assert_eq!(merged.name, "/etc/fair.xml");
        let none = fair(None, "").expect("no file is no fault");
        assert!(
            none.log
                .iter()
                .any(|(level, line)| *level == WARN && line.contains("class path"))
        );
    }

    #[test]
    fn what_is_wrong_or_cannot_be_done_has_file_line_and_element() {
        let wrong = |text: &str, tolerate: &str| fair(Some(text), tolerate).err();
        let fault = wrong("<allocations>\n<queue/></allocations>", "").unwrap_or_default();
        assert!(fault.starts_with("/etc/fair.xml line 2: "), "{fault}");
        let mine = "<schedulingPolicy>org.example.Mine</schedulingPolicy>";
        let text = format!("<allocations>\n<queue name='a'>\n{mine}</queue></allocations>");
        let text = text.as_str();
        let refusal = wrong(text, "weight").unwrap_or_default();
        let expected = "/etc/fair.xml line 3: root.a/schedulingPolicy: refused: ";
        assert!(refusal.starts_with(expected), "{refusal}");
        assert!(refusal.contains("heddle.queues.tolerate"), "{refusal}");
        let tolerated = fair(Some(text), "weight, schedulingPolicy").expect("the operator knows");
        let lines: Vec<_> = tolerated
            .log
            .iter()
            .filter(|(level, _)| *level == WARN)
            .collect();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].1.starts_with(expected) && lines[0].1.ends_with("(tolerated)"));
    }

    #[test]
    fn what_yarn_does_not_do_either_is_a_warning_at_the_start() {
        let text = "<allocations><queue name='a'><reservation/>\
                    <schedulingPolicy>drf</schedulingPolicy></queue></allocations>";
        let read = fair(Some(text), "").expect("YARN starts with it");
        let warned = read.log.iter().filter(|(level, _)| *level == WARN);
        let lines: Vec<&String> = warned.map(|(_, line)| line).collect();
        let names = |line: &&String| line.contains("queue root.a does not exist");
        assert!(lines.len() == 2 && lines.iter().any(names), "{lines:?}");
    }

    #[test]
    fn a_property_has_the_line_of_its_file() {
        let name = "yarn.scheduler.capacity.root.a.capacity";
        let file = format!(
            "<configuration>\n\n<property><name>{name}</name><value>x</value></property>\n\
             </configuration>"
        );
        let stock: Stock = serde_json::from_value(json!({
            "name": null, "text": null,
            "properties": {"yarn.scheduler.capacity.root.queues": "a", name: "x"},
            "files": [["capacity-scheduler.xml", file], ["yarn-site.xml", SITE]],
        }))
        .expect("it is well formed");
        let fault = under(false, &stock, &json!({})).err().unwrap_or_default();
        assert!(
            fault.starts_with("capacity-scheduler.xml line 3: "),
            "{fault}"
        );
        // The same property, set by the other file.
        let stock = Stock {
            files: [
                ("capacity-scheduler.xml", "<configuration/>"),
                ("yarn-site.xml", file.as_str()),
            ]
            .map(|(name, text)| (name.to_string(), text.to_string()))
            .to_vec(),
            ..stock
        };
        let fault = under(false, &stock, &json!({})).err().unwrap_or_default();
        assert!(fault.starts_with("yarn-site.xml line 3: "), "{fault}");
    }
}
