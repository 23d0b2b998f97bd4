import java.util.Collections;
import org.apache.kafka.clients.admin.Admin;

/** Describes and lists share groups, with clients that cannot do more yet. */
public final class DescribeShare implements Action {
    @Override
    public void run(Options options) {
        try (Admin admin = Admin.create(options.client())) {
            Tries.call("describeShareGroups", () -> admin.describeShareGroups(
                    Collections.singletonList(options.text("group", "group"))).all());
            Tries.call("listGroups", () -> admin.listGroups().all());
        }
    }
}
