import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;

/** Creates --topic with --partitions, --copies and --configs (`name=value;name=value`). */
public final class CreateTopic implements Action {
    @Override
    public void run(Options options) {
        Map<String, String> configs = new HashMap<>();
        for (String pair : options.text("configs", "").split(";")) {
            if (!pair.isEmpty()) {
                configs.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
            }
        }
        NewTopic topic = new NewTopic(
                options.text("topic", "topic"), options.number("partitions", 1), (short) options.number("copies", 1)).configs(configs);
        try (AdminClient admin = AdminClient.create(options.client())) {
            Tries.call("createTopics", () -> admin.createTopics(Collections.singletonList(topic)).all());
        }
    }
}
