import org.apache.kafka.clients.admin.Admin;

/** Makes the quorum forget controller --id. */
public final class UnregisterController implements Action {
    @Override
    public void run(Options options) {
        try (Admin admin = Admin.create(options.client())) {
            Tries.call("unregisterController", () -> admin.unregisterController(options.number("id", 4)).all());
        }
    }
}
