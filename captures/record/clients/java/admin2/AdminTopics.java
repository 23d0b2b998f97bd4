import static java.util.Collections.singleton;
import static java.util.Collections.singletonList;
import static java.util.Collections.singletonMap;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigsOptions;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.config.ConfigResource;

/** Topics, configs, partitions, leaders, log directories and offsets through the AdminClient; --brokers of the cluster, --dir to move to. */
public final class AdminTopics implements Action {
    private Admin admin;
    private String topic;
    private TopicPartition first;

    @Override
    public void run(Options options) throws Exception {
        topic = options.text("topic", "admin-topic");
        first = new TopicPartition(topic, 0);
        try (Admin client = Admin.create(options.client())) {
            admin = client;
            create(options.number("brokers", 1));
            describe();
            configs();
            Produce.send(new org.apache.kafka.clients.producer.KafkaProducer<>(Produce.properties(options)), options, "admin");
            offsets();
            replicas(options.number("brokers", 1), options.text("dir", null));
            remove();
        }
    }

    private void create(int brokers) {
        short copies = (short) Math.min(3, brokers);
        NewTopic wanted = new NewTopic(topic, 2, copies).configs(singletonMap("cleanup.policy", "compact"));
        NewTopic assigned = new NewTopic(topic + "-assigned", singletonMap(0, singletonList(1)));
        NewTopic bad = new NewTopic(topic + "-bad", 1, (short) 7);
        Tries.call("createTopics validate only", () -> admin.createTopics(
                singletonList(wanted), new CreateTopicsOptions().validateOnly(true)).all());
        Tries.call("createTopics", () -> admin.createTopics(Arrays.asList(wanted, assigned)).all());
        Tries.call("createTopics bad factor", () -> admin.createTopics(singletonList(bad)).all());
        Tries.call("createTopics bad name", () -> admin.createTopics(
                singletonList(new NewTopic("bad/name", 1, (short) 1))).all());
        Tries.call("createPartitions", () -> admin.createPartitions(singletonMap(topic, NewPartitions.increaseTo(3))).all());
        Tries.call("createPartitions fewer", () -> admin.createPartitions(singletonMap(topic, NewPartitions.increaseTo(1))).all());
        pause(500);
    }

    private void describe() {
        Tries.call("listTopics", () -> admin.listTopics(new ListTopicsOptions().listInternal(true)).names());
        DescribeTopicsOptions all = new DescribeTopicsOptions().includeAuthorizedOperations(true);
        Tries.call("describeTopics", () -> Later.named(admin.describeTopics(Arrays.asList(topic, topic + "-assigned"), all)));
        DescribeClusterOptions operations = new DescribeClusterOptions().includeAuthorizedOperations(true);
        Tries.call("describeCluster", () -> admin.describeCluster(operations).authorizedOperations());
    }

    private void configs() {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, "1");
        ConfigResource all = new ConfigResource(ConfigResource.Type.BROKER, "");
        ConfigResource logger = new ConfigResource(ConfigResource.Type.BROKER_LOGGER, "1");
        DescribeConfigsOptions full = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        Tries.call("describeConfigs topic", () -> admin.describeConfigs(singletonList(resource), full).all());
        Tries.call("describeConfigs broker", () -> admin.describeConfigs(Arrays.asList(broker, all)).all());
        Tries.call("describeConfigs logger", () -> admin.describeConfigs(singletonList(logger)).all());
        alter("retention.ms", "600000", AlterConfigOp.OpType.SET, resource, false);
        alter("cleanup.policy", "delete", AlterConfigOp.OpType.APPEND, resource, false);
        alter("cleanup.policy", "compact", AlterConfigOp.OpType.SUBTRACT, resource, true);
        alter("retention.ms", "", AlterConfigOp.OpType.DELETE, resource, false);
        alter("no.such.config", "1", AlterConfigOp.OpType.SET, resource, false);
        alter("log.cleaner.threads", "1", AlterConfigOp.OpType.SET, all, false);
        alter("kafka.no.such.Logger", "DEBUG", AlterConfigOp.OpType.SET, logger, false);
    }

    private void alter(String name, String value, AlterConfigOp.OpType what, ConfigResource resource, boolean validate) {
        AlterConfigOp change = new AlterConfigOp(new ConfigEntry(name, value), what);
        AlterConfigsOptions options = new AlterConfigsOptions().validateOnly(validate);
        Tries.call("incrementalAlterConfigs " + what, () -> admin.incrementalAlterConfigs(
                singletonMap(resource, singletonList(change)), options).all());
    }

    private void offsets() {
        List<OffsetSpec> kinds = Arrays.asList(OffsetSpec.earliest(), OffsetSpec.latest(), OffsetSpec.forTimestamp(1760000001000L));
        for (OffsetSpec kind : kinds) {
            Tries.call("listOffsets " + kind.getClass().getSimpleName(), () -> admin.listOffsets(singletonMap(first, kind)).all());
        }
        Tries.call("deleteRecords", () -> admin.deleteRecords(singletonMap(first, RecordsToDelete.beforeOffset(1))).all());
        Tries.call("deleteRecords beyond", () -> admin.deleteRecords(singletonMap(first, RecordsToDelete.beforeOffset(9999))).all());
    }

    private void replicas(int brokers, String dir) {
        TopicPartition assigned = new TopicPartition(topic + "-assigned", 0);
        Tries.call("electLeaders preferred", () -> admin.electLeaders(ElectionType.PREFERRED, singleton(first)).all());
        Tries.call("electLeaders unclean", () -> admin.electLeaders(ElectionType.UNCLEAN, singleton(first)).all());
        Tries.call("electLeaders every", () -> admin.electLeaders(ElectionType.PREFERRED, null).all());
        Map<TopicPartition, Optional<NewPartitionReassignment>> moves = new HashMap<>();
        moves.put(assigned, Optional.of(new NewPartitionReassignment(singletonList(Math.min(2, brokers)))));
        moves.put(new TopicPartition("absent", 0), Optional.of(new NewPartitionReassignment(singletonList(1))));
        Tries.call("alterPartitionReassignments", () -> admin.alterPartitionReassignments(moves).all());
        Tries.call("listPartitionReassignments", () -> admin.listPartitionReassignments().reassignments());
        Tries.call("listPartitionReassignments some", () -> admin.listPartitionReassignments(singleton(assigned)).reassignments());
        Tries.call("alterPartitionReassignments cancel", () -> admin.alterPartitionReassignments(
                Collections.singletonMap(assigned, Optional.<NewPartitionReassignment>empty())).all());
        Tries.call("describeLogDirs", () -> Later.described(admin.describeLogDirs(singletonList(1))));
        TopicPartitionReplica replica = new TopicPartitionReplica(topic, 0, 1);
        for (String target : Arrays.asList(dir + "/d1", dir + "/d2", "/nowhere")) {
            Tries.call("alterReplicaLogDirs", () -> admin.alterReplicaLogDirs(singletonMap(replica, target)).all());
        }
        Tries.call("describeReplicaLogDirs", () -> admin.describeReplicaLogDirs(singletonList(replica)).all());
        pause(1500);
    }

    private void remove() {
        Tries.call("deleteTopics", () -> admin.deleteTopics(Arrays.asList(topic, topic + "-assigned")).all());
        Tries.call("deleteTopics absent", () -> admin.deleteTopics(singletonList("absent")).all());
    }

    static void pause(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
    }
}
