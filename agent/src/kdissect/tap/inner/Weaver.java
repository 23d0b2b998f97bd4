package kdissect.tap.inner;

import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.HashMap;
import java.util.Map;
import kdissect.tap.EngineGate;
import kdissect.tap.Gate;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.FieldVisitor;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/**
 * Puts calls of Gate into the transport layers of kafka-clients 0.9 to 4, under whatever package they have been moved to; where asked,
 * also into TLS engines, and into Netty's handler, which knows whose an engine is. No method, field or frame changes.
 */
final class Weaver implements ClassFileTransformer {
    private static final String GATE = "kdissect/tap/Gate";
    private static final String ENGINE_GATE = "kdissect/tap/EngineGate";
    private static final String CHANNEL = "Ljava/nio/channels/SocketChannel;";
    private static final String ENGINE = "Ljavax/net/ssl/SSLEngine;";
    private static final String RESULT = "Ljavax/net/ssl/SSLEngineResult;";
    private static final String CONTEXT = "/ChannelHandlerContext;";
    private static final String BUFFER = "Ljava/nio/ByteBuffer;";
    private static final String SOME = "[" + BUFFER + "II";
    private static final String FILE = "Ljava/nio/channels/FileChannel;J";
    /** What is hooked, by the last part of the name of its class. */
    private static final Map<String, Target> TARGETS = new HashMap<>();
    private static final Target DELEGATE;

    static {
        // Methods that move plaintext themselves; the others of a class call these.
        String one = "(" + BUFFER + ")I";
        String all = "([" + BUFFER + ")J";
        String some = "(" + SOME + ")J";
        target(Kind.LAYER, "/common/network/SslTransportLayer", "read" + one, "write" + one);
        String[] every = {"read" + one, "read" + all, "read" + some, "write" + one, "write" + all, "write" + some,
            "transferFrom(" + FILE + "J)J"};
        target(Kind.LAYER, "/common/network/PlaintextTransportLayer", every);
        DELEGATE = new Target(Kind.LAYER, "", every);
        String wrap = "wrap(" + SOME + BUFFER + ")" + RESULT;
        target(Kind.ENGINE, "sun/security/ssl/SSLEngineImpl", wrap, "unwrap(" + BUFFER + SOME + ")" + RESULT);
        target(Kind.ENGINE, "/handler/ssl/ReferenceCountedOpenSslEngine", wrap, "unwrap(" + SOME + SOME + ")" + RESULT);
        target(Kind.HANDLER, "/handler/ssl/SslHandler");
    }

    /** What a class is. */
    private enum Kind {
        LAYER, ENGINE, HANDLER
    }

    private static final class Target {
        private final Kind kind;
        /** The end of its name; all of it where it begins without a slash. */
        private final String name;
        /** Methods that move bytes, with the places of their arguments that hold plaintext. */
        private final Map<String, Plaintext> moving = new HashMap<>();

        Target(Kind kind, String name, String... methods) {
            this.kind = kind;
            this.name = name;
            for (String method : methods) {
                moving.put(method, new Plaintext(method));
            }
        }

        /** Whether it is the class that was meant, where its name is all that is known. */
        static boolean isCertain(String name) {
            return name.startsWith("org/apache/kafka/") || name.startsWith("sun/");
        }
    }

    /** The arguments that hold plaintext: of transferFrom the file and the position, of an engine one run of buffers. */
    private static final class Plaintext {
        private final int slot;
        private final String type;

        Plaintext(String method) {
            String arguments = method.substring(method.indexOf('(') + 1, method.indexOf(')'));
            if (!method.endsWith(RESULT)) {
                type = arguments.startsWith(FILE) ? FILE : arguments;
                slot = 1;
            } else {
                type = SOME;
                int at = method.startsWith("wrap") ? 0 : arguments.lastIndexOf(SOME);
                int before = 1;
                for (Type each : Type.getArgumentTypes("(" + arguments.substring(0, at) + ")V")) {
                    before += each.getSize();
                }
                slot = before;
            }
        }
    }

    /** Why a class was left as it is; empty if none was. */
    volatile String problem = "";
    private final boolean engines;

    Weaver(boolean engines) {
        this.engines = engines;
    }

    private static void target(Kind kind, String name, String... methods) {
        TARGETS.put(name.substring(name.lastIndexOf('/')), new Target(kind, name, methods));
    }

    /** Whether a class is hooked; what is not asked for is not. */
    boolean isHooked(Class<?> type) {
        return target(type.getName().replace('.', '/')) != null;
    }

    /** Whether its bytes are hooked: Netty's handler says only whose they are. */
    boolean isTapped(Class<?> type) {
        Target target = target(type.getName().replace('.', '/'));
        return target != null && target.kind != Kind.HANDLER;
    }

    private Target target(String name) {
        int at = name.lastIndexOf('/');
        Target found = at < 0 ? null : TARGETS.get(name.substring(at));
        boolean isMeant = found != null && (found.kind == Kind.LAYER || engines)
                && (name.equals(found.name) || found.name.startsWith("/") && name.endsWith(found.name));
        return isMeant ? found : null;
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] code) {
        Target target = name == null ? null : target(name);
        if (target == null) {
            return null;
        }
        try {
            Class<?> gate = target.kind == Kind.LAYER ? Gate.class : EngineGate.class;
            if (Class.forName(gate.getName(), false, loader) != gate) {
                throw new IllegalStateException("its class loader does not see the agent");
            }
            return woven(name, code, target, engines);
        } catch (Throwable failure) {
            if (Target.isCertain(name)) {
                problem = name.replace('/', '.') + ": " + failure;
            }
            return null;
        }
    }

    /** The code of a class of delegates (Delegates), whose methods call one another never. */
    static byte[] wovenDelegate(String name, byte[] code) {
        return woven(name, code, DELEGATE, false);
    }

    private static byte[] woven(String name, byte[] code, Target target, boolean engines) {
        ClassReader reader = new ClassReader(code);
        Survey survey = new Survey(target);
        reader.accept(survey, ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
        if (!survey.isExpected()) {
            throw new IllegalStateException("not as in the releases that are known");
        }
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        reader.accept(new ClassVisitor(Opcodes.ASM9, writer) {
            @Override
            public MethodVisitor visitMethod(int access, String method, String type, String generic, String[] thrown) {
                MethodVisitor next = super.visitMethod(access, method, type, generic, thrown);
                if ((access & (Opcodes.ACC_STATIC | Opcodes.ACC_ABSTRACT)) != 0) {
                    return next;
                }
                Plaintext plaintext = target.moving.get(method + type);
                if (plaintext != null) {
                    return new Moves(next, name, survey, engines, plaintext, method, type);
                }
                if (target.kind == Kind.HANDLER && (method.startsWith("wrap") || method.startsWith("unwrap"))) {
                    return new Names(next, name, survey, engines);
                }
                boolean opens = method.equals("<init>");
                return target.kind == Kind.LAYER && (opens || method.equals("close") && type.equals("()V"))
                        ? new Ends(next, name, survey, engines, opens)
                        : next;
            }
        }, 0);
        return writer.toByteArray();
    }

    /** What the class has: fields with the channel, the engine, the context, and the methods to hook. */
    private static final class Survey extends ClassVisitor {
        private final Target target;
        private String channel;
        private String engine;
        private String context;
        private String contextType;
        private int found;

        Survey(Target target) {
            super(Opcodes.ASM9);
            this.target = target;
        }

        boolean isExpected() {
            boolean has = target.kind == Kind.ENGINE || target.kind == Kind.LAYER && channel != null
                    || target.kind == Kind.HANDLER && engine != null && context != null;
            return has && found == target.moving.size();
        }

        @Override
        public FieldVisitor visitField(int access, String name, String type, String generic, Object value) {
            if ((access & Opcodes.ACC_STATIC) != 0) {
                return null;
            }
            if (type.equals(CHANNEL)) {
                channel = name;
            } else if (type.equals(ENGINE)) {
                engine = name;
            } else if (type.endsWith(CONTEXT)) {
                context = name;
                contextType = type;
            }
            return null;
        }

        @Override
        public MethodVisitor visitMethod(int access, String name, String type, String generic, String[] thrown) {
            if (target.moving.containsKey(name + type) && (access & (Opcodes.ACC_STATIC | Opcodes.ACC_ABSTRACT)) == 0) {
                found++;
            }
            return null;
        }
    }

    /** Pushes what the class knows of the connection, calls Gate. */
    private abstract static class Hooks extends MethodVisitor {
        final String owner;
        final Survey survey;
        private final boolean engines;

        Hooks(MethodVisitor next, String owner, Survey survey, boolean engines) {
            super(Opcodes.ASM9, next);
            this.owner = owner;
            this.survey = survey;
            this.engines = engines;
        }

        final void push(String field, String type) {
            super.visitVarInsn(Opcodes.ALOAD, 0);
            super.visitFieldInsn(Opcodes.GETFIELD, owner, field, type);
        }

        /** The channel of a layer, the engine itself; gives its type. */
        final String pushConnection() {
            if (survey.target.kind == Kind.ENGINE) {
                super.visitVarInsn(Opcodes.ALOAD, 0);
                return ENGINE;
            }
            push(survey.channel, CHANNEL);
            return CHANNEL;
        }

        /** Where engines are hooked, say that this one is of a layer, which is told of by itself. */
        final void tellEngine() {
            if (engines && survey.target.kind == Kind.LAYER && survey.engine != null) {
                push(survey.engine, ENGINE);
                super.visitMethodInsn(Opcodes.INVOKESTATIC, ENGINE_GATE, "owned", "(" + ENGINE + ")V", false);
            }
        }

        final void call(String name, String type) {
            String gate = survey.target.kind == Kind.LAYER ? GATE : ENGINE_GATE;
            super.visitMethodInsn(Opcodes.INVOKESTATIC, gate, name, type, false);
        }
    }

    /** A constructor, told when it returns, or `close`, told when it begins. */
    private static final class Ends extends Hooks {
        private final boolean opens;

        Ends(MethodVisitor next, String owner, Survey survey, boolean engines, boolean opens) {
            super(next, owner, survey, engines);
            this.opens = opens;
        }

        @Override
        public void visitCode() {
            super.visitCode();
            if (!opens) {
                call("closed", "(" + pushConnection() + ")V");
            }
        }

        @Override
        public void visitInsn(int code) {
            if (opens && code == Opcodes.RETURN) {
                call("opened", "(" + pushConnection() + ")V");
                tellEngine();
            }
            super.visitInsn(code);
        }
    }

    /** A method of Netty's handler: tells whose the engine is. */
    private static final class Names extends Hooks {
        Names(MethodVisitor next, String owner, Survey survey, boolean engines) {
            super(next, owner, survey, engines);
        }

        @Override
        public void visitCode() {
            super.visitCode();
            push(survey.engine, ENGINE);
            push(survey.context, survey.contextType);
            call("owned", "(" + ENGINE + "Ljava/lang/Object;)V");
        }
    }

    /** A method that moves bytes: told when it begins, when it returns, and when it fails. */
    private static final class Moves extends Hooks {
        private final Label from = new Label();
        private final Label to = new Label();
        private final Plaintext plaintext;
        private final String type;
        private final boolean sends;

        Moves(MethodVisitor next, String owner, Survey survey, boolean engines, Plaintext plaintext, String name, String type) {
            super(next, owner, survey, engines);
            this.plaintext = plaintext;
            this.type = type;
            this.sends = !name.equals("read") && !name.equals("unwrap");
        }

        @Override
        public void visitCode() {
            super.visitCode();
            tellEngine();
            boolean isEngine = survey.target.kind == Kind.ENGINE;
            if (isEngine) {
                pushPlaintext();
                pushConnection();
                super.visitInsn(sends ? Opcodes.ICONST_1 : Opcodes.ICONST_0);
                call("before", "(" + plaintext.type + ENGINE + "Z)V");
            } else {
                pushConnection();
                pushPlaintext();
                call("before", "(" + CHANNEL + plaintext.type + ")V");
            }
            super.visitLabel(from);
        }

        private void pushPlaintext() {
            int slot = plaintext.slot;
            for (Type each : Type.getArgumentTypes("(" + plaintext.type + ")V")) {
                super.visitVarInsn(each.getOpcode(Opcodes.ILOAD), slot);
                slot += each.getSize();
            }
        }

        @Override
        public void visitInsn(int code) {
            if (code == Opcodes.IRETURN) {
                super.visitInsn(Opcodes.DUP);
                super.visitInsn(Opcodes.I2L);
                tell("after", "J");
            } else if (code == Opcodes.LRETURN) {
                super.visitInsn(Opcodes.DUP2);
                tell("after", "J");
            } else if (code == Opcodes.ARETURN) {
                super.visitInsn(Opcodes.DUP);
                tell("after", RESULT);
            }
            super.visitInsn(code);
        }

        @Override
        public void visitMaxs(int stack, int locals) {
            super.visitLabel(to);
            super.visitTryCatchBlock(from, to, to, null);
            Type[] parameters = Type.getArgumentTypes(type);
            Object[] frame = new Object[parameters.length + 1];
            frame[0] = owner;
            for (int index = 0; index < parameters.length; index++) {
                frame[index + 1] = inFrame(parameters[index]);
            }
            super.visitFrame(Opcodes.F_FULL, frame.length, frame, 1, new Object[] {"java/lang/Throwable"});
            super.visitInsn(Opcodes.DUP);
            tell("failed", "Ljava/lang/Throwable;");
            super.visitInsn(Opcodes.ATHROW);
            super.visitMaxs(stack, locals);
        }

        private void tell(String name, String first) {
            String connection = pushConnection();
            super.visitInsn(sends ? Opcodes.ICONST_1 : Opcodes.ICONST_0);
            call(name, "(" + first + connection + "Z)V");
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
