import static java.util.Collections.singletonMap;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/** Topics that refuse what is sent to them, and a user, mallory, who may do nothing. */
public final class ErrorTopics implements Action {
    @Override
    public void run(Options options) {
        try (Admin admin = Admin.create(options.client())) {
            Tries.call("createTopics", () -> admin.createTopics(Arrays.asList(
                    new NewTopic("small", 1, (short) 1).configs(singletonMap("max.message.bytes", "500")),
                    new NewTopic("strict", 1, (short) 1).configs(singletonMap("min.insync.replicas", "2")),
                    new NewTopic("plain", 2, (short) 1))).all());
            List<AclBinding> denials = new ArrayList<>();
            for (ResourceType type : Arrays.asList(ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)) {
                denials.add(denial(type, "*"));
            }
            denials.add(denial(ResourceType.CLUSTER, "kafka-cluster"));
            Tries.call("createAcls", () -> admin.createAcls(denials).all());
        }
    }

    private static AclBinding denial(ResourceType type, String name) {
        return new AclBinding(new ResourcePattern(type, name, PatternType.LITERAL),
                new AccessControlEntry("User:mallory", "*", AclOperation.ALL, AclPermissionType.DENY));
    }
}
