import java.util.Collections;
import kafka.common.OffsetAndMetadata;
import kafka.common.TopicAndPartition;
import kafka.javaapi.OffsetCommitRequest;
import kafka.javaapi.OffsetFetchRequest;
import kafka.javaapi.consumer.SimpleConsumer;

/** Commits an offset with the first version of OffsetCommit, which the broker keeps in ZooKeeper, and asks for it again. */
public final class SimpleOffsets implements Action {
    @Override
    public void run(Options options) {
        String[] address = options.bootstrap.split(":");
        String client = options.text("client-id", "simple");
        String group = options.text("group", "group");
        TopicAndPartition first = new TopicAndPartition(options.text("topic", "topic"), 0);
        SimpleConsumer consumer = new SimpleConsumer(address[0], Integer.parseInt(address[1]), 10_000, 65_536, client);
        OffsetAndMetadata offset = new OffsetAndMetadata(options.number("offset", 3), "kept in ZooKeeper", -1L);
        consumer.commitOffsets(new OffsetCommitRequest(group, Collections.singletonMap(first, offset), 1, client, (short) 0));
        Say.event("committed", "group", group, "offset", options.number("offset", 3));
        consumer.fetchOffsets(new OffsetFetchRequest(group, Collections.singletonList(first), (short) 0, 2, client));
        consumer.close();
    }
}
