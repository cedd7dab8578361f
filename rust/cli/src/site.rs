//! The properties of Hadoop's site files, with values expanded as Hadoop's `Configuration` does it.
//! Knows no meaning of a property; `heddle_stock::site` knows the format.

use std::collections::BTreeMap;
use std::path::Path;

/// Hadoop's own limit on nested references; Hadoop throws beyond it.
const EXPANSIONS_MAX: usize = 20;

/// Properties that MapReduce's client has set, or that have a default in the jar, when it builds
/// the environment of an ApplicationMaster. `JobSubmitter` has counted the splits by then.
const OF_MAPREDUCE: &[&str] = &[
    "mapreduce.job.maps",
    "mapreduce.job.reduces",
    "mapreduce.job.queuename",
    "mapreduce.framework.name",
];

/// System properties of every Java process. They take precedence over those of files.
const OF_JAVA: &[&str] = &[
    "user.name",
    "user.home",
    "user.dir",
    "java.io.tmpdir",
    "java.home",
    "java.version",
    "os.name",
    "os.arch",
    "file.separator",
    "path.separator",
];

/// The property that selects how Hadoop's web servers authenticate users.
pub(crate) const AUTHENTICATION: &str = "hadoop.http.authentication.type";

/// A property and where it was defined.
#[derive(Debug)]
pub(crate) struct Property {
    pub(crate) value: String,
    pub(crate) at: String,
    line: u32,
    is_final: bool,
}

/// The properties of several files; later files override earlier ones.
#[derive(Debug, Default)]
pub(crate) struct Site {
    properties: BTreeMap<String, Property>,
}

/// The outcome of expanding a value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Expanded {
    /// Every reference was resolved.
    Whole(String),
    /// A reference cannot be resolved: Hadoop stops there and leaves the rest as it is.
    Stuck {
        /// The value as far as it was expanded.
        text: String,
        /// The reference, without its braces.
        variable: String,
        /// Why it cannot be resolved.
        why: String,
    },
    /// The references form a cycle or nest too deep: Hadoop throws.
    Endless,
}

impl Site {
    /// Adds the properties of a file.
    ///
    /// # Errors
    /// Returns the line and what is wrong there, as `:LINE: TEXT`.
    pub(crate) fn add(&mut self, file: &Path, text: &str) -> Result<(), String> {
        let entries = heddle_stock::site::entries(text);
        for entry in entries.map_err(|fault| format!(":{}: {}", fault.line, fault.problem))? {
            let before = self.properties.get(&entry.name);
            if before.is_some_and(|before| before.is_final) {
                continue;
            }
            let property = Property {
                value: entry.value,
                at: format!("{}:{}", file.display(), entry.line),
                line: entry.line,
                is_final: entry.is_final,
            };
            self.properties.insert(entry.name, property);
        }
        Ok(())
    }

    /// Returns whether web servers ask for more than a user name.
    pub(crate) fn authenticates(&self) -> bool {
        let kind = self.properties.get(AUTHENTICATION);
        kind.is_some_and(|kind| !matches!(kind.value.trim(), "" | "simple"))
    }

    pub(crate) fn properties(&self) -> impl Iterator<Item = (&str, &Property)> {
        let all = self.properties.iter();
        all.map(|(name, property)| (name.as_str(), property))
    }

    /// Returns where a property was defined, as `FILE:LINE`.
    pub(crate) fn at(&self, name: &str) -> Option<&str> {
        self.properties.get(name).map(|found| found.at.as_str())
    }

    /// Returns each property with its value expanded, as far as it can be, and its line.
    pub(crate) fn expanded(&self) -> impl Iterator<Item = (&str, String, u32)> {
        self.properties().map(|(name, property)| {
            let value = match self.expand(&property.value) {
                Expanded::Whole(text) | Expanded::Stuck { text, .. } => text,
                Expanded::Endless => property.value.clone(),
            };
            (name, value, property.line)
        })
    }

    /// Expands the references in a value, as `Configuration.get` does.
    pub(crate) fn expand(&self, value: &str) -> Expanded {
        let mut text = value.to_owned();
        for _ in 0..EXPANSIONS_MAX {
            let Some((from, variable)) = first_variable(&text) else {
                return Expanded::Whole(text);
            };
            let variable = variable.to_owned();
            match self.look_up(&variable) {
                Ok(value) => {
                    let to = from + variable.len() + "${}".len();
                    text.replace_range(from..to, &value);
                }
                Err(why) => {
                    return Expanded::Stuck {
                        text,
                        variable,
                        why,
                    };
                }
            }
        }
        Expanded::Endless
    }

    /// Resolves a reference. Returns a placeholder for values that only a running Java process
    /// knows.
    fn look_up(&self, variable: &str) -> Result<String, String> {
        if let Some(name) = variable.strip_prefix("env.") {
            let default = name.find([':', '-']).map(|at| &name[at..]);
            let default =
                default.and_then(|rest| rest.strip_prefix(":-").or(rest.strip_prefix('-')));
            return default
                .map(str::to_owned)
                .ok_or_else(|| format!("is not set on every client; write ${{{variable}:-none}}"));
        }
        if OF_JAVA.contains(&variable) {
            return Ok("known".to_owned());
        }
        match self.properties.get(variable) {
            // Hadoop treats an empty value as a missing one.
            Some(Property { value, at, .. }) if value.is_empty() => Err(format!(
                "is empty ({at}), which Hadoop treats as not set; give it the value `none`"
            )),
            Some(Property { value, .. }) => Ok(value.clone()),
            None if OF_MAPREDUCE.contains(&variable) => Ok("1".to_owned()),
            None => Err(
                "is defined in none of these files; define it with the value `none`, or check \
                 the file that defines it together with this one"
                    .to_owned(),
            ),
        }
    }
}

/// Finds the first `${NAME}` by Hadoop's rule: a name has no brace, dollar or space.
fn first_variable(text: &str) -> Option<(usize, &str)> {
    text.match_indices("${").find_map(|(from, opening)| {
        let rest = &text[from + opening.len()..];
        let end = rest.find(['}', '$', ' '])?;
        (end > 0 && rest[end..].starts_with('}')).then(|| (from, &rest[..end]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(text: &str) -> Site {
        let mut site = Site::default();
        site.add(Path::new("a.xml"), text)
            .expect("the file is well-formed");
        site
    }

    /// Each line was checked against the `Configuration` of Hadoop 3.5.0.
    #[test]
    fn values_are_expanded_as_hadoop_does_it() {
        let site = site(
            "<configuration><property><name>x.empty</name><value></value></property>
             <property><name>x.none</name></property>
             <property><name>h</name><value> sp </value></property>
             <property><name>i</name><value>[${h}]</value></property>
             <property><name>a</name><value>${b}</value></property>
             <property><name>b</name><value>${a}</value></property></configuration>",
        );
        let whole = |text: &str| Expanded::Whole(text.to_owned());
        assert_eq!(site.expand("${i}${i}"), whole("[ sp ][ sp ]"));
        assert_eq!(
            site.expand("no reference, $HOME, ${ h }"),
            whole("no reference, $HOME, ${ h }")
        );
        assert_eq!(site.expand("${mapreduce.job.maps}"), whole("1"));
        assert_eq!(site.expand("${env.NO_SUCH:-x}"), whole("x"));
        assert_eq!(site.expand("${a}"), Expanded::Endless);
        for (value, stuck_at) in [
            ("${h}${x.empty}${h}", "x.empty"),
            ("${x.none}", "x.none"),
            ("${missing}", "missing"),
            ("${env.NO_SUCH}", "env.NO_SUCH"),
        ] {
            match site.expand(value) {
                Expanded::Stuck { variable, .. } => assert_eq!(variable, stuck_at),
                other => panic!("{value}: {other:?}"),
            }
        }
    }

    #[test]
    fn later_properties_win_unless_the_earlier_is_final() {
        let mut site = site(
            "<configuration><property name='a' value='1'/>
             <property><name> b </name><value>1<!-- one --></value><final>true</final></property>
             </configuration>",
        );
        let later = "<configuration><property name='a' value='2'/>
             <property name='b' value='2'/></configuration>";
        site.add(Path::new("b.xml"), later)
            .expect("the file is well-formed");
        let values: Vec<_> = site
            .properties()
            .map(|(name, property)| (name, property.value.as_str(), property.at.as_str()))
            .collect();
        assert_eq!(values, [("a", "2", "b.xml:1"), ("b", "1", "a.xml:2")]);
    }
}
