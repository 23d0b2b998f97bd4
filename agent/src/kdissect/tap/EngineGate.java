package kdissect.tap;

import java.nio.ByteBuffer;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;

/**
 * What hooked engines and Netty's handlers call, as Gate is called by Kafka's layers. Engines are classes of the JVM: this one must be
 * loaded where they see it.
 */
public final class EngineGate {
    /** Who is told. */
    public interface Hook {
        /** An engine is used by a Kafka connection that is told of above. */
        void owned(SSLEngine engine);

        /** An engine is used by a handler of Netty, of which this is the context. */
        void owned(SSLEngine engine, Object context);

        /** A call begins that encrypts from these buffers, or decrypts into them. */
        void before(SSLEngine engine, boolean sent, ByteBuffer[] buffers, int offset, int length);

        /** That call returned, with its result; null if it ends by an exception. */
        void after(SSLEngine engine, boolean sent, SSLEngineResult result);
    }

    private static volatile Hook hook;

    private EngineGate() {
    }

    /** Set who is told, null for nobody. */
    public static void set(Hook next) {
        hook = next;
    }

    /** See Hook. */
    public static void owned(SSLEngine engine) {
        Hook told = hook;
        if (told != null) {
            try {
                told.owned(engine);
            } catch (Throwable ignored) {
                // Never into the application.
            }
        }
    }

    /** See Hook. */
    public static void owned(SSLEngine engine, Object context) {
        Hook told = hook;
        if (told != null) {
            try {
                told.owned(engine, context);
            } catch (Throwable ignored) {
                // Never into the application.
            }
        }
    }

    /** See Hook. */
    public static void before(ByteBuffer[] buffers, int offset, int length, SSLEngine engine, boolean sent) {
        Hook told = hook;
        if (told != null) {
            try {
                told.before(engine, sent, buffers, offset, length);
            } catch (Throwable ignored) {
                // Never into the application.
            }
        }
    }

    /** See Hook. */
    public static void after(SSLEngineResult result, SSLEngine engine, boolean sent) {
        Hook told = hook;
        if (told != null) {
            try {
                told.after(engine, sent, result);
            } catch (Throwable ignored) {
                // Never into the application.
            }
        }
    }

    /** See Hook. */
    public static void failed(Throwable cause, SSLEngine engine, boolean sent) {
        Hook told = hook;
        if (told != null) {
            try {
                told.after(engine, sent, null);
            } catch (Throwable ignored) {
                // Never into the application.
            }
        }
    }
}
