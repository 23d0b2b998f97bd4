import java.util.Collections;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * A consumer whose position does not only grow: --plan lists what it does with partition 0 of --topic: `read:N` records, `seek:OFFSET`,
 * `beginning`, `end`, `trim:OFFSET` (an admin deletes the records below it), `commit:OFFSET` for --group, `reset:OFFSET` (an admin
 * sets the group's offset; the consumer must not be its member).
 */
public final class Wander implements Action {
    private KafkaConsumer<byte[], byte[]> consumer;
    private TopicPartition partition;
    private Options options;

    @Override
    public void run(Options given) throws Exception {
        options = given;
        partition = new TopicPartition(options.text("topic", "topic"), 0);
        Properties properties = Consume.properties(options);
        properties.put("max.poll.records", "1");
        consumer = new KafkaConsumer<>(properties);
        consumer.assign(Collections.singletonList(partition));
        for (String step : options.text("plan", "read:1").split(",")) {
            String[] words = step.split(":");
            step(words[0], words.length > 1 ? Integer.parseInt(words[1]) : -1);
        }
        consumer.close();
    }

    private void step(String what, int number) throws Exception {
        if (what.equals("read")) {
            read(number);
            return;
        }
        if (what.equals("seek")) {
            consumer.seek(partition, number);
        } else if (what.equals("beginning")) {
            consumer.seekToBeginning(List.of(partition));
        } else if (what.equals("end")) {
            consumer.seekToEnd(List.of(partition));
            consumer.poll(java.time.Duration.ofMillis(600));
        } else if (what.equals("commit")) {
            consumer.commitSync(Collections.singletonMap(partition, new OffsetAndMetadata(number)));
        } else {
            admin(what, number);
        }
        Say.event("moved", "how", what, "offset", number);
    }

    private void admin(String what, int number) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", options.bootstrap);
        properties.put("client.id", options.text("client-id", "wanderer") + "-admin");
        try (Admin admin = Admin.create(properties)) {
            if (what.equals("trim")) {
                admin.deleteRecords(Collections.singletonMap(partition, RecordsToDelete.beforeOffset(number))).all().get();
            } else {
                admin.alterConsumerGroupOffsets(options.text("group", null),
                        Collections.singletonMap(partition, new OffsetAndMetadata(number))).all().get();
            }
        }
    }

    private void read(int wanted) throws Exception {
        int seen = 0;
        for (int poll = 0; poll < 60 && seen < wanted; poll++) {
            ConsumerRecords<byte[], byte[]> records = consumer.poll(java.time.Duration.ofMillis(300));
            for (ConsumerRecord<byte[], byte[]> record : records) {
                Consume.say(record);
                seen++;
            }
        }
    }
}
