package kdissect.tap;

import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SocketChannel;

/**
 * What hooked methods call, on threads of the application. Nothing comes out of here, and nothing is done where no
 * hook is set. It stays loaded as long as the JVM runs: what it names never changes.
 */
public final class Gate {
    /** Who is told. */
    public interface Hook {
        /** A connection that begins. */
        void opened(SocketChannel channel);

        /** A call begins that moves bytes of one buffer. */
        void before(SocketChannel channel, ByteBuffer buffer);

        /** A call begins that moves bytes of several buffers. */
        void before(SocketChannel channel, ByteBuffer[] buffers, int offset, int length);

        /** A call begins that sends bytes of a file. */
        void before(SocketChannel channel, FileChannel file, long position);

        /** That call returned, with the count it gives: -1 at the end of the stream. */
        void after(SocketChannel channel, boolean sent, long count);

        /** That call ends by an exception. */
        void failed(SocketChannel channel, boolean sent, Throwable cause);

        /** A connection is closed here. */
        void closed(SocketChannel channel);
    }

    private static volatile Hook hook;

    private Gate() {
    }

    /** Set who is told, null for nobody. */
    public static void set(Hook next) {
        hook = next;
    }

    /** See Hook. */
    public static void opened(SocketChannel channel) {
        Hook told = hook;
        if (told != null) {
            try {
                told.opened(channel);
            } catch (Throwable ignored) {
                // Never into the application.
            }
        }
    }

    /** See Hook. */
    public static void before(SocketChannel channel, ByteBuffer buffer) {
        Hook told = hook;
        if (told != null) {
            try {
                told.before(channel, buffer);
            } catch (Throwable ignored) {
                // Never into the application.
            }
        }
    }

    /** See Hook. */
    public static void before(SocketChannel channel, ByteBuffer[] buffers) {
        if (buffers != null) {
            before(channel, buffers, 0, buffers.length);
        }
    }

    /** See Hook. */
    public static void before(SocketChannel channel, ByteBuffer[] buffers, int offset, int length) {
        Hook told = hook;
        if (told != null) {
            try {
                told.before(channel, buffers, offset, length);
            } catch (Throwable ignored) {
                // Never into the application.
            }
        }
    }

    /** See Hook. */
    public static void before(SocketChannel channel, FileChannel file, long position) {
        Hook told = hook;
        if (told != null) {
            try {
                told.before(channel, file, position);
            } catch (Throwable ignored) {
                // Never into the application.
            }
        }
    }

    /** See Hook. */
    public static void after(long count, SocketChannel channel, boolean sent) {
        Hook told = hook;
        if (told != null) {
            try {
                told.after(channel, sent, count);
            } catch (Throwable ignored) {
                // Never into the application.
            }
        }
    }

    /** See Hook. */
    public static void failed(Throwable cause, SocketChannel channel, boolean sent) {
        Hook told = hook;
        if (told != null) {
            try {
                told.failed(channel, sent, cause);
            } catch (Throwable ignored) {
                // Never into the application.
            }
        }
    }

    /** See Hook. */
    public static void closed(SocketChannel channel) {
        Hook told = hook;
        if (told != null) {
            try {
                told.closed(channel);
            } catch (Throwable ignored) {
                // Never into the application.
            }
        }
    }
}
