package kdissect.tap.inner;

import java.lang.instrument.Instrumentation;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import kdissect.tap.Gate;

/**
 * Hooks the connections of a running JVM and changes no class. At the first change of a class HotSpot discards all compiled code
 * (VM_RedefineClasses::flush_dependent_code), which stalls the application until the code is compiled again. Each KafkaChannel gets a
 * transport layer that calls Gate and delegates to its own. Each Selector gets a channel builder that does this for new channels.
 */
final class ObjectHooks {
    private static final long LOOK_NS = 10_000_000;
    private static final long SWEEP_NS = 1_000_000_000;
    private static final int FIRST_LOOKS = 20;
    private static final int FIRST_LOOK_MS = 5;
    private static final String LAYER = "transportLayer";
    private static final String BUILDER = "channelBuilder";
    private static final String NIO = "nioSelector";

    private final Delegates delegates;
    private final SelectorFinder finder;
    private final Map<Object, Hooked> selectors = new IdentityHashMap<>();
    /** KafkaChannels that have a delegate, with their keys. */
    private final Map<Object, SelectionKey> channels = new IdentityHashMap<>();
    private final Map<Class<?>, List<Field>> references = new HashMap<>();
    private long looked;
    private long swept;
    private Throwable problem;
    private boolean ended;

    /** Raises exceptions if the JVM, or Kafka's classes in it, are not as expected. */
    ObjectHooks(Instrumentation jvm, Weaver weaver, List<Class<?>> layers) throws ReflectiveOperationException {
        Reflection.open(jvm, "java.lang.Thread", "java.nio.channels.spi.AbstractSelector", "com.sun.jmx.mbeanserver.Repository",
                "com.sun.jmx.interceptor.DefaultMBeanServerInterceptor");
        delegates = new Delegates(weaver);
        finder = new SelectorFinder(this::hook, this::hookKey);
        for (Class<?> layer : layers) {
            String prefix = layer.getName().substring(0, layer.getName().lastIndexOf('.') + 1);
            Reflection.field(Class.forName(prefix + "KafkaChannel", false, layer.getClassLoader()), LAYER);
            Reflection.field(Class.forName(prefix + "Selector", false, layer.getClassLoader()), BUILDER);
            delegates.of(layer);
        }
    }

    /** Hook the connections that exist. Raises an exception if that fails, after all hooks are removed. */
    void begin() throws Exception {
        try {
            finder.listen();
            for (int turn = 0; turn < FIRST_LOOKS; turn++) {
                finder.look(); // a thread that moves bytes now waits soon
                sweep();
                Thread.sleep(FIRST_LOOK_MS);
            }
            Throwable failure = problem();
            if (failure != null) {
                throw new IllegalStateException(failure);
            }
        } catch (Exception | LinkageError failure) {
            end();
            throw failure;
        }
    }

    /** The first failure to hook a connection; null if there was none. */
    synchronized Throwable problem() {
        return problem;
    }

    /** Hook connections that no hook announced. The thread of the tap calls this often. */
    void look() {
        long now = System.nanoTime();
        if (now - looked < LOOK_NS) {
            return;
        }
        looked = now;
        try {
            finder.look();
            if (now - swept > SWEEP_NS) {
                swept = now;
                sweep();
            }
        } catch (ReflectiveOperationException | RuntimeException failure) {
            failed(failure);
        }
    }

    /** A Selector may have registered a connection just before it got its hook. */
    private synchronized void sweep() {
        selectors.values().removeIf(Hooked::isClosed);
        channels.values().removeIf(key -> !key.isValid());
        selectors.values().forEach(Hooked::hook);
    }

    /** Remove the hooks. */
    void end() {
        finder.ignore();
        synchronized (this) {
            ended = true;
            selectors.values().forEach(Hooked::restore);
            for (Object channel : channels.keySet()) {
                restore(channel);
            }
            selectors.clear();
            channels.clear();
        }
    }

    private synchronized void failed(Throwable failure) {
        if (problem == null) {
            problem = failure;
        }
    }

    /** Hook a Selector, if it is not null, and each whose constructor had not ended. */
    private synchronized void hook(Object selector) {
        if (ended) {
            return;
        }
        try {
            if (selector != null && !selectors.containsKey(selector)) {
                selectors.put(selector, new Hooked(selector));
            }
        } catch (ReflectiveOperationException | RuntimeException failure) {
            failed(failure);
        }
        for (Hooked each : selectors.values()) {
            if (each.original == null) {
                each.hook();
            }
        }
    }

    private void hookKey(SelectionKey key) {
        if (SelectorFinder.isChannel(key.attachment())) {
            hookChannel(key.attachment(), key, ((SocketChannel) key.channel()).isConnectionPending());
        }
    }

    private synchronized void hookChannel(Object channel, SelectionKey key, boolean isNew) {
        if (ended || channels.containsKey(channel)) {
            return;
        }
        try {
            SocketChannel socket = (SocketChannel) key.channel();
            Object layer = Reflection.field(channel.getClass(), LAYER).get(channel);
            Object delegate = delegates.around(layer, socket);
            if (isNew) {
                Gate.opened(socket);
            }
            channels.put(channel, key);
            replace(channel, layer, delegate);
        } catch (ReflectiveOperationException | RuntimeException | LinkageError failure) {
            failed(failure);
        }
    }

    private void restore(Object channel) {
        try {
            Object layer = Reflection.field(channel.getClass(), LAYER).get(channel);
            replace(channel, layer, delegates.inner(layer));
        } catch (ReflectiveOperationException | RuntimeException failure) {
            failed(failure);
        }
    }

    /** Put `next` where a channel, or the object that authenticates its peer, has `layer`. */
    private void replace(Object channel, Object layer, Object next) throws ReflectiveOperationException {
        for (Field field : fields(channel.getClass())) {
            Object value = field.get(channel);
            if (value == layer) {
                field.set(channel, next);
            } else if (value instanceof Creator) {
                field.set(channel, ((Creator) value).original);
            } else if (value instanceof Supplier && field.getType() == Supplier.class) {
                field.set(channel, new Creator((Supplier<?>) value, layer, next));
            } else if (value != null && SelectorFinder.isOfKafka(value.getClass())) {
                replaceIn(value, layer, next);
            }
        }
    }

    private synchronized void replaceIn(Object owner, Object layer, Object next) throws ReflectiveOperationException {
        for (Field field : fields(owner.getClass())) {
            if (field.get(owner) == layer) {
                field.set(owner, next);
            }
        }
    }

    private List<Field> fields(Class<?> type) {
        return references.computeIfAbsent(type, Reflection::references);
    }

    /** Creates the object that authenticates a peer again (KIP-368), and gives it the channel's delegate. */
    private final class Creator implements Supplier<Object> {
        private final Supplier<?> original;
        private final Object layer;
        private final Object delegate;

        Creator(Supplier<?> original, Object layer, Object delegate) {
            this.original = original;
            this.layer = layer;
            this.delegate = delegate;
        }

        @Override
        public Object get() {
            Object made = original.get();
            try {
                replaceIn(made, layer, delegate);
            } catch (ReflectiveOperationException | RuntimeException failure) {
                failed(failure);
            }
            return made;
        }
    }

    /** A Selector. */
    private final class Hooked {
        private final Object selector;
        private final Field builder;
        private final Field nioField;
        private Selector nio;
        /** Null until the builder is replaced. */
        private Object original;

        Hooked(Object selector) throws ReflectiveOperationException {
            this.selector = selector;
            this.builder = Reflection.field(selector.getClass(), BUILDER);
            this.nioField = Reflection.field(selector.getClass(), NIO);
        }

        boolean isClosed() {
            return nio != null && !nio.isOpen();
        }

        void hook() {
            try {
                nio = (Selector) nioField.get(selector);
                Object builds = builder.get(selector);
                if (nio == null || builds == null) {
                    return; // the constructor still runs
                }
                if (original == null) {
                    original = builds;
                    Class<?>[] types = {builder.getType()};
                    builder.set(selector, Proxy.newProxyInstance(types[0].getClassLoader(), types, new Builder(builds)));
                }
                SelectorFinder.keys(nio).forEach(ObjectHooks.this::hookKey);
            } catch (ReflectiveOperationException | RuntimeException failure) {
                failed(failure);
            }
        }

        void restore() {
            try {
                if (original != null) {
                    builder.set(selector, original);
                }
            } catch (ReflectiveOperationException | RuntimeException failure) {
                failed(failure);
            }
        }
    }

    /** Builds channels as another builder does, and hooks them. */
    private final class Builder implements InvocationHandler {
        private final Object builder;

        Builder(Object builder) {
            this.builder = builder;
        }

        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            Object result;
            try {
                result = method.invoke(builder, arguments);
            } catch (InvocationTargetException failure) {
                throw failure.getCause();
            }
            if (SelectorFinder.isChannel(result)) {
                for (Object each : arguments) {
                    if (each instanceof SelectionKey) {
                        hookChannel(result, (SelectionKey) each, true);
                    }
                }
            }
            return result;
        }
    }
}
