package kdissect.tap.inner;

import java.lang.instrument.Instrumentation;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Fields and methods that are not public, of Kafka's classes and of the JVM's own. */
final class Reflection {
    private Reflection() {
    }

    /** Open packages of the JVM's modules to the agent: `names` has a class of each package. Java 8 has no modules. */
    static void open(Instrumentation jvm, String... names) throws ReflectiveOperationException {
        Method moduleOf;
        try {
            moduleOf = Class.class.getMethod("getModule");
        } catch (NoSuchMethodException java8) {
            return;
        }
        Class<?> module = Class.forName("java.lang.Module");
        Object own = moduleOf.invoke(Reflection.class);
        Method redefine = Instrumentation.class.getMethod("redefineModule", module, Set.class, Map.class, Map.class, Set.class, Map.class);
        for (String name : names) {
            Map<String, Set<?>> opens = new HashMap<>();
            opens.put(name.substring(0, name.lastIndexOf('.')), Collections.singleton(own));
            redefine.invoke(jvm, moduleOf.invoke(Class.forName(name)), Collections.emptySet(), Collections.emptyMap(), opens,
                    Collections.emptySet(), Collections.emptyMap());
        }
    }

    /** A field of a class or of a superclass. Raises NoSuchFieldException. */
    static Field field(Class<?> type, String name) throws NoSuchFieldException {
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            try {
                return accessible(each.getDeclaredField(name));
            } catch (NoSuchFieldException above) {
                continue;
            }
        }
        throw new NoSuchFieldException(type.getName() + "." + name);
    }

    /** Fields that refer to objects, of a class and of its superclasses; without those of the JVM's own classes. */
    static List<Field> references(Class<?> type) {
        List<Field> found = new ArrayList<>();
        for (Class<?> each = type; each != null && each.getClassLoader() != null; each = each.getSuperclass()) {
            for (Field field : each.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers()) && !field.getType().isPrimitive()) {
                    add(field, found);
                }
            }
        }
        return found;
    }

    private static void add(Field field, List<Field> found) {
        try {
            found.add(accessible(field));
        } catch (RuntimeException closed) {
            return; // its module opens it to nobody
        }
    }

    static <T extends AccessibleObject> T accessible(T member) {
        member.setAccessible(true);
        return member;
    }
}
