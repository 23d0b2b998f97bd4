import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialAlteration;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;

/** Gives every one of --users (name:password with commas) both SCRAM credentials, one mechanism a call: a user may not stand twice in one. */
public final class ScramUser implements Action {
    @Override
    public void run(Options options) {
        for (ScramMechanism kind : new ScramMechanism[] {ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512}) {
            List<UserScramCredentialAlteration> wanted = new ArrayList<>();
            for (String user : options.text("users", "").split(",")) {
                String[] parts = user.split(":");
                wanted.add(new UserScramCredentialUpsertion(parts[0], new ScramCredentialInfo(kind, 4096), parts[1]));
            }
            try (Admin admin = Admin.create(options.client())) {
                Tries.call("alterUserScramCredentials", () -> admin.alterUserScramCredentials(wanted).all());
            }
        }
    }
}
