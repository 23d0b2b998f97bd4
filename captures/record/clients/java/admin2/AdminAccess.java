import static java.util.Collections.singletonList;
import static java.util.Collections.singletonMap;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialDeletion;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.quota.ClientQuotaFilterComponent;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;

/** ACLs, client quotas and SCRAM credentials through the AdminClient. */
public final class AdminAccess implements Action {
    private Admin admin;

    @Override
    public void run(Options options) throws Exception {
        try (Admin client = Admin.create(options.client())) {
            admin = client;
            acls();
            quotas();
            scram();
        }
    }

    private void acls() {
        AclBinding literal = binding(ResourceType.TOPIC, "orders", PatternType.LITERAL, AclOperation.READ, AclPermissionType.ALLOW);
        AclBinding prefixed = binding(ResourceType.GROUP, "team-", PatternType.PREFIXED, AclOperation.ALL, AclPermissionType.DENY);
        AclBinding cluster = binding(
                ResourceType.CLUSTER, "kafka-cluster", PatternType.LITERAL, AclOperation.IDEMPOTENT_WRITE, AclPermissionType.ALLOW);
        AclBinding wrong = binding(ResourceType.CLUSTER, "other", PatternType.LITERAL, AclOperation.WRITE, AclPermissionType.ALLOW);
        Tries.call("createAcls", () -> admin.createAcls(Arrays.asList(literal, prefixed, cluster)).all());
        Tries.call("createAcls wrong", () -> admin.createAcls(singletonList(wrong)).all());
        Tries.call("describeAcls", () -> admin.describeAcls(AclBindingFilter.ANY).values());
        AclBindingFilter match = new AclBindingFilter(
                new ResourcePatternFilter(ResourceType.TOPIC, "orders", PatternType.MATCH), OldAdmin.anyEntry());
        Tries.call("describeAcls match", () -> admin.describeAcls(match).values());
        Tries.call("deleteAcls", () -> admin.deleteAcls(Arrays.asList(match, prefixed.toFilter(), cluster.toFilter())).all());
    }

    private static AclBinding binding(
            ResourceType type, String name, PatternType how, AclOperation operation, AclPermissionType permission) {
        return new AclBinding(new ResourcePattern(type, name, how), new AccessControlEntry("User:carol", "*", operation, permission));
    }

    private void quotas() {
        Map<String, String> pair = new HashMap<>();
        pair.put(ClientQuotaEntity.USER, "carol");
        pair.put(ClientQuotaEntity.CLIENT_ID, null);
        ClientQuotaAlteration both = new ClientQuotaAlteration(new ClientQuotaEntity(pair), Arrays.asList(
                new ClientQuotaAlteration.Op("producer_byte_rate", 100000.0), new ClientQuotaAlteration.Op("request_percentage", 50.0)));
        ClientQuotaAlteration ip = new ClientQuotaAlteration(
                new ClientQuotaEntity(singletonMap("ip", "127.0.0.9")),
                singletonList(new ClientQuotaAlteration.Op("connection_creation_rate", 10.0)));
        ClientQuotaAlteration gone = new ClientQuotaAlteration(
                new ClientQuotaEntity(pair), singletonList(new ClientQuotaAlteration.Op("request_percentage", null)));
        ClientQuotaAlteration wrong = new ClientQuotaAlteration(
                new ClientQuotaEntity(pair), singletonList(new ClientQuotaAlteration.Op("no_such_quota", 1.0)));
        Tries.call("alterClientQuotas", () -> admin.alterClientQuotas(Arrays.asList(both, ip)).all());
        Tries.call("alterClientQuotas wrong", () -> admin.alterClientQuotas(singletonList(wrong)).all());
        Tries.call("describeClientQuotas", () -> admin.describeClientQuotas(ClientQuotaFilter.all()).entities());
        ClientQuotaFilter carol = ClientQuotaFilter.containsOnly(Arrays.asList(
                ClientQuotaFilterComponent.ofEntity(ClientQuotaEntity.USER, "carol"),
                ClientQuotaFilterComponent.ofDefaultEntity(ClientQuotaEntity.CLIENT_ID)));
        Tries.call("describeClientQuotas carol", () -> admin.describeClientQuotas(carol).entities());
        Tries.call("alterClientQuotas remove", () -> admin.alterClientQuotas(singletonList(gone)).all());
    }

    private void scram() {
        ScramCredentialInfo small = new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096);
        ScramCredentialInfo large = new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096);
        Tries.call("alterUserScramCredentials", () -> admin.alterUserScramCredentials(Arrays.asList(
                new UserScramCredentialUpsertion("carol", small, "carol-pw-3aa1"),
                new UserScramCredentialUpsertion("dave", large, "dave-pw-88e2"))).all());
        Tries.call("describeUserScramCredentials", () -> admin.describeUserScramCredentials().all());
        Tries.call("describeUserScramCredentials absent", () -> admin.describeUserScramCredentials(singletonList("nobody")).all());
        Tries.call("alterUserScramCredentials remove", () -> admin.alterUserScramCredentials(Arrays.asList(
                new UserScramCredentialDeletion("carol", ScramMechanism.SCRAM_SHA_256),
                new UserScramCredentialDeletion("nobody", ScramMechanism.SCRAM_SHA_512))).all());
    }
}
