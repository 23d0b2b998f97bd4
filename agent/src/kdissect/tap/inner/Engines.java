package kdissect.tap.inner;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.nio.ByteBuffer;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import kdissect.tap.EngineGate;

/** The TLS engines of the JVM, of which none is held for longer than its application has it. */
final class Engines implements EngineGate.Hook {
    private final Tap tap;
    private final ConcurrentHashMap<EngineWire.Key, EngineWire> wires = new ConcurrentHashMap<>();
    private final ReferenceQueue<SSLEngine> gone = new ReferenceQueue<>();

    Engines(Tap tap) {
        this.tap = tap;
    }

    void hear(boolean hears) {
        EngineGate.set(hears ? this : null);
    }

    /** Those that nobody has any more. */
    void sweep() {
        for (Reference<?> key = gone.poll(); key != null; key = gone.poll()) {
            EngineWire wire = wires.remove(key);
            if (wire != null) {
                tap.closed(wire);
            }
        }
    }

    void forget() {
        wires.clear();
    }

    @Override
    public void owned(SSLEngine engine) {
        EngineWire wire = wire(engine);
        if (wire != null && !wire.muted) {
            wire.mute();
        }
    }

    @Override
    public void owned(SSLEngine engine, Object context) {
        EngineWire wire = wire(engine);
        if (wire != null) {
            wire.owned(context);
        }
    }

    @Override
    public void before(SSLEngine engine, boolean sent, ByteBuffer[] buffers, int offset, int length) {
        EngineWire wire = wire(engine);
        if (wire != null && !wire.muted && buffers != null) {
            wire.call(sent ? Wire.OUT : Wire.IN).begins(buffers, offset, length);
        }
    }

    @Override
    public void after(SSLEngine engine, boolean sent, SSLEngineResult result) {
        EngineWire wire = wire(engine);
        if (wire == null || wire.muted) {
            return;
        }
        int direction = sent ? Wire.OUT : Wire.IN;
        synchronized (wire) { // one thread may encrypt while another decrypts
            wire.ends(tap, direction, direction, 0);
            if (result != null && result.getStatus() == SSLEngineResult.Status.CLOSED) {
                tap.end(wire, direction);
            }
        }
    }

    private EngineWire wire(SSLEngine engine) {
        EngineWire wire = wires.get(new EngineWire.Probe(engine));
        if (wire == null && wires.size() < Tap.MAX_WIRES) {
            wire = new EngineWire(engine, gone);
            EngineWire first = wires.putIfAbsent(wire.key(), wire);
            wire = first == null ? wire : first;
        }
        return wire;
    }
}
