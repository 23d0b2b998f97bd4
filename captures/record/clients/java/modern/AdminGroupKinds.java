import static java.util.Collections.singleton;
import static java.util.Collections.singletonList;
import static java.util.Collections.singletonMap;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListStreamsGroupOffsetsSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** Groups of every kind: --what is `share` (configure), `live` (describe while members are there) or `idle` (alter, delete). */
public final class AdminGroupKinds implements Action {
    private Admin admin;

    @Override
    public void run(Options options) throws Exception {
        String group = options.text("group", "group");
        TopicPartition partition = new TopicPartition(options.text("topic", "topic"), 0);
        try (Admin client = Admin.create(options.client())) {
            admin = client;
            String what = options.text("what", "live");
            if (what.equals("share")) {
                configure(group);
            } else if (what.equals("live")) {
                live(group);
            } else if (options.text("kind", "share").equals("share")) {
                idleShare(group, partition);
            } else {
                idleStreams(group, partition);
            }
        }
    }

    private void configure(String group) {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
        AlterConfigOp earliest = new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
        Tries.call("incrementalAlterConfigs", () -> admin.incrementalAlterConfigs(singletonMap(resource, singletonList(earliest))).all());
    }

    private void live(String group) {
        Tries.call("listGroups", () -> admin.listGroups().all());
        Tries.call("listGroups share", () -> admin.listGroups(ListGroupsOptions.forShareGroups()).all());
        Tries.call("describeShareGroups", () -> admin.describeShareGroups(singletonList(group)).all());
        Tries.call("describeStreamsGroups", () -> admin.describeStreamsGroups(singletonList(group)).all());
        Tries.call("describeConsumerGroups", () -> admin.describeConsumerGroups(singletonList(group)).all());
        Tries.call("describeClassicGroups", () -> admin.describeClassicGroups(singletonList(group)).all());
        Tries.call("listShareGroupOffsets", () -> admin.listShareGroupOffsets(
                singletonMap(group, new ListShareGroupOffsetsSpec())).all());
        Tries.call("deleteShareGroups live", () -> admin.deleteShareGroups(singletonList(group)).all());
    }

    private void idleShare(String group, TopicPartition partition) {
        Tries.call("listShareGroupOffsets", () -> admin.listShareGroupOffsets(
                singletonMap(group, new ListShareGroupOffsetsSpec().topicPartitions(singleton(partition)))).all());
        Tries.call("alterShareGroupOffsets", () -> admin.alterShareGroupOffsets(group, singletonMap(partition, 1L)).all());
        Tries.call("deleteShareGroupOffsets", () -> admin.deleteShareGroupOffsets(group, singleton(partition.topic())).all());
        Tries.call("deleteShareGroups", () -> admin.deleteShareGroups(singletonList(group)).all());
    }

    private void idleStreams(String group, TopicPartition partition) {
        Tries.call("listStreamsGroupOffsets", () -> admin.listStreamsGroupOffsets(
                singletonMap(group, new ListStreamsGroupOffsetsSpec())).all());
        Tries.call("alterStreamsGroupOffsets", () -> admin.alterStreamsGroupOffsets(
                group, singletonMap(partition, new OffsetAndMetadata(1))).all());
        Tries.call("deleteStreamsGroupOffsets", () -> admin.deleteStreamsGroupOffsets(group, singleton(partition)).all());
        Tries.call("deleteStreamsGroups", () -> admin.deleteStreamsGroups(singletonList(group)).all());
    }
}
