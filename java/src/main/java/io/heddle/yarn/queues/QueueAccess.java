package io.heddle.yarn.queues;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.ipc.Server;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.authorize.AccessControlList;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.apache.hadoop.yarn.security.AccessRequest;
import org.apache.hadoop.yarn.security.AccessType;
import org.apache.hadoop.yarn.security.Permission;
import org.apache.hadoop.yarn.security.PrivilegedEntity.EntityType;
import org.apache.hadoop.yarn.security.PrivilegedEntity;
import org.apache.hadoop.yarn.security.YarnAuthorizationProvider;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;

/**
 * Permissions in queues. Passes the configured ones to the cluster's
 * {@link YarnAuthorizationProvider}, which decides. With YARN's own provider a queue's permissions
 * also hold in the queues below it.
 */
final class QueueAccess {
  private static final AccessControlList NO_ONE = new AccessControlList(" ");

  private final boolean enabled;
  private final boolean checksSubmissions;
  private final boolean asStock;
  private final YarnAuthorizationProvider provider;
  // Queues that the provider was told; guarded by the scheduler's write lock.
  private Set<String> told = new TreeSet<>();

  /**
   * Makes a check without queues.
   *
   * @param alwaysChecksSubmissions also while {@code yarn.acl.enable} is off
   * @param asStock whether a question about one right is answered for that right alone, and also
   *     while {@code yarn.acl.enable} is off, as by YARN's own schedulers
   */
  QueueAccess(Configuration conf, boolean alwaysChecksSubmissions, boolean asStock) {
    this.asStock = asStock;
    enabled = conf.getBoolean(
        YarnConfiguration.YARN_ACL_ENABLE, YarnConfiguration.DEFAULT_YARN_ACL_ENABLE);
    checksSubmissions = enabled || alwaysChecksSubmissions;
    provider = YarnAuthorizationProvider.getInstance(conf);
  }

  /**
   * Tells the provider the permissions of all queues: configured ones, and those that a template
   * gives to dynamic queues. Removed queues lose theirs.
   */
  void tell(QueueSnapshot queues) {
    List<Permission> permissions = new ArrayList<>();
    Set<String> next = new TreeSet<>();
    for (QueueView queue : queues.all()) {
      if (hasRights(queue)) {
        next.add(queue.path);
        permissions.add(permission(queue.path, queue.aclSubmit, queue.aclAdmin));
      }
    }
    for (String path : told) {
      if (!next.contains(path)) {
        permissions.add(permission(path, NO_ONE, NO_ONE));
      }
    }
    set(permissions);
    told = next;
  }

  /** Tells the provider the permissions of a queue that a submission made. */
  void tell(QueueView queue) {
    if (hasRights(queue) && told.add(queue.path)) {
      set(Collections.singletonList(permission(queue.path, queue.aclSubmit, queue.aclAdmin)));
    }
  }

  private static boolean hasRights(QueueView queue) {
    return !queue.dynamic || !queue.aclSubmit.getAclString().equals(NO_ONE.getAclString())
        || !queue.aclAdmin.getAclString().equals(NO_ONE.getAclString());
  }

  private void set(List<Permission> permissions) {
    try {
      provider.setPermission(permissions, UserGroupInformation.getCurrentUser());
    } catch (IOException e) {
      throw new YarnRuntimeException("The ResourceManager's own user is unknown: permissions in"
          + " queues cannot be set", e);
    }
  }

  private static Permission permission(
      String path, AccessControlList submit, AccessControlList admin) {
    Map<AccessType, AccessControlList> rights = new EnumMap<>(AccessType.class);
    rights.put(AccessType.SUBMIT_APP, submit);
    rights.put(AccessType.ADMINISTER_QUEUE, admin);
    return new Permission(new PrivilegedEntity(EntityType.QUEUE, path), rights);
  }

  /** Returns whether a user has a permission in a queue; its administrators may submit too. */
  boolean allows(String path, QueueACL acl, UserGroupInformation user) {
    if (asStock) {
      return granted(path, acl, user);
    }
    return !enabled || (acl == QueueACL.SUBMIT_APPLICATIONS
        ? grantedSubmission(path, user) : granted(path, acl, user));
  }

  /** Returns whether a user may submit to a queue. */
  boolean allowsSubmission(String path, UserGroupInformation user) {
    return !checksSubmissions || grantedSubmission(path, user);
  }

  private boolean grantedSubmission(String path, UserGroupInformation user) {
    return granted(path, QueueACL.SUBMIT_APPLICATIONS, user)
        || granted(path, QueueACL.ADMINISTER_QUEUE, user);
  }

  private boolean granted(String path, QueueACL acl, UserGroupInformation user) {
    return provider.checkPermission(new AccessRequest(
        new PrivilegedEntity(EntityType.QUEUE, path), user, SchedulerUtils.toAccessType(acl),
        null, null, Server.getRemoteAddress(), null));
  }
}
