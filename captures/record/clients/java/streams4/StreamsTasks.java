import java.time.Duration;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.ThreadMetadata;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Grouped;

/**
 * Counts the words of --topic as a member of the streams group --group (KIP-1071), and says which tasks its threads have whenever they
 * change. It fails at the word --poison, and then asks all members to shut down.
 */
public final class StreamsTasks implements Action {
    @Override
    public void run(Options options) throws Exception {
        Properties properties = options.client();
        properties.put("application.id", options.text("group", "streams-app"));
        properties.put("group.protocol", "streams");
        properties.put("default.key.serde", Serdes.StringSerde.class.getName());
        properties.put("default.value.serde", Serdes.StringSerde.class.getName());
        properties.putIfAbsent("commit.interval.ms", "500");
        properties.put("state.dir", options.text("state", "/var/lib/kafka-record/streams"));
        String poison = options.text("poison", "");
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(options.text("topic", "words")).peek((key, value) -> {
            if (value.equals(poison)) {
                throw new IllegalStateException(value);
            }
        }).groupBy((key, value) -> value, Grouped.as("by-value")).count();
        KafkaStreams streams = new KafkaStreams(builder.build(), properties);
        streams.setUncaughtExceptionHandler(problem -> StreamThreadExceptionResponse.SHUTDOWN_APPLICATION);
        streams.setStateListener((now, before) -> Say.event("state", "state", now.toString()));
        streams.start();
        String said = "";
        while (System.in.available() == 0) {
            TreeSet<String> active = new TreeSet<>();
            TreeSet<String> standby = new TreeSet<>();
            for (ThreadMetadata thread : streams.metadataForLocalThreads()) {
                thread.activeTasks().forEach(task -> active.add(task.taskId().toString()));
                thread.standbyTasks().forEach(task -> standby.add(task.taskId().toString()));
            }
            if (!said.equals(active + "/" + standby)) {
                said = active + "/" + standby;
                Say.event("tasks", "active", active, "standby", standby);
            }
            Thread.sleep(50);
        }
        streams.close(Duration.ofSeconds(10));
    }
}
