import static java.util.Collections.singletonList;
import static java.util.Collections.singletonMap;

import java.util.Arrays;
import java.util.Set;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** What the AdminClient learned after 2.8, groups aside: --topic with records, --open a transactional id with an open transaction. */
public final class AdminModern implements Action {
    private Admin admin;

    @Override
    public void run(Options options) throws Exception {
        TopicPartition partition = new TopicPartition(options.text("topic", "topic"), 0);
        try (Admin client = Admin.create(options.client())) {
            admin = client;
            offsets(partition);
            transactions(partition, options.text("open", "open-txn"));
            features();
            resources();
            cluster();
        }
    }

    private void offsets(TopicPartition partition) {
        OffsetSpec[] kinds = {
            OffsetSpec.maxTimestamp(), OffsetSpec.earliestLocal(), OffsetSpec.latestTiered(), OffsetSpec.earliestPendingUpload()
        };
        for (OffsetSpec kind : kinds) {
            Tries.call("listOffsets " + kind.getClass().getSimpleName(), () -> admin.listOffsets(singletonMap(partition, kind)).all());
        }
        Tries.call("listOffsets read committed", () -> admin.listOffsets(singletonMap(partition, OffsetSpec.latest()),
                new ListOffsetsOptions(IsolationLevel.READ_COMMITTED)).all());
    }

    private void transactions(TopicPartition partition, String open) throws Exception {
        Tries.call("listTransactions", () -> admin.listTransactions().all());
        ListTransactionsOptions some = new ListTransactionsOptions().filterOnDuration(1).filterOnTransactionalIdPattern("open.*");
        Tries.call("listTransactions pattern", () -> admin.listTransactions(some).all());
        Tries.call("describeTransactions", () -> admin.describeTransactions(singletonList(open)).all());
        Tries.call("describeTransactions absent", () -> admin.describeTransactions(singletonList("absent")).all());
        var states = Tries.call("describeProducers", () -> admin.describeProducers(singletonList(partition)).all());
        if (states != null) {
            states.get(partition).activeProducers().stream().filter(one -> one.currentTransactionStartOffset().isPresent())
                    .findFirst().ifPresent(one -> Tries.call("abortTransaction", () -> admin.abortTransaction(new AbortTransactionSpec(
                            partition, one.producerId(), (short) one.producerEpoch(), one.coordinatorEpoch().orElse(0))).all()));
        }
        Tries.call("fenceProducers", () -> admin.fenceProducers(singletonList(open)).all());
        Tries.call("forceTerminateTransaction", () -> admin.forceTerminateTransaction(open).result());
    }

    private void features() {
        Tries.call("describeFeatures", () -> admin.describeFeatures().featureMetadata());
        FeatureUpdate down = new FeatureUpdate((short) 0, FeatureUpdate.UpgradeType.SAFE_DOWNGRADE);
        FeatureUpdate absurd = new FeatureUpdate((short) 99, FeatureUpdate.UpgradeType.UPGRADE);
        Tries.call("updateFeatures validate", () -> admin.updateFeatures(
                singletonMap("streams.version", down), new UpdateFeaturesOptions().validateOnly(true)).all());
        Tries.call("updateFeatures unknown", () -> admin.updateFeatures(
                singletonMap("no.such.feature", absurd), new UpdateFeaturesOptions()).all());
    }

    private void resources() {
        ConfigResource metrics = new ConfigResource(ConfigResource.Type.CLIENT_METRICS, "every-client");
        ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, "some-group");
        Tries.call("incrementalAlterConfigs client metrics", () -> admin.incrementalAlterConfigs(singletonMap(metrics, Arrays.asList(
                set("metrics", "org.apache.kafka.producer.,org.apache.kafka.consumer."), set("interval.ms", "1000"),
                set("match", "client_software_name=apache-kafka-java")))).all());
        Tries.call("incrementalAlterConfigs group", () -> admin.incrementalAlterConfigs(singletonMap(group, singletonList(
                set("share.auto.offset.reset", "earliest")))).all());
        AdminTopics.pause(500);
        Tries.call("describeConfigs new", () -> admin.describeConfigs(Arrays.asList(metrics, group)).all());
        Tries.call("listConfigResources", () -> admin.listConfigResources().all());
        Tries.call("listConfigResources some", () -> admin.listConfigResources(
                Set.of(ConfigResource.Type.CLIENT_METRICS), new org.apache.kafka.clients.admin.ListConfigResourcesOptions()).all());
        Tries.call("listClientMetricsResources", () -> admin.listClientMetricsResources().all());
    }

    private static AlterConfigOp set(String name, String value) {
        return new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET);
    }

    private void cluster() {
        Tries.call("describeCluster fenced", () -> admin.describeCluster(new DescribeClusterOptions().includeFencedBrokers(true)).nodes());
        Tries.call("describeMetadataQuorum", () -> admin.describeMetadataQuorum().quorumInfo());
        Tries.call("unregisterBroker absent", () -> admin.unregisterBroker(77).all());
        Tries.call("unregisterController absent", () -> admin.unregisterController(78).all());
    }
}
