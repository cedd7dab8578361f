/*
 * A MapReduce-like job: maps whose input has three replicas, asked by host, rack and anywhere at
 * priority 20 as MapReduce's AM asks, then reduces at priority 10 that may run anywhere.
 *
 * Like MapReduce's AM it gives a container to a map with data on that host, else on that rack, else
 * to any map, and removes that map's rows from its asks. It counts node-local maps by this
 * assignment, not by the scheduler's view.
 */
package io.heddle.integration.bench;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;

/** Asks by host and rack, then without a place. */
final class MapReduceMaster extends ApplicationMaster {
  static final int MAP_PRIORITY = 20;
  static final int REDUCE_PRIORITY = 10;
  private static final Resource MAP_SIZE = Resource.newInstance(2048, 1);
  private static final Resource REDUCE_SIZE = Resource.newInstance(3072, 1);

  /** One map and the places of its input. */
  private static final class MapTask {
    final String[] hosts;
    final Set<String> racks = new LinkedHashSet<>();
    boolean pending = true;

    MapTask(String[] hosts) {
      this.hosts = hosts;
    }
  }

  private final Map<String, Deque<MapTask>> byPlace = new HashMap<>();
  private final Deque<MapTask> all = new ArrayDeque<>();
  private final Map<String, Integer> rows = new LinkedHashMap<>();
  private final Set<String> changed = new LinkedHashSet<>();
  private final Set<ContainerId> runningMaps = new LinkedHashSet<>();
  private int pendingMaps;
  private int pendingReduces;
  private boolean reducesAsked;
  private final long[] placed;

  /**
   * @param placed counts maps that ran on a replica's host, in its rack, elsewhere
   */
  MapReduceMaster(int index, long seed, int maps, int reduces, List<BenchNode> nodes,
      Map<String, List<BenchNode>> nodesByRack, long[] placed) {
    super(index, seed);
    this.placed = placed;
    pendingMaps = maps;
    pendingReduces = reduces;
    Random random = new Random(seed * 31 + index);
    for (int m = 0; m < maps; m++) {
      addMap(replicas(random, nodes, nodesByRack));
    }
    changed.addAll(rows.keySet());
  }

  /** Places replicas by HDFS's default: one anywhere, two on different hosts of another rack. */
  private static BenchNode[] replicas(Random random, List<BenchNode> nodes,
      Map<String, List<BenchNode>> nodesByRack) {
    BenchNode first = nodes.get(random.nextInt(nodes.size()));
    BenchNode second;
    do {
      second = nodes.get(random.nextInt(nodes.size()));
    } while (second.rack.equals(first.rack));
    List<BenchNode> rack = nodesByRack.get(second.rack);
    BenchNode third;
    do {
      third = rack.get(random.nextInt(rack.size()));
    } while (third == second);
    return new BenchNode[] {first, second, third};
  }

  private void addMap(BenchNode[] replicas) {
    MapTask map = new MapTask(new String[] {replicas[0].host, replicas[1].host, replicas[2].host});
    for (BenchNode node : replicas) {
      map.racks.add(node.rack);
      byPlace.computeIfAbsent(node.host, k -> new ArrayDeque<>()).add(map);
      rows.merge(node.host, 1, Integer::sum);
    }
    for (String rack : map.racks) {
      byPlace.computeIfAbsent(rack, k -> new ArrayDeque<>()).add(map);
      rows.merge(rack, 1, Integer::sum);
    }
    rows.merge(ResourceRequest.ANY, 1, Integer::sum);
    all.add(map);
  }

  @Override
  String type() {
    return "MAPREDUCE";
  }

  @Override
  List<ResourceRequest> asks() {
    List<ResourceRequest> asked = new ArrayList<>(changed.size() + 1);
    for (String place : changed) {
      asked.add(row(MAP_PRIORITY, place, MAP_SIZE, rows.get(place)));
    }
    changed.clear();
    if (!reducesAsked && pendingMaps == 0 && runningMaps.isEmpty()) {
      reducesAsked = true;
      asked.add(row(REDUCE_PRIORITY, ResourceRequest.ANY, REDUCE_SIZE, pendingReduces));
    }
    return asked.isEmpty() ? Collections.emptyList() : asked;
  }

  @Override
  boolean accept(Container container, BenchNode node) {
    if (container.getPriority().getPriority() == REDUCE_PRIORITY) {
      if (!reducesAsked || pendingReduces == 0) {
        return false;
      }
      pendingReduces--;
      return true;
    }
    MapTask map = next(byPlace.get(node.host));
    int locality = 0;
    if (map == null) {
      map = next(byPlace.get(node.rack));
      locality = 1;
    }
    if (map == null) {
      map = next(all);
      locality = 2;
    }
    if (map == null) {
      return false;
    }
    placed[locality]++;
    start(map, container.getId());
    return true;
  }

  private static MapTask next(Deque<MapTask> maps) {
    while (maps != null && !maps.isEmpty()) {
      MapTask map = maps.pollFirst();
      if (map.pending) {
        return map;
      }
    }
    return null;
  }

  private void start(MapTask map, ContainerId container) {
    map.pending = false;
    pendingMaps--;
    runningMaps.add(container);
    for (String host : map.hosts) {
      lower(host);
    }
    for (String rack : map.racks) {
      lower(rack);
    }
    lower(ResourceRequest.ANY);
  }

  private void lower(String place) {
    rows.merge(place, -1, Integer::sum);
    changed.add(place);
  }

  @Override
  void taskEnded(ContainerId container) {
    runningMaps.remove(container);
  }

  @Override
  int outstanding() {
    return pendingMaps + pendingReduces;
  }

  @Override
  boolean finished() {
    return outstanding() == 0 && liveContainers() == 0;
  }

  @Override
  int lifetime(int ordinal) {
    return spread(ordinal, 5, 15);
  }
}
