import org.apache.kafka.clients.admin.AdminClient;

/** Prints the id of the cluster as the client knows it. */
public final class NameCluster implements Action {
    @Override
    public void run(Options options) {
        try (AdminClient admin = AdminClient.create(options.client())) {
            Tries.call("clusterId", () -> {
                String id = admin.describeCluster().clusterId().get();
                Say.event("cluster", "cluster_id", id, "bootstrap", options.client().getProperty("bootstrap.servers"));
                return admin.describeCluster().nodes();
            });
        }
    }
}
