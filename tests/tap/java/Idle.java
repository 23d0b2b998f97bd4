/** A JVM that does nothing. Says when it does, ends with its standard input. */
public final class Idle {
    private Idle() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("idle");
        System.in.read();
    }
}
