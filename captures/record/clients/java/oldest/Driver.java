/** Entry: BOOTSTRAP ACTION [--key value ...] [--set property=value ...]; ACTION names a class of the drivers. */
public final class Driver {
    private Driver() {}

    public static void main(String[] arguments) throws Exception {
        Options options = new Options(arguments);
        Action action = (Action) Class.forName(arguments[1]).getDeclaredConstructor().newInstance();
        try {
            action.run(options);
        } catch (Throwable problem) {
            problem.printStackTrace();
            System.exit(1);
        }
        System.exit(0);
    }
}
