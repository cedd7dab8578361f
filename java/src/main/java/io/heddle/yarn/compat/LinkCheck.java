package io.heddle.yarn.compat;

import io.heddle.yarn.engine.FrameLayout;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.apache.hadoop.yarn.util.YarnVersionInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks up every class and member that Heddle uses in the Hadoop that runs it, perhaps a vendor's
 * build, before the scheduler starts. Else a heartbeat could fail with NoSuchMethodError hours
 * later.
 *
 * <p>Heddle's class files name all that it uses, so there is no list that could be out of date. The
 * check follows each class to those that it names. Members that {@link Compat} looks up by name are
 * exempt.
 */
public final class LinkCheck {
  private static final Logger LOG = LoggerFactory.getLogger(LinkCheck.class);
  private static final String TESTED = "3.3.6, 3.4.3 and 3.5.0";
  /** In yarn-site.xml; false starts Heddle in spite of missing members. */
  public static final String PROPERTY = "heddle.link-check.enable";
  private static final boolean ON_TESTED = isTested(YarnVersionInfo.getVersion());
  private static final String OURS = "io/heddle/";
  private static final int NAMED_MAX = 10;
  private static boolean passed;

  private final ClassLoader loader;
  private final Map<String, ClassFile> files = new HashMap<>();
  private final Set<String> missing = new TreeSet<>();

  LinkCheck(ClassLoader loader) {
    this.loader = loader;
  }

  /**
   * Refuses a Hadoop that lacks anything, once in a JVM.
   *
   * @param scheduler the class to begin with
   * @param refuse false only logs what is missing
   * @throws YarnRuntimeException naming what is missing
   */
  public static synchronized void run(Class<?> scheduler, boolean refuse) {
    if (passed) {
      // A ResourceManager that becomes standby makes a second scheduler in the same JVM.
      return;
    }
    String version = YarnVersionInfo.getVersion();
    JarCheck.run(scheduler.getClassLoader(), scheduler);
    LinkCheck check = new LinkCheck(scheduler.getClassLoader());
    boolean whole = true;
    try {
      check.follow(scheduler);
    } catch (IOException | RuntimeException e) {
      whole = false;
      LOG.warn("Cannot check whether Hadoop {} has all that Heddle uses", version, e);
    }
    if (check.missing.isEmpty()) {
      check.missing.addAll(Compat.missing());
    }
    if (!check.missing.isEmpty()) {
      YarnRuntimeException refusal = refusal(version, check.missing);
      if (refuse) {
        throw refusal;
      }
      LOG.error("{} is false: {}", PROPERTY, refusal.getMessage());
      whole = false;
    }
    if (!isTested(version)) {
      LOG.warn("Heddle {} is not tested with Hadoop {}, but with {}{}", FrameLayout.BUILD_VERSION,
          version, TESTED, whole ? ". All classes and members that it uses are there" : "");
    }
    passed = true;
  }

  /**
   * Returns whether this is one of the tested versions. Only there does the shim do work in the
   * place of YARN's own methods: their bodies may differ elsewhere, which no look-up shows.
   */
  public static boolean onTestedHadoop() {
    return ON_TESTED;
  }

  static boolean isTested(String version) {
    return Arrays.asList(TESTED.split(", | and ")).contains(version);
  }

  static YarnRuntimeException refusal(String version, Set<String> missing) {
    StringBuilder names = new StringBuilder();
    int named = 0;
    for (String name : missing) {
      if (named == NAMED_MAX) {
        names.append(" and ").append(missing.size() - named).append(" more");
        break;
      }
      names.append(named++ == 0 ? "" : ", ").append(name);
    }
    return new YarnRuntimeException(
        "This is Hadoop " + version + ". It lacks what Heddle "
            + FrameLayout.BUILD_VERSION + " uses: " + names + ". Heddle is tested with Hadoop "
            + TESTED + ": run one of them, or set yarn.resourcemanager.scheduler.class to"
            + " another scheduler. " + PROPERTY + " set to false starts Heddle all the same; what"
            + " uses a missing member then fails when it runs");
  }

  /** Checks a class of Heddle's and all that it leads to; returns what is missing. */
  Set<String> follow(Class<?> first) throws IOException {
    Deque<String> next = new ArrayDeque<>();
    Set<String> seen = new HashSet<>();
    next.add(first.getName().replace('.', '/'));
    seen.addAll(next);
    while (!next.isEmpty()) {
      String name = next.remove();
      ClassFile file = file(name);
      if (file == null) {
        missing.add(readable(name));
        continue;
      }
      if (!name.startsWith(OURS)) {
        continue;
      }
      for (String used : file.classes()) {
        if (!used.startsWith("java/") && seen.add(used)) {
          next.add(used);
        }
      }
      for (ClassFile.Reference used : file.references()) {
        resolve(used);
      }
      checkInherited(name, file);
    }
    return missing;
  }

  private void resolve(ClassFile.Reference used) throws IOException {
    if (used.owner.startsWith("java/") || used.owner.startsWith("[")) {
      return;
    }
    ClassFile owner = file(used.owner);
    if (owner == null) {
      return; // Missing as a class.
    }
    boolean method = used.key.contains("(");
    if (method && ((owner.flags & ClassFile.INTERFACE) != 0) != used.ofInterface) {
      missing.add(readable(used.owner) + (used.ofInterface ? " as an interface" : " as a class"));
    } else if (!has(used.owner, used.key)) {
      addMember(used.owner, used.key);
    }
  }

  /** Adds a missing member of a class, or for a class of ours of its nearest Hadoop ancestor. */
  private void addMember(String name, String key) throws IOException {
    ClassFile file = file(name);
    if (file == null) {
      return; // Missing as a class.
    }
    if (name.startsWith(OURS)) {
      boolean isInterface = (file.flags & ClassFile.INTERFACE) != 0;
      addMember(file.parents.get(isInterface ? file.parents.size() - 1 : 0), key);
    } else {
      missing.add(readable(name) + "." + key);
    }
  }

  /** Whether a class or an ancestor has a member. */
  private boolean has(String name, String key) throws IOException {
    ClassFile file = file(name);
    if (file == null) {
      return false;
    }
    Integer flags = file.members.get(key);
    if (flags != null && ((flags & ClassFile.PRIVATE) == 0 || name.startsWith(OURS))) {
      return true;
    }
    for (String parent : file.parents) {
      if (has(parent, key)) {
        return true;
      }
    }
    return false;
  }

  /** Finds methods that a class of ours lacks for this Hadoop, or has although they are final. */
  private void checkInherited(String name, ClassFile file) throws IOException {
    Map<String, String> open = new HashMap<>();
    Set<String> done = new HashSet<>();
    Deque<String> next = new ArrayDeque<>(Collections.singleton(name));
    while (!next.isEmpty()) {
      String each = next.remove();
      ClassFile parent = file(each);
      if (parent == null) {
        missing.add(readable(each));
        return;
      }
      next.addAll(parent.parents);
      for (Map.Entry<String, Integer> member : parent.members.entrySet()) {
        String key = member.getKey();
        int flags = member.getValue();
        if ((flags & (ClassFile.PRIVATE | ClassFile.STATIC)) != 0 || key.startsWith("<")) {
          continue;
        }
        if ((flags & ClassFile.ABSTRACT) != 0) {
          open.put(key, each);
        } else {
          done.add(key);
        }
        if ((flags & ClassFile.FINAL) != 0 && parent != file && file.members.containsKey(key)) {
          missing.add(readable(each) + "." + key + " that is not final");
        }
      }
    }
    open.keySet().removeAll(done);
    if ((file.flags & ClassFile.ABSTRACT) != 0) {
      return;
    }
    for (Map.Entry<String, String> each : open.entrySet()) {
      if (each.getValue().startsWith(OURS)) {
        addMember(name, each.getKey());
      } else {
        missing.add(readable(each.getValue()) + "." + each.getKey() + " that is not abstract");
      }
    }
  }

  private static String readable(String name) {
    return name.replace('/', '.');
  }

  /** Reads a class file; null if there is none. */
  private ClassFile file(String name) throws IOException {
    if (!files.containsKey(name)) {
      try (InputStream in = loader.getResourceAsStream(name + ".class")) {
        files.put(name, in == null ? null : new ClassFile(in));
      } catch (RuntimeException e) {
        throw new IOException("cannot read the class file of " + readable(name), e);
      }
    }
    return files.get(name);
  }
}
