//! A target for the file of YARN's Fair Scheduler.

use crate::engine::live;
use heddle_core::Setup;
use heddle_stock::{Properties, Property, fair as front};

/// Reads a fair-scheduler.xml: refuses it at a line that the text has, or gives an engine what it
/// accepts.
pub(crate) fn fair(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines = text.lines().count() as u32 + 1;
    // No further resource types: then the front end refuses them, and not the engine.
    let none = Property::default();
    let properties = Properties::from([("yarn.resource-types".to_owned(), none)]);
    match front::read(Some(&text), &properties) {
        Ok(read) => {
            for note in &read.notes {
                assert!(note.line <= lines, "a note beyond the end: {note}");
            }
            match Setup::with_config(&read.config) {
                Ok(setup) => live(setup),
                Err(error) => panic!("translated, and refused: {error}"),
            }
        }
        Err(fault) => {
            assert!(fault.line <= lines, "a fault beyond the end: {fault}");
            assert!(!fault.problem.is_empty(), "a fault without a sentence");
        }
    }
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
