import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;

/** What the AdminClient of 1.0 could do, in the form all later ones can compile; the rest by reflection where it is there. */
public final class OldAdmin implements Action {
    @Override
    public void run(Options options) throws Exception {
        String topic = options.text("topic", "old-admin");
        try (AdminClient admin = AdminClient.create(options.client())) {
            topics(admin, topic);
            configs(admin, topic);
            logDirs(admin, topic, options.number("broker", 1));
            Later.groups(admin, options.text("group", "old-admin-group"));
            Later.records(admin, topic);
            Later.acls(admin, topic);
            Later.elect(admin, topic);
            Later.incremental(admin, new ConfigResource(ConfigResource.Type.TOPIC, topic));
            Later.tokens(admin);
            Later.newer(admin);
            Tries.call("deleteTopics", () -> admin.deleteTopics(Collections.singletonList(topic)).all());
        }
    }

    private static void topics(AdminClient admin, String topic) {
        Tries.call("createTopics", () -> admin.createTopics(Arrays.asList(
                new NewTopic(topic, 2, (short) 1).configs(Collections.singletonMap("retention.ms", "600000")),
                new NewTopic(topic + "-gone", Collections.singletonMap(0, Collections.singletonList(1))))).all());
        Tries.call("createTopics again", () -> admin.createTopics(
                Collections.singletonList(new NewTopic(topic, 1, (short) 1))).all());
        Tries.call("listTopics", () -> admin.listTopics().names());
        Tries.call("describeTopics", () -> Later.named(admin.describeTopics(Collections.singletonList(topic))));
        Tries.call("describeTopics absent", () -> Later.named(admin.describeTopics(Collections.singletonList("absent"))));
        Tries.call("describeCluster", () -> admin.describeCluster().nodes());
        Tries.call("createPartitions", () -> admin.createPartitions(
                Collections.singletonMap(topic, NewPartitions.increaseTo(3))).all());
        Tries.call("deleteTopics", () -> admin.deleteTopics(Collections.singletonList(topic + "-gone")).all());
    }

    private static void configs(AdminClient admin, String topic) {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, "1");
        Tries.call("describeConfigs", () -> admin.describeConfigs(Collections.singletonList(resource)).all());
        Tries.call("describeConfigs broker", () -> admin.describeConfigs(Collections.singletonList(broker)).all());
        Later.alterConfigs(admin, resource);
    }

    private static void logDirs(AdminClient admin, String topic, int broker) {
        List<Integer> brokers = Collections.singletonList(broker);
        Tries.call("describeLogDirs", () -> Later.described(admin.describeLogDirs(brokers)));
        Collection<TopicPartitionReplica> replicas = Collections.singletonList(new TopicPartitionReplica(topic, 0, broker));
        Tries.call("describeReplicaLogDirs", () -> admin.describeReplicaLogDirs(replicas).all());
        Map<TopicPartitionReplica, String> moves = new HashMap<>();
        moves.put(replicas.iterator().next(), "/nowhere");
        Tries.call("alterReplicaLogDirs", () -> admin.alterReplicaLogDirs(moves).all());
    }

    static AccessControlEntry entry() {
        return new AccessControlEntry("User:carol", "*", AclOperation.READ, AclPermissionType.ALLOW);
    }

    static AccessControlEntryFilter anyEntry() {
        return new AccessControlEntryFilter("User:carol", null, AclOperation.ANY, AclPermissionType.ANY);
    }
}
