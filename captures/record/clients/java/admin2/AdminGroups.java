import static java.util.Collections.singleton;
import static java.util.Collections.singletonList;
import static java.util.Collections.singletonMap;

import java.util.Arrays;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeConsumerGroupsOptions;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** Everything there is for consumer groups: --group with a live member, --idle without, --static-member to remove. */
public final class AdminGroups implements Action {
    @Override
    public void run(Options options) throws Exception {
        String live = options.text("group", "group");
        String idle = options.text("idle", "idle");
        TopicPartition partition = new TopicPartition(options.text("topic", "topic"), 0);
        try (Admin admin = Admin.create(options.client())) {
            DescribeConsumerGroupsOptions operations = new DescribeConsumerGroupsOptions().includeAuthorizedOperations(true);
            Tries.call("listConsumerGroups", () -> admin.listConsumerGroups().all());
            Tries.call("describeConsumerGroups", () -> admin.describeConsumerGroups(
                    Arrays.asList(live, idle, "absent"), operations).all());
            Tries.call("listConsumerGroupOffsets", () -> admin.listConsumerGroupOffsets(live).partitionsToOffsetAndMetadata());
            Tries.call("alterConsumerGroupOffsets", () -> admin.alterConsumerGroupOffsets(
                    idle, singletonMap(partition, new OffsetAndMetadata(2, "set by admin"))).all());
            Tries.call("alterConsumerGroupOffsets live", () -> admin.alterConsumerGroupOffsets(
                    live, singletonMap(partition, new OffsetAndMetadata(0))).all());
            Tries.call("deleteConsumerGroupOffsets", () -> admin.deleteConsumerGroupOffsets(idle, singleton(partition)).all());
            Tries.call("deleteConsumerGroupOffsets live", () -> admin.deleteConsumerGroupOffsets(live, singleton(partition)).all());
            Tries.call("removeMembers absent", () -> admin.removeMembersFromConsumerGroup(live,
                    new RemoveMembersFromConsumerGroupOptions(singleton(new MemberToRemove("no-such-instance")))).all());
            Tries.call("deleteConsumerGroups live", () -> admin.deleteConsumerGroups(singletonList(live)).all());
            String instance = options.text("static-member", null);
            if (instance != null) {
                Tries.call("removeMembers", () -> admin.removeMembersFromConsumerGroup(live,
                        new RemoveMembersFromConsumerGroupOptions(singleton(new MemberToRemove(instance)))).all());
            }
            Tries.call("deleteConsumerGroups", () -> admin.deleteConsumerGroups(Arrays.asList(idle, "absent")).all());
        }
    }
}
