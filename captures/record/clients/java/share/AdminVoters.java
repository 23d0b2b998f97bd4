import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.RaftVoterEndpoint;
import org.apache.kafka.common.Uuid;

/** The quorum's voters (KIP-853): --what is `add` or `remove`, for controller --id with --directory and --port; or `describe`. */
public final class AdminVoters implements Action {
    @Override
    public void run(Options options) {
        int id = options.number("id", 4);
        try (Admin admin = Admin.create(options.client())) {
            Tries.call("describeMetadataQuorum", () -> admin.describeMetadataQuorum().quorumInfo());
            if (options.text("what", "").equals("unregister-broker")) {
                Tries.call("unregisterBroker", () -> admin.unregisterBroker(id).all());
            } else if (!options.text("what", "").equals("describe")) {
                change(admin, options, id, Uuid.fromString(options.text("directory", null)));
            }
        }
    }

    private static void change(Admin admin, Options options, int id, Uuid directory) {
        if (options.text("what", "").equals("add")) {
            RaftVoterEndpoint endpoint = new RaftVoterEndpoint("CONTROLLER", "127.0.0.1", options.number("port", 0));
            Tries.call("addRaftVoter", () -> admin.addRaftVoter(id, directory, Set.of(endpoint)).all());
        } else {
            Tries.call("removeRaftVoter", () -> admin.removeRaftVoter(id, directory).all());
        }
    }
}
