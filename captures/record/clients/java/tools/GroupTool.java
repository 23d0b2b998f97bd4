import java.lang.reflect.Method;

/** The command line tool for groups of an old broker version: its own admin client sends what the Java AdminClient never did. */
public final class GroupTool implements Action {
    @Override
    public void run(Options options) throws Exception {
        String group = options.text("group", "group");
        call(options, "--list");
        call(options, "--describe", "--group", group);
        if (options.flag("delete")) {
            call(options, "--delete", "--group", group);
        }
    }

    private static void call(Options options, String... arguments) throws Exception {
        boolean flagged = options.flag("new-consumer");
        String[] all = new String[arguments.length + (flagged ? 3 : 2)];
        all[0] = "--bootstrap-server";
        all[1] = options.bootstrap;
        if (flagged) {
            all[2] = "--new-consumer";
        }
        System.arraycopy(arguments, 0, all, all.length - arguments.length, arguments.length);
        Method main = Class.forName("kafka.admin.ConsumerGroupCommand").getMethod("main", String[].class);
        main.invoke(null, (Object) all);
        Say.event("called", "call", String.join(" ", arguments));
    }
}
