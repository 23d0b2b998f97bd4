import java.util.Collections;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.CreateDelegationTokenOptions;
import org.apache.kafka.clients.admin.DescribeDelegationTokenOptions;
import org.apache.kafka.clients.admin.ExpireDelegationTokenOptions;
import org.apache.kafka.clients.admin.RenewDelegationTokenOptions;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.token.delegation.DelegationToken;

/** Delegation tokens (KIP-48): create, renew, describe, expire; with --keep true the token stays, and is said with its HMAC. */
public final class AdminTokens implements Action {
    @Override
    public void run(Options options) {
        try (Admin admin = Admin.create(options.client())) {
            CreateDelegationTokenOptions wanted = new CreateDelegationTokenOptions()
                   .renewers(Collections.singletonList(new KafkaPrincipal("User", "alice")));
            DelegationToken token = Tries.call("createDelegationToken", () -> admin.createDelegationToken(wanted).delegationToken());
            if (token == null) {
                return;
            }
            Say.event("token", "id", token.tokenInfo().tokenId(), "hmac", token.hmacAsBase64String());
            AdminTopics.pause(500); // until the broker's metadata has it
            Tries.call("renewDelegationToken", () -> admin.renewDelegationToken(
                    token.hmac(), new RenewDelegationTokenOptions().renewTimePeriodMs(600_000)).expiryTimestamp());
            Tries.call("renewDelegationToken unknown", () -> admin.renewDelegationToken(new byte[] {1, 2, 3}).expiryTimestamp());
            Tries.call("describeDelegationToken", () -> admin.describeDelegationToken().delegationTokens());
            Tries.call("describeDelegationToken alice", () -> admin.describeDelegationToken(new DescribeDelegationTokenOptions()
                    .owners(Collections.singletonList(new KafkaPrincipal("User", "alice")))).delegationTokens());
            if (!options.flag("keep")) {
                Tries.call("expireDelegationToken", () -> admin.expireDelegationToken(
                        token.hmac(), new ExpireDelegationTokenOptions().expiryTimePeriodMs(-1)).expiryTimestamp());
            }
        }
    }
}
