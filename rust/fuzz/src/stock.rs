//! Targets for the files of YARN's own schedulers.

use crate::engine::live;
use heddle_core::Setup;
use heddle_stock::{Fault, Front, Properties, Property, capacity as stock_capacity};
use heddle_stock::{fair as stock_fair, site};

const RESOURCE_TYPES: &str = "yarn.resource-types";

/// Reads a fair-scheduler.xml: refuses it at a line that the text has, or gives an engine what it
/// accepts.
pub(crate) fn fair(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines = text.lines().count() as u32 + 1;
    // No further resource types: then the front end refuses them, and not the engine.
    let none = Property::default();
    let properties = Properties::from([(RESOURCE_TYPES.to_owned(), none)]);
    check(stock_fair::read(Some(&text), &properties), lines);
}

/// Reads a capacity-scheduler.xml in the same way, or its properties as lines `NAME=VALUE`, which
/// mutations seldom break. Pages then show the settings of what was read.
pub(crate) fn capacity(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines = text.lines().count() as u32 + 1;
    let read = match text.starts_with('<') {
        true => site::properties(&text),
        false => Ok(of_lines(&text)),
    };
    let mut properties = match read {
        Ok(properties) => properties,
        Err(fault) => return refused(&fault, lines),
    };
    properties.insert(RESOURCE_TYPES.to_owned(), Property::default());
    let read = stock_capacity::read(&properties);
    let shown = stock_capacity::shown(&properties);
    assert!(
        read.is_err() || shown.is_ok(),
        "read, and not shown: {shown:?}"
    );
    check(read, lines);
}

fn of_lines(text: &str) -> Properties {
    let property = |(text, line): (&str, u32)| {
        let (name, value) = text.split_once('=')?;
        let value = value.to_owned();
        Some((full(name), Property { value, line }))
    };
    text.lines().zip(1..).filter_map(property).collect()
}

/// Completes the name of a property.
fn full(name: &str) -> String {
    match name.starts_with("yarn.") {
        true => name.to_owned(),
        false => format!("yarn.scheduler.capacity.{name}"),
    }
}

/// Checks what a front end read from a file of `lines` lines, and runs an engine under it.
fn check(read: Result<Front, Fault>, lines: u32) {
    let read = match read {
        Ok(read) => read,
        Err(fault) => return refused(&fault, lines),
    };
    for note in &read.notes {
        assert!(note.line <= lines, "a note beyond the end: {note}");
    }
    match Setup::with_config(&read.config) {
        Ok(setup) => live(setup),
        Err(error) => panic!("translated, and refused: {error}"),
    }
}

fn refused(fault: &Fault, lines: u32) {
    assert!(fault.line <= lines, "a fault beyond the end: {fault}");
    assert!(!fault.problem.is_empty(), "a fault without a sentence");
}

pub(crate) fn fair_seeds() -> Vec<Vec<u8>> {
    let queues = "<?xml version=\"1.0\"?>\n<allocations>\n<queue name=\"ads\">\
        <minResources>1024 mb, 1 vcores</minResources><maxResources>50%</maxResources>\
        <maxContainerAllocation>vcores=4,memory-mb=512</maxContainerAllocation>\
        <maxRunningApps>5</maxRunningApps><maxAMShare>-1.0</maxAMShare><weight>2.5</weight>\
        <schedulingPolicy>fifo</schedulingPolicy><aclSubmitApps>alice staff</aclSubmitApps>\
        <minSharePreemptionTimeout>9</minSharePreemptionTimeout>\
        <fairSharePreemptionThreshold>0.5</fairSharePreemptionThreshold>\
        <allowPreemptionFrom>false</allowPreemptionFrom></queue>\n\
        <pool name=\"web\" type=\"parent\"><maxChildResources>memory-mb=40%</maxChildResources>\
        <queue name=\"x\"/></pool></allocations>\n";
    let defaults = "<allocations><defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>\
        <queueMaxResourcesDefault>60% memory, 70% cpu</queueMaxResourcesDefault>\
        <queueMaxAppsDefault>40</queueMaxAppsDefault><userMaxAppsDefault>5</userMaxAppsDefault>\
        <queueMaxAMShareDefault>0.3</queueMaxAMShareDefault>\
        <user name=\"alice\"><maxRunningApps>3</maxRunningApps></user>\
        <defaultFairSharePreemptionTimeout>7</defaultFairSharePreemptionTimeout>\
        <queue name=\"root\"><queue name=\"a\"><reservation/></queue></queue></allocations>";
    let rules = "<allocations><queuePlacementPolicy><rule name=\"specified\" create=\"false\"/>\
        <rule name=\"nestedUserQueue\"><rule name=\"primaryGroup\" create=\"false\"/></rule>\
        <rule name=\"secondaryGroupExistingQueue\"/><rule name=\"default\" queue=\"a.b\"/>\
        </queuePlacementPolicy></allocations>";
    let entity = "<!DOCTYPE a [<!ENTITY b \"c\">]><allocations>&b;</allocations>";
    [queues, defaults, rules, entity, "<allocations/>"]
        .map(|text| text.as_bytes().to_vec())
        .to_vec()
}

pub(crate) fn capacity_seeds() -> Vec<Vec<u8>> {
    let shipped = "maximum-applications=10000\nmaximum-am-resource-percent=0.1\n\
        resource-calculator=a.DominantResourceCalculator\nroot.queues=default\n\
        root.default.capacity=100\nroot.default.user-limit-factor=1\n\
        root.default.maximum-capacity=100\nroot.default.state=RUNNING\n\
        root.default.acl_submit_applications=*\nroot.default.maximum-application-lifetime=-1\n\
        node-locality-delay=40\nqueue-mappings=u:%user:root.default\n\
        per-node-heartbeat.maximum-offswitch-assignments=1\n";
    let percent = "root.queues=a,b\nroot.a.capacity=40\nroot.a.maximum-capacity=80\n\
        root.b.capacity=60\nroot.a.queues=x,y\nroot.a.x.capacity=30\nroot.a.y.capacity=70\n\
        root.a.y.ordering-policy=fair\nroot.a.x.minimum-user-limit-percent=25\n\
        root.a.x.user-settings.alice.weight=2.5\nroot.b.maximum-allocation-mb=2048\n\
        root.b.disable_preemption=true\nuser.max-parallel-apps=3\n\
        yarn.resourcemanager.scheduler.monitor.enable=true\n";
    let created = "root.queues=a,b\nroot.a.capacity=1w\nroot.b.capacity=2w\n\
        root.a.auto-queue-creation-v2.enabled=true\n\
        root.a.auto-queue-creation-v2.template.capacity=2w\n\
        root.b.accessible-node-labels=gpu\nroot.b.accessible-node-labels.gpu.capacity=1w\n\
        root.accessible-node-labels.gpu.capacity=100\n\
        queue-mappings=g:staff:root.a.%user, u:bob:%primary_group\n\
        queue-mappings-override.enable=true\nroot.b.default-node-label-expression=gpu\n";
    let amounts = "root.queues=a,b\nroot.a.capacity=[memory=4096,vcores=4]\n\
        root.a.maximum-capacity=[memory=8192,vcores=8]\nroot.b.priority=3\n\
        root.b.capacity=[memory=1024,vcores=1]\nroot.b.maximum-applications=5\n";
    let file = "<configuration>\n<property>\n<name>yarn.scheduler.capacity.root.queues</name>\n\
        <value>a</value>\n<final>true</final></property>\n\
        <property name='yarn.scheduler.capacity.root.a.capacity' value='100'/></configuration>\n";
    let entity = "<!DOCTYPE a [<!ENTITY b \"c\">]><configuration>&b;</configuration>";
    [shipped, percent, created, amounts, file, entity]
        .map(|text| text.as_bytes().to_vec())
        .to_vec()
}
