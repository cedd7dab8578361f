package io.heddle.yarn.compat;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import io.heddle.yarn.HeddleScheduler;
import io.heddle.yarn.TestCluster;
import io.heddle.yarn.recording.RecordingCapacityScheduler;
import io.heddle.yarn.recording.RecordingFairScheduler;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Collections;
import java.util.Set;
import java.util.TreeSet;
import net.bytebuddy.jar.asm.ClassReader;
import net.bytebuddy.jar.asm.ClassVisitor;
import net.bytebuddy.jar.asm.ClassWriter;
import net.bytebuddy.jar.asm.MethodVisitor;
import net.bytebuddy.jar.asm.Opcodes;
import org.apache.commons.io.IOUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.util.YarnVersionInfo;
import org.junit.Test;

/** Tests the start with a Hadoop that lacks what Heddle uses, and with an unknown version. */
public class LinkCheckTest {
  private static final String USED = "getUnallocatedResource";

  /** Reads classes as they are, except one. */
  private static final class Doctored extends ClassLoader {
    private final String name;
    private final byte[] content;

    /** Null content: the class is missing. */
    Doctored(Class<?> one, byte[] content) {
      super(LinkCheckTest.class.getClassLoader());
      name = fileOf(one);
      this.content = content;
    }

    @Override
    public InputStream getResourceAsStream(String wanted) {
      if (!wanted.equals(name)) {
        return super.getResourceAsStream(wanted);
      }
      return content == null ? null : new ByteArrayInputStream(content);
    }
  }

  /** Writes a class again, with changes. */
  private static class Change extends ClassVisitor {
    Change() {
      super(Opcodes.ASM8, new ClassWriter(0));
    }

    byte[] of(Class<?> type) throws IOException {
      try (InputStream in = type.getClassLoader().getResourceAsStream(fileOf(type))) {
        new ClassReader(IOUtils.toByteArray(in)).accept(this, 0);
      }
      return ((ClassWriter) cv).toByteArray();
    }
  }

  private static Change without(String method) {
    return new Change() {
      @Override
      public MethodVisitor visitMethod(
          int access, String name, String types, String signature, String[] exceptions) {
        return name.equals(method) ? null
            : super.visitMethod(access, name, types, signature, exceptions);
      }
    };
  }

  private static Change with(int flags, String method, String methodTypes) {
    return new Change() {
      @Override
      public void visitEnd() {
        super.visitMethod(flags, method, methodTypes, null, null);
        super.visitEnd();
      }
    };
  }

  private static Change asInterface() {
    return new Change() {
      @Override
      public void visit(int version, int access, String name, String signature, String parent,
          String[] interfaces) {
        super.visit(version, access | Opcodes.ACC_INTERFACE, name, signature, parent, interfaces);
      }
    };
  }

  private static String fileOf(Class<?> type) {
    return type.getName().replace('.', '/') + ".class";
  }

  private static Set<String> missing(Class<?> one, byte[] content) throws IOException {
    return new LinkCheck(new Doctored(one, content)).follow(HeddleScheduler.class);
  }

  @Test
  public void theSupportedVersionsHaveAll() throws Exception {
    assertTrue(LinkCheck.isTested(YarnVersionInfo.getVersion()));
    for (Class<?> scheduler : Arrays.asList(HeddleScheduler.class, RecordingFairScheduler.class,
        RecordingCapacityScheduler.class)) {
      assertEquals(Collections.emptySet(),
          new LinkCheck(getClass().getClassLoader()).follow(scheduler));
    }
  }

  @Test
  public void whatIsMissingIsNamed() throws Exception {
    String node = SchedulerNode.class.getName();
    String scheduler = AbstractYarnScheduler.class.getName();
    assertEquals(Collections.singleton(node), missing(SchedulerNode.class, null));
    assertEquals(
        Collections.singleton(
            node + "." + USED + "()Lorg/apache/hadoop/yarn/api/records/Resource;"),
        missing(SchedulerNode.class, without(USED).of(SchedulerNode.class)));
    assertTrue(missing(SchedulerNode.class, asInterface().of(SchedulerNode.class))
        .contains(node + " as a class"));
    assertEquals(Collections.singleton(scheduler + ".vendors()V that is not abstract"),
        missing(AbstractYarnScheduler.class, with(Opcodes.ACC_PUBLIC | Opcodes.ACC_ABSTRACT,
            "vendors", "()V").of(AbstractYarnScheduler.class)));
    assertEquals(Collections.singleton(scheduler + ".inspection()Lio/heddle/yarn/Inspection;"
            + " that is not final"),
        missing(AbstractYarnScheduler.class, with(Opcodes.ACC_PUBLIC | Opcodes.ACC_FINAL,
            "inspection", "()Lio/heddle/yarn/Inspection;").of(AbstractYarnScheduler.class)));
  }

  @Test
  public void aFileThatIsCutShortIsNamed() throws Exception {
    byte[] whole = new Change().of(SchedulerNode.class);
    try {
      missing(SchedulerNode.class, Arrays.copyOf(whole, whole.length / 2));
      fail("half of a class file was read");
    } catch (IOException e) {
      assertTrue(e.getMessage(), e.getMessage().endsWith(SchedulerNode.class.getName()));
    }
  }

  @Test
  public void tenAreNamedAndTheOthersCounted() {
    Set<String> names = new TreeSet<>();
    for (char name = 'a'; name < 'm'; name++) {
      names.add("org.apache.hadoop." + name);
    }
    String text = LinkCheck.refusal("3.9", names).getMessage();
    assertTrue(text, text.contains("org.apache.hadoop.j and 2 more. "));
  }

  /** Starts a ResourceManager, in a JVM of its own. */
  public static final class Start {
    private Start() {}

    /** Prints the log, and how the start ended. */
    public static void main(String[] arguments) throws Exception {
      try (TestCluster cluster = new TestCluster()) {
        System.out.println("It runs " + cluster.scheduler.getName());
      } catch (RuntimeException e) {
        System.out.println("It does not: " + e.getMessage());
      }
      System.exit(0);
    }
  }

  /** Starts a ResourceManager of a vendor; returns what it prints. */
  private static String start(byte[] node) throws Exception {
    VendorJvm vendor = new VendorJvm();
    if (node != null) {
      vendor.replace(fileOf(SchedulerNode.class), node);
    }
    return vendor.run(Start.class);
  }

  @Test
  public void aResourceManagerThatLacksAMemberDoesNotStart() throws Exception {
    String text = start(without(USED).of(SchedulerNode.class));
    int at = text.indexOf("It does not: ");
    assertTrue(text, at >= 0);
    String message = text.substring(at);
    for (String part : new String[] {"This is Hadoop " + VendorJvm.VERSION + ". It lacks",
        "SchedulerNode." + USED, "3.3.6, 3.4.3 and 3.5.0",
        "yarn.resourcemanager.scheduler.class"}) {
      assertTrue(message, message.contains(part));
    }
  }

  @Test
  public void anUnknownVersionWithAllMembersStartsWithAWarning() throws Exception {
    String text = start(null);
    assertTrue(text, text.contains("It runs io.heddle"));
    assertEquals(text, 2, text.split("is not tested with Hadoop " + VendorJvm.VERSION).length);
  }
}
