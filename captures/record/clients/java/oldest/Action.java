/** Something a driver can do; found by its class name. */
public interface Action {
    void run(Options options) throws Exception;
}
