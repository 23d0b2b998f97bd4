package kdissect.tap.inner;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.security.AccessController;
import java.security.PrivilegedAction;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLEngine;

/** What goes through a TLS engine. It is told only once its bytes have shown that they are Kafka. */
final class EngineWire extends Wire {
    private static final String NO_SESSION = "SSL_NULL_WITH_NULL_NULL"; // javax.net.ssl.SSLEngine.getSession
    private static final AtomicInteger COUNT = new AtomicInteger();

    private final Key key;
    private final int number = COUNT.incrementAndGet() & 0xffff;
    private final String peer;
    private final int peerPort;
    private Proof proof;
    private boolean asked;
    private boolean known;

    EngineWire(SSLEngine engine, ReferenceQueue<SSLEngine> gone) {
        super(NO_SESSION.equals(engine.getSession().getCipherSuite()));
        key = new Key(engine, gone);
        peer = engine.getPeerHost();
        peerPort = Math.max(engine.getPeerPort(), 0) & 0xffff;
        proof = new Proof(fresh);
    }

    Key key() {
        return key;
    }

    @Override
    boolean isOpen() {
        SSLEngine engine = key.get();
        return engine != null && !engine.isOutboundDone();
    }

    /** It is another's, who tells of it; or its bytes are not Kafka. */
    synchronized void mute() {
        muted = true;
        proof = null;
    }

    /** Learn the addresses from the context of Netty's handler; it is not kept. */
    void owned(Object context) {
        if (asked || muted || context == null) {
            return;
        }
        asked = true;
        AccessController.doPrivileged(new PrivilegedAction<Void>() {
            @Override
            public Void run() {
                try {
                    Object channel = answer(context, "channel");
                    known = isPlaced((SocketAddress) answer(channel, "localAddress"), (SocketAddress) answer(channel, "remoteAddress"));
                } catch (ReflectiveOperationException | RuntimeException notNetty) {
                    // Then they are not known.
                }
                return null;
            }
        });
    }

    /** Calls a method without arguments of a public interface. */
    private static Object answer(Object of, String name) throws ReflectiveOperationException {
        for (Class<?> type = of.getClass(); type != null; type = type.getSuperclass()) {
            for (Class<?> each : type.getInterfaces()) {
                try {
                    Method method = each.getMethod(name);
                    return method.invoke(of);
                } catch (NoSuchMethodException | IllegalAccessException another) {
                    continue;
                }
            }
        }
        throw new NoSuchMethodException(name);
    }

    @Override
    boolean place() {
        if (here == null) {
            byte[] known = literal(peer);
            byte[] none = new byte[known == null ? 4 : known.length];
            port = number;
            remotePort = peerPort;
            there = known == null ? none : known;
            here = none;
        }
        return true;
    }

    @Override
    String note() {
        return known ? "" : "; its own address is not known";
    }

    @Override
    boolean isBegun(int direction) {
        return proof == null && !muted;
    }

    @Override
    synchronized void moved(Taker taker, int direction, ByteBuffer moved, int end) {
        if (muted) {
            return;
        }
        long time = taker.now();
        if (proof == null) {
            taker.take(this, direction, moved, time);
            return;
        }
        switch (proof.look(direction, moved, time)) {
            case NO:
                mute();
                break;
            case YES:
                Proof done = proof;
                proof = null;
                done.give(this, taker);
                break;
            default:
                break;
        }
    }

    /** An address that is written as one: no name is looked up. */
    private static byte[] literal(String host) {
        if (host == null || !host.matches("[0-9.]+|[0-9a-fA-F:]*:[0-9a-fA-F:.]*")) {
            return null;
        }
        try {
            return new InetSocketAddress(InetAddress.getByName(host), 0).getAddress().getAddress();
        } catch (java.net.UnknownHostException none) {
            return null;
        }
    }

    /** Finds an engine without holding it. */
    static final class Key extends WeakReference<SSLEngine> {
        private final int hash;

        Key(SSLEngine engine, ReferenceQueue<SSLEngine> gone) {
            super(engine, gone);
            hash = System.identityHashCode(engine);
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(Object other) {
            return this == other || get() != null && other instanceof Key && ((Key) other).get() == get();
        }
    }

    /** Looks for the key of an engine. */
    static final class Probe {
        private final SSLEngine engine;

        Probe(SSLEngine engine) {
            this.engine = engine;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(engine);
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Key && ((Key) other).get() == engine;
        }
    }
}
