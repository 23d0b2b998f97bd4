import java.util.Collections;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;

/** Holds the client id --of to --rate of the quota --quota (producer_byte_rate, consumer_byte_rate). */
public final class Quota implements Action {
    @Override
    public void run(Options options) {
        ClientQuotaEntity entity = new ClientQuotaEntity(
                Collections.singletonMap(ClientQuotaEntity.CLIENT_ID, options.text("of", "client")));
        ClientQuotaAlteration.Op rate = new ClientQuotaAlteration.Op(
                options.text("quota", "producer_byte_rate"), (double) options.number("rate", 1000));
        try (Admin admin = Admin.create(options.client())) {
            Tries.call("alterClientQuotas", () -> admin.alterClientQuotas(
                    Collections.singletonList(new ClientQuotaAlteration(entity, Collections.singletonList(rate)))).all());
        }
    }
}
