package kdissect.tap.inner;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.channels.SocketChannel;
import java.security.ProtectionDomain;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import kdissect.tap.Gate;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/**
 * Transport layers that call Gate and delegate to another transport layer. Their classes extend Kafka's, so that the application sees no
 * difference, and remain in Kafka's class loader: a further tap finds them there.
 */
final class Delegates {
    private static final String SUFFIX = "KdissectTap";
    private static final String INNER = "kdissectInner";
    private static final String CHANNEL = "kdissectChannel";

    private final Weaver weaver;
    private final Map<Class<?>, Delegate> delegates = new HashMap<>();
    private final Method define;
    private final Object unsafe;
    private final Method allocate;
    private final AtomicInteger fence = new AtomicInteger();

    Delegates(Weaver weaver) throws ReflectiveOperationException {
        this.weaver = weaver;
        this.define = Reflection.accessible(ClassLoader.class.getDeclaredMethod("defineClass", String.class, byte[].class, int.class, int.class,
                ProtectionDomain.class));
        Class<?> type = Class.forName("sun.misc.Unsafe");
        this.unsafe = Reflection.field(type, "theUnsafe").get(null);
        this.allocate = type.getMethod("allocateInstance", Class.class);
    }

    /** Whether a transport layer calls Gate. */
    static boolean isDelegate(Object layer) {
        return layer.getClass().getName().endsWith(SUFFIX);
    }

    /** The transport layer that a delegate delegates to. */
    Object inner(Object delegate) throws ReflectiveOperationException {
        return Reflection.field(delegate.getClass(), INNER).get(delegate);
    }

    /** A transport layer that calls Gate and delegates to `layer`. Raises exceptions if the class is not as expected. */
    Object around(Object layer, SocketChannel channel) throws ReflectiveOperationException {
        Delegate delegate = of(layer.getClass());
        Object made = allocate.invoke(unsafe, delegate.type); // its inherited fields are not used: no constructor runs
        delegate.inner.set(made, layer);
        delegate.channel.set(made, channel);
        fence.incrementAndGet(); // other threads see these fields before they see the object
        return made;
    }

    /** The class that delegates to `layer`, made once. */
    Delegate of(Class<?> layer) throws ReflectiveOperationException {
        Delegate found = delegates.get(layer);
        if (found == null) {
            found = new Delegate(defined(layer));
            delegates.put(layer, found);
        }
        return found;
    }

    private Class<?> defined(Class<?> layer) throws ReflectiveOperationException {
        if (!weaver.isTapped(layer)) {
            throw new IllegalStateException(layer.getName() + " is not known");
        }
        ClassLoader loader = layer.getClassLoader();
        if (Class.forName(Gate.class.getName(), false, loader) != Gate.class) {
            throw new IllegalStateException("its class loader does not see the agent");
        }
        String name = layer.getName() + SUFFIX;
        try {
            return Class.forName(name, true, loader);
        } catch (ClassNotFoundException first) {
            byte[] code = Weaver.wovenDelegate(name.replace('.', '/'), code(layer, name.replace('.', '/')));
            return (Class<?>) define.invoke(loader, name, code, 0, code.length, layer.getProtectionDomain());
        }
    }

    /** A class whose methods call those of `layer`. */
    private static byte[] code(Class<?> layer, String name) {
        String above = Type.getInternalName(layer);
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
        writer.visit(Opcodes.V1_8, Opcodes.ACC_PUBLIC | Opcodes.ACC_SUPER | Opcodes.ACC_SYNTHETIC, name, null, above, null);
        writer.visitField(Opcodes.ACC_PUBLIC, INNER, Type.getDescriptor(layer), null, null).visitEnd();
        writer.visitField(Opcodes.ACC_PUBLIC, CHANNEL, Type.getDescriptor(SocketChannel.class), null, null).visitEnd();
        Set<String> done = new HashSet<>();
        for (Class<?> type = layer; type != Object.class; type = type.getSuperclass()) {
            for (Method method : type.getDeclaredMethods()) {
                delegate(writer, name, above, method, done);
            }
        }
        for (Method method : layer.getMethods()) { // what interfaces have by default
            if (method.getDeclaringClass() != Object.class) {
                delegate(writer, name, above, method, done);
            }
        }
        writer.visitEnd();
        return writer.toByteArray();
    }

    private static void delegate(ClassWriter writer, String name, String above, Method method, Set<String> done) {
        String type = Type.getMethodDescriptor(method);
        int fixed = Modifier.STATIC | Modifier.PRIVATE | Modifier.FINAL;
        if ((method.getModifiers() & fixed) != 0 || !done.add(method.getName() + type)) {
            return;
        }
        int visible = method.getModifiers() & (Modifier.PUBLIC | Modifier.PROTECTED);
        MethodVisitor code = writer.visitMethod(visible, method.getName(), type, null, null);
        code.visitCode();
        code.visitVarInsn(Opcodes.ALOAD, 0);
        code.visitFieldInsn(Opcodes.GETFIELD, name, INNER, "L" + above + ";");
        int slot = 1;
        for (Type each : Type.getArgumentTypes(type)) {
            code.visitVarInsn(each.getOpcode(Opcodes.ILOAD), slot);
            slot += each.getSize();
        }
        code.visitMethodInsn(Opcodes.INVOKEVIRTUAL, above, method.getName(), type, false);
        code.visitInsn(Type.getReturnType(type).getOpcode(Opcodes.IRETURN));
        code.visitMaxs(0, 0);
        code.visitEnd();
    }

    /** A class of delegates, with its fields. */
    static final class Delegate {
        private final Class<?> type;
        private final Field inner;
        private final Field channel;

        Delegate(Class<?> type) throws ReflectiveOperationException {
            this.type = type;
            this.inner = Reflection.field(type, INNER);
            this.channel = Reflection.field(type, CHANNEL);
        }
    }
}
