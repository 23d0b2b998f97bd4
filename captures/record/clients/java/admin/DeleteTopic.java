import java.util.Collections;
import org.apache.kafka.clients.admin.AdminClient;

/** Deletes --topic. */
public final class DeleteTopic implements Action {
    @Override
    public void run(Options options) {
        try (AdminClient admin = AdminClient.create(options.client())) {
            Tries.call("deleteTopics", () -> admin.deleteTopics(Collections.singletonList(options.text("topic", "topic"))).all());
        }
    }
}
