import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Scanner;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/**
 * Sets up what a client meets, a line of standard input after the other, until `stop`. `acls` with
 * PRINCIPAL|OPERATION|TYPE|NAME;... leaves exactly these ACLs. `gone` and `there` with names and commas delete topics
 * and create them, `left` deletes groups.
 */
public final class Permit implements Action {
    @Override
    public void run(Options options) throws Exception {
        try (AdminClient admin = AdminClient.create(options.client()); Scanner lines = new Scanner(System.in)) {
            Say.event("ready");
            while (lines.hasNextLine()) {
                String[] words = lines.nextLine().trim().split(" ", 2);
                if (words[0].equals("stop")) {
                    return;
                }
                List<String> items = new ArrayList<>(List.of((words.length > 1 ? words[1] : "").split("[;,]")));
                items.removeIf(String::isEmpty);
                step(admin, words[0], items);
                Say.event("done", "what", words[0]);
            }
        }
    }

    private void step(AdminClient admin, String what, List<String> items) throws Exception {
        switch (what) {
            case "acls" -> permit(admin, items.stream().map(Permit::binding).toList());
            case "gone" -> {
                Tries.call("deleteTopics", () -> admin.deleteTopics(items).all());
                while (!Collections.disjoint(admin.listTopics().names().get(), items)) {
                    Thread.sleep(50);
                }
            }
            case "there" -> {
                List<NewTopic> topics = items.stream().map(name -> new NewTopic(name, 2, (short) 1)).toList();
                Tries.call("createTopics", () -> admin.createTopics(topics).all());
            }
            default -> Tries.call("deleteGroups", () -> admin.deleteConsumerGroups(items).all());
        }
    }

    private void permit(AdminClient admin, Collection<AclBinding> bindings) throws Exception {
        admin.deleteAcls(List.of(AclBindingFilter.ANY)).all().get();
        admin.createAcls(bindings).all().get();
        while (admin.describeAcls(AclBindingFilter.ANY).values().get().size() != bindings.size()) {
            Thread.sleep(50);
        }
    }

    private static AclBinding binding(String text) {
        String[] parts = text.split("\\|");
        ResourcePattern pattern = new ResourcePattern(ResourceType.fromString(parts[2]), parts[3], PatternType.LITERAL);
        AclOperation operation = AclOperation.fromString(parts[1]);
        return new AclBinding(pattern, new AccessControlEntry(parts[0], "*", operation, AclPermissionType.ALLOW));
    }
}
