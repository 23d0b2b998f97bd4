package kdissect.tap.inner;

import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import kdissect.tap.Gate;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.FieldVisitor;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/** Puts calls of Gate into Kafka's transport layers, of kafka-clients 0.9 to 4. No method, field or frame changes. */
final class Weaver implements ClassFileTransformer {
    private static final String NETWORK = "org/apache/kafka/common/network/";
    private static final String GATE = "kdissect/tap/Gate";
    private static final String CHANNEL = "Ljava/nio/channels/SocketChannel;";
    private static final String ONE = "(Ljava/nio/ByteBuffer;)I";
    private static final String ALL = "([Ljava/nio/ByteBuffer;)J";
    private static final String SOME = "([Ljava/nio/ByteBuffer;II)J";
    private static final String FILE = "transferFrom(Ljava/nio/channels/FileChannel;JJ)J";
    /** Methods that move plaintext themselves; the others of a class call these. */
    private static final Map<String, Set<String>> HOOKED = new HashMap<>();

    static {
        HOOKED.put(NETWORK + "SslTransportLayer", new HashSet<>(Arrays.asList("read" + ONE, "write" + ONE)));
        HOOKED.put(NETWORK + "PlaintextTransportLayer", new HashSet<>(Arrays.asList(
                "read" + ONE, "read" + ALL, "read" + SOME, "write" + ONE, "write" + ALL, "write" + SOME, FILE)));
    }

    /** Why a class was left as it is; empty if none was. */
    volatile String problem = "";

    static boolean isHooked(Class<?> type) {
        return HOOKED.containsKey(type.getName().replace('.', '/'));
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] code) {
        if (name == null || !HOOKED.containsKey(name)) {
            return null;
        }
        try {
            if (loader == null || Class.forName(Gate.class.getName(), false, loader) != Gate.class) {
                throw new IllegalStateException("its class loader does not see the agent");
            }
            return woven(name, code);
        } catch (Throwable failure) {
            problem = name.replace('/', '.') + ": " + failure;
            return null;
        }
    }

    static byte[] woven(String name, byte[] code) {
        Set<String> wanted = HOOKED.get(name);
        ClassReader reader = new ClassReader(code);
        Survey survey = new Survey(wanted);
        reader.accept(survey, ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
        if (survey.channel == null || survey.found != wanted.size()) {
            throw new IllegalStateException("not as in kafka-clients 0.9 to 4.4");
        }
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        reader.accept(new ClassVisitor(Opcodes.ASM9, writer) {
            @Override
            public MethodVisitor visitMethod(int access, String method, String type, String generic, String[] thrown) {
                MethodVisitor next = super.visitMethod(access, method, type, generic, thrown);
                if (wanted.contains(method + type)) {
                    return new Moves(next, name, survey.channel, method, type);
                }
                boolean opens = method.equals("<init>");
                return opens || method.equals("close") && type.equals("()V")
                        ? new Ends(next, name, survey.channel, opens)
                        : next;
            }
        }, 0);
        return writer.toByteArray();
    }

    /** What the class has: the field with the channel, the methods to hook. */
    private static final class Survey extends ClassVisitor {
        private final Set<String> wanted;
        private String channel;
        private int found;

        Survey(Set<String> wanted) {
            super(Opcodes.ASM9);
            this.wanted = wanted;
        }

        @Override
        public FieldVisitor visitField(int access, String name, String type, String generic, Object value) {
            if (type.equals(CHANNEL) && (access & Opcodes.ACC_STATIC) == 0) {
                channel = name;
            }
            return null;
        }

        @Override
        public MethodVisitor visitMethod(int access, String name, String type, String generic, String[] thrown) {
            if (wanted.contains(name + type) && (access & (Opcodes.ACC_STATIC | Opcodes.ACC_ABSTRACT)) == 0) {
                found++;
            }
            return null;
        }
    }

    /** Pushes the channel, calls Gate. */
    private abstract static class Hooks extends MethodVisitor {
        private final String owner;
        private final String channel;

        Hooks(MethodVisitor next, String owner, String channel) {
            super(Opcodes.ASM9, next);
            this.owner = owner;
            this.channel = channel;
        }

        final void pushChannel() {
            super.visitVarInsn(Opcodes.ALOAD, 0);
            super.visitFieldInsn(Opcodes.GETFIELD, owner, channel, CHANNEL);
        }

        final void call(String name, String type) {
            super.visitMethodInsn(Opcodes.INVOKESTATIC, GATE, name, type, false);
        }

        final String owner() {
            return owner;
        }
    }

    /** A constructor, told when it returns, or `close`, told when it begins. */
    private static final class Ends extends Hooks {
        private final boolean opens;

        Ends(MethodVisitor next, String owner, String channel, boolean opens) {
            super(next, owner, channel);
            this.opens = opens;
        }

        @Override
        public void visitCode() {
            super.visitCode();
            if (!opens) {
                pushChannel();
                call("closed", "(" + CHANNEL + ")V");
            }
        }

        @Override
        public void visitInsn(int code) {
            if (opens && code == Opcodes.RETURN) {
                pushChannel();
                call("opened", "(" + CHANNEL + ")V");
            }
            super.visitInsn(code);
        }
    }

    /** A method that moves bytes: told when it begins, when it returns, and when it fails. */
    private static final class Moves extends Hooks {
        private final Label from = new Label();
        private final Label to = new Label();
        private final String type;
        private final boolean sends;

        Moves(MethodVisitor next, String owner, String channel, String name, String type) {
            super(next, owner, channel);
            this.type = type;
            this.sends = !name.equals("read");
        }

        @Override
        public void visitCode() {
            super.visitCode();
            pushChannel();
            StringBuilder passed = new StringBuilder("(" + CHANNEL);
            int slot = 1;
            Type[] parameters = Type.getArgumentTypes(type);
            // Of transferFrom(file, position, count) the first two: how many were sent is what it returns.
            int count = type.startsWith("(Ljava/nio/channels/FileChannel;") ? 2 : parameters.length;
            for (int index = 0; index < count; index++) {
                super.visitVarInsn(parameters[index].getOpcode(Opcodes.ILOAD), slot);
                slot += parameters[index].getSize();
                passed.append(parameters[index].getDescriptor());
            }
            call("before", passed.append(")V").toString());
            super.visitLabel(from);
        }

        @Override
        public void visitInsn(int code) {
            if (code == Opcodes.IRETURN || code == Opcodes.LRETURN) {
                if (code == Opcodes.IRETURN) {
                    super.visitInsn(Opcodes.DUP);
                    super.visitInsn(Opcodes.I2L);
                } else {
                    super.visitInsn(Opcodes.DUP2);
                }
                tell("after", "(J");
            }
            super.visitInsn(code);
        }

        @Override
        public void visitMaxs(int stack, int locals) {
            super.visitLabel(to);
            super.visitTryCatchBlock(from, to, to, null);
            Type[] parameters = Type.getArgumentTypes(type);
            Object[] frame = new Object[parameters.length + 1];
            frame[0] = owner();
            for (int index = 0; index < parameters.length; index++) {
                frame[index + 1] = inFrame(parameters[index]);
            }
            super.visitFrame(Opcodes.F_FULL, frame.length, frame, 1, new Object[] {"java/lang/Throwable"});
            super.visitInsn(Opcodes.DUP);
            tell("failed", "(Ljava/lang/Throwable;");
            super.visitInsn(Opcodes.ATHROW);
            super.visitMaxs(stack, locals);
        }

        private void tell(String name, String first) {
            pushChannel();
            super.visitInsn(sends ? Opcodes.ICONST_1 : Opcodes.ICONST_0);
            call(name, first + CHANNEL + "Z)V");
        }

        private static Object inFrame(Type type) {
            switch (type.getSort()) {
                case Type.INT:
                    return Opcodes.INTEGER;
                case Type.LONG:
                    return Opcodes.LONG;
                default:
                    return type.getInternalName();
            }
        }
    }
}
