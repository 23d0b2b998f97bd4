import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;

/**
 * Reads --topic as a member of --group until its standard input says stop, and says when poll returned each record. Records of
 * TOPIC-warm come first and are not said.
 * With --work it works for that many milliseconds after each poll with records. With --commit true it commits then, and says
 * when. With --pause it pauses its partitions for that many milliseconds after each 50 records.
 */
public final class TimedRead implements Action {
    @Override
    public void run(Options options) throws Exception {
        Properties properties = Consume.properties(options);
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties);
        String topic = options.text("topic", "topic");
        consumer.subscribe(Arrays.asList(topic, topic + "-warm"));
        int work = options.number("work", 0);
        int pause = options.number("pause", 0);
        long until = 0;
        int since = 0;
        boolean isReady = false;
        while (System.in.available() == 0) {
            ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(50));
            long now = TimedWrite.now();
            if (!isReady && !consumer.assignment().isEmpty()) {
                isReady = true;
                Say.event("ready");
            }
            List<Integer> numbers = new ArrayList<>();
            for (ConsumerRecord<byte[], byte[]> record : records) {
                if (record.topic().equals(topic)) {
                    numbers.add(Integer.parseInt(new String(record.value(), StandardCharsets.US_ASCII)));
                }
            }
            if (!numbers.isEmpty()) {
                Say.event("got", "numbers", numbers, "at_ns", now);
                Thread.sleep(work);
                if (options.flag("commit")) {
                    Say.event("passed", "numbers", numbers, "at_ns", TimedWrite.now());
                    consumer.commitSync();
                }
                since += numbers.size();
            }
            if (pause > 0 && until == 0 && since >= 50) {
                consumer.pause(consumer.assignment());
                until = now + pause * 1_000_000L;
            } else if (until > 0 && now > until) {
                consumer.resume(consumer.assignment());
                until = since = 0;
            }
        }
        consumer.close();
    }
}
