package kdissect.tap.inner;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.instrument.Instrumentation;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SocketChannel;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import kdissect.tap.Gate;

/**
 * A tap from its beginning to its end. Threads of the application copy what they moved and go on; one thread of the tap
 * writes. What does not fit is dropped and counted.
 */
public final class Tap implements Gate.Hook, Wire.Taker, AutoCloseable, Runnable {
    private static final int CHUNK = 32768;
    /** What an event takes beside its bytes. */
    private static final int EVENT = 96;
    static final int MAX_WIRES = 65536;
    private static final long SECOND = 1_000_000_000L;
    private static final long PATIENCE_S = 3;
    private static final int DATA = 0;
    private static final int END = 1;

    private final Options options;
    private final Instrumentation jvm;
    private final AtomicReference<AutoCloseable> slot;
    private final Sink sink;
    private final Weaver weaver;
    private final ConcurrentHashMap<SocketChannel, Wire> wires = new ConcurrentHashMap<>();
    /** Null where engines are not looked at: then their gate is not loaded. */
    private final Engines engines;
    /** By the ends of a connection, which two channels of one JVM may share. */
    private final ConcurrentHashMap<String, Wire> placed = new ConcurrentHashMap<>();
    private final ConcurrentLinkedQueue<Event> queue = new ConcurrentLinkedQueue<>();
    private final AtomicLong queued = new AtomicLong();
    private final AtomicLong drops = new AtomicLong();
    private final CountDownLatch ended = new CountDownLatch(1);
    private final Thread thread = new Thread(this, "kdissect-tap");
    private final Thread atExit = new Thread(this::close, "kdissect-tap-exit");
    /** Nanoseconds since 1970 where System.nanoTime is 0. */
    private final long epoch;
    private final AtomicBoolean stopping;
    private boolean hooked;
    /** Hooks of objects; null while classes are hooked. */
    private volatile ObjectHooks objects;
    private boolean saidProblem;
    private long toldDrops;

    private Tap(Options options, Instrumentation jvm, AtomicReference<AutoCloseable> slot, Sink sink, AtomicBoolean stopping) {
        this.options = options;
        this.jvm = jvm;
        this.slot = slot;
        this.sink = sink;
        this.stopping = stopping;
        this.weaver = new Weaver(options.engines);
        this.engines = options.engines ? new Engines(this) : null;
        Instant now = Instant.now();
        this.epoch = now.getEpochSecond() * SECOND + now.getNano() - System.nanoTime();
    }

    /** Begin; called by Agent. What goes wrong is said where the options say that output goes. */
    public static void start(String text, boolean attached, Instrumentation jvm, AtomicReference<AutoCloseable> slot)
            throws IOException {
        Options options;
        Sink sink;
        AtomicBoolean stopping = new AtomicBoolean();
        try {
            options = new Options(text);
            sink = Sink.of(options, stopping::get);
        } catch (IllegalArgumentException | IOException problem) {
            say(problem.getMessage() == null ? problem.toString() : problem.toString().replaceFirst("^[\\w.]*\\.", ""));
            return;
        }
        Tap tap = new Tap(options, jvm, slot, sink, stopping);
        String problem = tap.begin(attached);
        if (problem.isEmpty()) {
            return;
        }
        try {
            sink.answer("error " + problem);
        } catch (IOException gone) {
            // Then nobody wants to know.
        }
        if (!sink.endsQuietly()) {
            say(problem);
        }
        sink.close();
    }

    private String begin(boolean attached) {
        if (attached && options.needsKafka && !isAnyTapped()) {
            return options.engines
                    ? "it has loaded neither Kafka's network classes nor a TLS engine"
                    : "it has not loaded Kafka's network classes; --engines looks for Kafka in what goes through TLS engines (Netty)";
        }
        if (!slot.compareAndSet(null, this)) {
            return "it is tapped already; kdissect tap PID --detach ends that";
        }
        try {
            hook();
            if (!weaver.problem.isEmpty()) {
                throw new IllegalStateException(weaver.problem);
            }
            Runtime.getRuntime().addShutdownHook(atExit);
            thread.setDaemon(true);
            thread.setContextClassLoader(null);
            thread.start();
            return "";
        } catch (Throwable problem) {
            unhook();
            slot.compareAndSet(this, null);
            return "its classes cannot be hooked: " + problem;
        }
    }

    private boolean isAnyTapped() {
        for (Class<?> type : loaded()) {
            if (weaver.isTapped(type)) {
                return true;
            }
        }
        return false;
    }

    /** The classes that have or get hooks. */
    private List<Class<?>> loaded() {
        List<Class<?>> found = new ArrayList<>();
        for (Class<?> type : jvm.getAllLoadedClasses()) {
            if (weaver.isHooked(type) && jvm.isModifiableClass(type)) {
                found.add(type);
            }
        }
        return found;
    }

    private synchronized void hook() throws Exception {
        if (!hooked && !stopping.get()) {
            hooked = true;
            objects = objectHooks();
            if (objects == null) {
                jvm.addTransformer(weaver, true);
                retransform();
            }
        }
    }

    /**
     * Null if classes must change: no connection exists yet, engines are classes of the JVM, a security manager may forbid what it takes, or
     * something is not as expected.
     */
    private ObjectHooks objectHooks() {
        List<Class<?>> layers = loaded();
        if (layers.isEmpty() || engines != null || System.getSecurityManager() != null) {
            return null;
        }
        try {
            ObjectHooks hooks = new ObjectHooks(jvm, weaver, layers);
            hooks.begin();
            return hooks;
        } catch (Exception | LinkageError unexpected) {
            return null;
        }
    }

    private void hear(boolean hears) {
        Gate.set(hears ? this : null);
        if (engines != null) {
            engines.hear(hears);
        }
    }

    private void retransform() throws Exception {
        List<Class<?>> found = loaded();
        if (!found.isEmpty()) {
            jvm.retransformClasses(found.toArray(new Class<?>[0]));
        }
    }

    private void look() {
        ObjectHooks hooks = objects;
        if (hooks != null) {
            hooks.look();
            Throwable problem = hooks.problem();
            if (problem != null && !saidProblem) {
                saidProblem = true;
                say("a connection is not tapped: " + problem);
            }
        }
    }

    /** Take the hooks out. Called more than once; the classes are as they were before. */
    private synchronized void unhook() {
        if (!hooked) {
            return;
        }
        hooked = false;
        hear(false);
        if (objects != null) {
            objects.end();
            objects = null;
            return;
        }
        jvm.removeTransformer(weaver);
        try {
            retransform();
        } catch (Throwable problem) {
            say("the hooks stay, and do nothing: " + problem);
        }
    }

    /** End the tap, and wait for it for some seconds. */
    @Override
    public void close() {
        stopping.set(true);
        try {
            if (!ended.await(PATIENCE_S, TimeUnit.SECONDS)) {
                unhook();
                sink.close();
                thread.interrupt();
                ended.await(PATIENCE_S, TimeUnit.SECONDS);
            }
        } catch (InterruptedException enough) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void run() {
        try {
            do {
                unhookWhileNobodyReads();
                OutputStream out = sink.open();
                if (out == null) {
                    break;
                }
                hook();
                readBy(out);
            } while (sink.isForMany() && !stopping.get());
        } catch (Throwable problem) {
            if (!sink.endsQuietly() && !stopping.get()) {
                say("ended: " + problem.getMessage());
            }
        } finally {
            unhook();
            sink.close();
            forget();
            slot.compareAndSet(this, null);
            ended.countDown();
            try {
                Runtime.getRuntime().removeShutdownHook(atExit);
            } catch (IllegalStateException exits) {
                // The JVM ends: it is that thread that called.
            }
        }
    }

    private void unhookWhileNobodyReads() {
        if (sink.isForMany()) {
            unhook();
            forget();
        }
    }

    /** Write for one reader; of those who come to a listener each may go without another being hurt. */
    private void readBy(OutputStream out) throws IOException {
        try {
            write(out);
            out.flush();
        } catch (IOException left) {
            if (!sink.isForMany()) {
                throw left;
            }
        }
    }

    private void forget() {
        for (Event event = queue.poll(); event != null; event = queue.poll()) {
            queued.addAndGet(-event.size());
        }
        wires.clear();
        if (engines != null) {
            engines.forget();
        }
        placed.clear();
        drops.set(0);
        toldDrops = 0;
    }

    private void write(OutputStream out) throws IOException {
        hear(true);
        sink.answer("ok"); // whoever waits for it sees all that begins from now on
        Pcapng file = new Pcapng(out);
        String who = Process.told();
        file.begin("plaintext of Kafka connections, tapped in " + who + "; TCP is synthetic", "kdissect tap", "tap");
        out.flush();
        long begun = System.nanoTime();
        long swept = begun;
        boolean wanted = true;
        while (wanted && !stopping.get()) {
            look();
            boolean idle = drain(file, who);
            long now = System.nanoTime();
            if (now - swept > SECOND) {
                swept = now;
                idle = true; // looks for the end of whoever attached, also under load
                sweep();
                statistics(file, false);
            }
            if (options.seconds > 0 && now - begun > options.seconds * SECOND
                    || options.megabytes > 0 && file.written() > options.megabytes * 1_000_000) {
                break;
            }
            if (idle) {
                out.flush();
                wanted = sink.isWanted();
            }
        }
        unhook();
        while (!drain(file, who)) {
            // What waits is no more than one buffer.
        }
        statistics(file, true);
    }

    /** Write what waits, of that not more than one buffer; whether that was little. */
    private boolean drain(Pcapng file, String who) throws IOException {
        long size = 0;
        for (Event event = queue.poll(); event != null; event = queue.poll()) {
            queued.addAndGet(-event.size());
            size += event.size();
            packets(file, event, who);
            if (size > options.buffer) {
                return false;
            }
        }
        return size < CHUNK;
    }

    private void packets(Pcapng file, Event event, String who) throws IOException {
        Wire wire = event.wire;
        String comment = null;
        if (!wire.written) {
            if (event.kind == END) {
                return; // nothing was sent: who is the client is not known
            }
            wire.written = true;
            comment = "tapped in " + who + ", thread " + wire.thread + wire.note();
            if (wire.fresh) {
                int client = wire.first; // who speaks first
                int server = 1 - client;
                int[] start = wire.start;
                byte[] none = new byte[0];
                file.packet(event.time, wire, client, Pcapng.SYN, start[client] - 1, 0, none, null);
                file.packet(event.time, wire, server, Pcapng.SYN | Pcapng.ACK, start[server] - 1, start[client], none, null);
                file.packet(event.time, wire, client, Pcapng.ACK, start[client], start[server], none, null);
            }
        }
        int flags = Pcapng.ACK | (event.kind == END ? Pcapng.FIN : Pcapng.PUSH);
        file.packet(event.time, wire, event.direction, flags, event.seq, event.ack, event.data, comment);
    }

    private void statistics(Pcapng file, boolean always) throws IOException {
        long count = drops.get();
        if (count != toldDrops || always) {
            toldDrops = count;
            file.statistics(now(), count);
        }
    }

    /** Those that were closed where no hook is. */
    private void sweep() {
        for (SocketChannel channel : wires.keySet()) {
            if (!channel.isOpen()) {
                closed(channel);
            }
        }
        if (engines != null) {
            engines.sweep();
        }
    }

    /** It moves no more bytes. */
    void closed(Wire wire) {
        if (wire.here != null && !wire.muted) {
            end(wire, Wire.OUT);
            placed.remove(wire.ends(), wire);
        }
    }

    @Override
    public void opened(SocketChannel channel) {
        if (channel != null && wires.size() < MAX_WIRES) {
            wires.put(channel, new ChannelWire(channel, true));
        }
    }

    @Override
    public void before(SocketChannel channel, ByteBuffer buffer) {
        Wire wire = wire(channel);
        if (wire != null) {
            wire.call(0).begins(buffer);
        }
    }

    @Override
    public void before(SocketChannel channel, ByteBuffer[] buffers, int offset, int length) {
        Wire wire = wire(channel);
        if (wire != null) {
            wire.call(0).begins(buffers, offset, length);
        }
    }

    @Override
    public void before(SocketChannel channel, FileChannel file, long position) {
        Wire wire = wire(channel);
        if (wire != null) {
            wire.call(0).begins(file, position);
        }
    }

    @Override
    public void after(SocketChannel channel, boolean sent, long count) {
        Wire wire = wires.get(channel);
        if (wire != null) {
            wire.ends(this, 0, sent ? Wire.OUT : Wire.IN, count);
            if (count < 0 && !sent) {
                end(wire, Wire.IN);
            }
        }
    }

    @Override
    public void failed(SocketChannel channel, boolean sent, Throwable cause) {
        // SslTransportLayer says the end of the stream so.
        after(channel, sent, cause instanceof java.io.EOFException ? -1 : 0);
    }

    @Override
    public void closed(SocketChannel channel) {
        Wire wire = wires.remove(channel);
        if (wire != null) {
            closed(wire);
        }
    }

    private Wire wire(SocketChannel channel) {
        Wire wire = wires.get(channel);
        if (wire == null && wires.size() < MAX_WIRES) {
            wire = new ChannelWire(channel, false);
            wires.put(channel, wire);
        }
        return wire;
    }

    @Override
    public long now() {
        return System.nanoTime() + epoch;
    }

    @Override
    public void take(Wire wire, int direction, ByteBuffer moved, long time) {
        if (!isWanted(wire, direction)) {
            return;
        }
        release(wire, 1 - direction, time);
        byte[] held = wire.held[direction];
        if (held == null && moved.remaining() == Wire.SIZE) {
            held = new byte[Wire.SIZE];
            moved.get(held);
            wire.held[direction] = held;
            return;
        }
        wire.held[direction] = null;
        while (moved.hasRemaining()) {
            int before = held == null ? 0 : Wire.SIZE;
            int size = Math.min(moved.remaining(), CHUNK - before);
            byte[] data = room(size + before);
            if (data == null) {
                moved.position(moved.position() + size);
            } else {
                if (held != null) {
                    System.arraycopy(held, 0, data, 0, Wire.SIZE);
                }
                moved.get(data, before, size);
            }
            put(wire, direction, time, data, size + before);
            held = null;
        }
    }

    /** Kafka moves the size of a frame by itself. On a network it is in one packet with what follows, and so it is here. */
    private void release(Wire wire, int direction, long time) {
        byte[] held = wire.held[direction];
        if (held != null) {
            wire.held[direction] = null;
            put(wire, direction, time, room(Wire.SIZE) == null ? null : held, Wire.SIZE);
        }
    }

    @Override
    public void take(Wire wire, int direction, FileChannel file, long position, long count) {
        if (!isWanted(wire, direction)) {
            return;
        }
        long time = now();
        release(wire, 1 - direction, time);
        release(wire, direction, time);
        for (long done = 0; done < count;) {
            int size = (int) Math.min(count - done, CHUNK);
            byte[] data = room(size);
            if (data != null && !isRead(file, position + done, data)) {
                queued.addAndGet(-size - EVENT);
                drops.incrementAndGet();
                data = null;
            }
            put(wire, direction, time, data, size);
            done += size;
        }
    }

    /** A thread that is interrupted would close the file by reading it. */
    private static boolean isRead(FileChannel file, long position, byte[] data) {
        ByteBuffer into = ByteBuffer.wrap(data);
        try {
            while (into.hasRemaining()) {
                if (Thread.currentThread().isInterrupted() || file.read(into, position + into.position()) <= 0) {
                    return false;
                }
            }
            return true;
        } catch (IOException gone) {
            return false;
        }
    }

    private boolean isWanted(Wire wire, int direction) {
        if (wire.thread == null && !wire.muted) {
            wire.first = direction;
            wire.thread = Thread.currentThread().getName();
            if (wire.isPlaced()) {
                Wire other = placed.putIfAbsent(wire.ends(), wire);
                if (other != null && other.isOpen() && other != wire) {
                    wire.muted = true;
                } else if (other != null) {
                    placed.put(wire.ends(), wire);
                }
            }
        }
        return !wire.muted;
    }

    /** Memory for so many bytes, accounted for; null, and a drop, where there is none. */
    private byte[] room(int size) {
        if (queued.addAndGet(size + EVENT) <= options.buffer) {
            try {
                return new byte[size];
            } catch (OutOfMemoryError full) {
                // As if the buffer were full.
            }
        }
        queued.addAndGet(-size - EVENT);
        drops.incrementAndGet();
        return null;
    }

    private void put(Wire wire, int direction, long time, byte[] data, int size) {
        int[] next = wire.next;
        if (data != null) {
            queue.add(new Event(wire, DATA, direction, time, next[direction], next[1 - direction], data));
        }
        next[direction] += size;
    }

    /** A direction of it ended. */
    void end(Wire wire, int direction) {
        if (wire.here != null && !wire.muted && !wire.ended[direction]) {
            wire.ended[direction] = true;
            int[] next = wire.next;
            long time = now();
            release(wire, Wire.IN, time);
            release(wire, Wire.OUT, time);
            queued.addAndGet(EVENT);
            queue.add(new Event(wire, END, direction, time, next[direction], next[1 - direction], new byte[0]));
            next[direction]++;
        }
    }

    private static void say(String text) {
        PrintStream errors = System.err;
        errors.println("kdissect-tap: " + text);
    }

    private static final class Event {
        private final Wire wire;
        private final int kind;
        private final int direction;
        private final long time;
        private final int seq;
        private final int ack;
        private final byte[] data;

        Event(Wire wire, int kind, int direction, long time, int seq, int ack, byte[] data) {
            this.wire = wire;
            this.kind = kind;
            this.direction = direction;
            this.time = time;
            this.seq = seq;
            this.ack = ack;
            this.data = data;
        }

        int size() {
            return data.length + EVENT;
        }
    }
}
