package kdissect.tap.inner;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelector;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import javax.management.InstanceNotFoundException;
import javax.management.ListenerNotFoundException;
import javax.management.MBeanServer;
import javax.management.MBeanServerDelegate;
import javax.management.MBeanServerFactory;
import javax.management.MBeanServerNotification;
import javax.management.NotificationListener;
import javax.management.ObjectName;

/**
 * Finds Kafka's Selectors, which own its connections. JMX refers to the metrics of a Selector, unless the application chose other reporters
 * of metrics; a thread that waits in a selector of the JVM refers to that one.
 */
final class SelectorFinder {
    private static final String SELECTOR = ".common.network.Selector";
    private static final String CHANNEL = ".common.network.KafkaChannel";
    private static final String BEAN = ".common.metrics.JmxReporter$KafkaMbean";
    private static final String METRIC = "connection-count";
    /** The packages of a broker's own classes. */
    private static final String BROKER = "kafka.";
    /** Objects that a search visits at most. */
    private static final int MAX_VISITED = 5000;
    /** Searches from threads that wait in a selector which may not be Kafka's. */
    private static final int MAX_TRIES = 3;

    private final Consumer<Object> found;
    private final Consumer<SelectionKey> alone;
    private final Field blocker;
    private final Field task;
    private final Field holder;
    private final Map<Class<?>, List<Field>> references = new ConcurrentHashMap<>();
    private final Map<Class<?>, Field> selectorOf = new ConcurrentHashMap<>();
    private final Map<Selector, Integer> tries = new WeakHashMap<>();
    private final Set<Selector> known = Collections.newSetFromMap(new WeakHashMap<>());
    private final Map<MBeanServer, NotificationListener> listeners = new HashMap<>();

    /**
     * `found` gets each Selector, some more than once; `alone` gets the channels of one that cannot be found. Raises exceptions if the JVM is
     * not as expected.
     */
    SelectorFinder(Consumer<Object> found, Consumer<SelectionKey> alone) throws ReflectiveOperationException {
        this.found = found;
        this.alone = alone;
        Field interruptible;
        Field runnable;
        Field above = null;
        try {
            interruptible = Reflection.field(Thread.class, "blocker");
        } catch (NoSuchFieldException java21) {
            interruptible = Reflection.field(Thread.class, "nioBlocker");
        }
        try {
            runnable = Reflection.field(Thread.class, "target");
        } catch (NoSuchFieldException java19) {
            above = Reflection.field(Thread.class, "holder");
            runnable = Reflection.field(above.getType(), "task");
        }
        this.blocker = interruptible;
        this.holder = above;
        this.task = runnable;
    }

    /** Find those of JMX, and from now on each when it comes there: before its first connection moves bytes, on the thread that does. */
    void listen() throws ReflectiveOperationException {
        for (MBeanServer server : MBeanServerFactory.findMBeanServer(null)) {
            Object repository = repository(server);
            Method retrieve = Reflection.accessible(repository.getClass().getMethod("retrieve", ObjectName.class));
            NotificationListener listener = (event, none) -> {
                if (event.getType().equals(MBeanServerNotification.REGISTRATION_NOTIFICATION)) {
                    search(repository, retrieve, ((MBeanServerNotification) event).getMBeanName());
                }
            };
            try {
                server.addNotificationListener(MBeanServerDelegate.DELEGATE_NAME, listener, null, null);
                listeners.put(server, listener);
            } catch (InstanceNotFoundException none) {
                continue;
            }
            for (ObjectName name : server.queryNames(null, null)) {
                search(repository, retrieve, name);
            }
        }
    }

    /** End what `listen` began. */
    void ignore() {
        for (Map.Entry<MBeanServer, NotificationListener> each : listeners.entrySet()) {
            try {
                each.getKey().removeNotificationListener(MBeanServerDelegate.DELEGATE_NAME, each.getValue());
            } catch (InstanceNotFoundException | ListenerNotFoundException gone) {
                continue;
            }
        }
        listeners.clear();
    }

    private static Object repository(MBeanServer server) throws ReflectiveOperationException {
        Object interceptor = Reflection.field(server.getClass(), "mbsInterceptor").get(server);
        return Reflection.field(interceptor.getClass(), "repository").get(interceptor);
    }

    /** Never raises: an application registers its MBean. */
    private void search(Object repository, Method retrieve, ObjectName name) {
        try {
            Object bean = retrieve.invoke(repository, name);
            if (bean != null && bean.getClass().getName().endsWith(BEAN)) {
                Object metric = ((Map<?, ?>) Reflection.field(bean.getClass(), "metrics").get(bean)).get(METRIC);
                found.accept(metric == null ? null : reached(metric, null));
            }
        } catch (Throwable gone) {
            // Never into the application: the MBean has another form, or changes now.
        }
    }

    /** Find those of threads that wait in a selector now. */
    void look() throws ReflectiveOperationException {
        for (Thread thread : threads()) {
            Selector waits = thread == null ? null : selector(blocker.get(thread));
            if (waits != null && waits.isOpen() && !known.contains(waits) && tries.getOrDefault(waits, 0) < MAX_TRIES) {
                Object selector = reachedBy(thread, waits);
                if (selector != null) {
                    known.add(waits);
                    found.accept(selector);
                } else if (!hasChannels(waits)) {
                    tries.merge(waits, 1, Integer::sum);
                }
            }
        }
    }

    private static Thread[] threads() {
        ThreadGroup all = Thread.currentThread().getThreadGroup();
        while (all.getParent() != null) {
            all = all.getParent();
        }
        Thread[] found = new Thread[all.activeCount() * 2 + 16];
        all.enumerate(found, true);
        return found;
    }

    /** The selector that wakes up where a thread is interrupted that waits in it. */
    private Selector selector(Object interruptible) throws ReflectiveOperationException {
        if (interruptible == null) {
            return null;
        }
        Class<?> type = interruptible.getClass();
        Field field = selectorOf.get(type);
        if (field == null && AbstractSelector.class == type.getEnclosingClass()) {
            for (Field each : type.getDeclaredFields()) {
                if (AbstractSelector.class.isAssignableFrom(each.getType())) {
                    field = Reflection.accessible(each);
                    selectorOf.put(type, field);
                }
            }
        }
        return field == null ? null : (Selector) field.get(interruptible);
    }

    private boolean hasChannels(Selector selector) {
        boolean has = false;
        for (SelectionKey key : keys(selector)) {
            if (isChannel(key.attachment())) {
                alone.accept(key);
                has = true;
            }
        }
        return has;
    }

    /** Its keys now; some or none if they change meanwhile or it is closed. */
    static Collection<SelectionKey> keys(Selector selector) {
        for (int turn = 0; turn < MAX_TRIES; turn++) {
            try {
                return new ArrayList<>(selector.keys());
            } catch (ConcurrentModificationException | NoSuchElementException changes) {
                continue;
            } catch (ClosedSelectorException closed) {
                break;
            }
        }
        return Collections.emptyList();
    }

    /** Whether it is a connection of Kafka. */
    static boolean isChannel(Object attachment) {
        return attachment != null && attachment.getClass().getName().endsWith(CHANNEL);
    }

    private Object reachedBy(Thread thread, Selector waits) throws ReflectiveOperationException {
        for (SelectionKey key : keys(waits)) {
            Object selector = isChannel(key.attachment()) ? reached(key.attachment(), waits) : null;
            if (selector != null) {
                return selector;
            }
        }
        Object selector = reached(thread, waits);
        return selector != null ? selector : reached(task.get(holder == null ? thread : holder.get(thread)), waits);
    }

    /** The Selector of Kafka that an object refers to by objects of Kafka, and that waits in `waits`, if that is given. */
    private Object reached(Object from, Selector waits) throws ReflectiveOperationException {
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        ArrayDeque<Object> next = new ArrayDeque<>();
        if (from != null && isOfKafka(from.getClass())) {
            next.add(from);
        }
        while (!next.isEmpty() && seen.size() < MAX_VISITED) {
            Object object = next.remove();
            Class<?> type = object.getClass();
            if (type.getName().endsWith(SELECTOR) && (waits == null || waits == Reflection.field(type, "nioSelector").get(object))) {
                return object;
            }
            for (Field field : references.computeIfAbsent(type, Reflection::references)) {
                Object value = field.get(object);
                if (value != null && isOfKafka(value.getClass()) && seen.add(value)) {
                    next.add(value);
                }
            }
        }
        return null;
    }

    /** Also of a copy in another package, and lambda expressions. */
    static boolean isOfKafka(Class<?> type) {
        String name = type.getName();
        return name.startsWith(BROKER) || name.contains(".kafka.");
    }
}
