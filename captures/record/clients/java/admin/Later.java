import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Collections;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** Calls whose classes came, went or changed names between 1.0 and 4.4: made by reflection where the client has them. */
final class Later {
    private static final String ADMIN = "org.apache.kafka.clients.admin.";
    private static final String COMMON = "org.apache.kafka.common.";

    private Later() {}

    static KafkaFuture<?> future(Object result, String... names) throws Exception {
        for (String name : names) {
            try {
                Method method = result.getClass().getMethod(name);
                method.setAccessible(true);
                return (KafkaFuture<?>) method.invoke(result);
            } catch (NoSuchMethodException next) {
                continue;
            }
        }
        throw new NoSuchMethodException(String.join("/", names));
    }

    @SuppressWarnings("unchecked")
    static KafkaFuture<Object> named(Object result) throws Exception {
        return (KafkaFuture<Object>) future(result, "allTopicNames", "all");
    }

    @SuppressWarnings("unchecked")
    static KafkaFuture<Object> described(Object result) throws Exception {
        return (KafkaFuture<Object>) future(result, "allDescriptions", "all");
    }

    /** Call a method of the client with one argument, by name. */
    @SuppressWarnings("unchecked")
    private static void call(AdminClient admin, String name, Class<?> kind, Object argument, String... futures) {
        Tries.call(name, () -> {
            Object result = AdminClient.class.getMethod(name, kind).invoke(admin, argument);
            return (KafkaFuture<Object>) future(result, futures);
        });
    }

    @SuppressWarnings("unchecked")
    private static Object call(AdminClient admin, String name, String... futures) {
        return Tries.call(name, () -> (KafkaFuture<Object>) future(AdminClient.class.getMethod(name).invoke(admin), futures));
    }

    static void groups(AdminClient admin, String group) {
        call(admin, "listConsumerGroups", "all");
        call(admin, "describeConsumerGroups", Collection.class, Collections.singletonList(group), "all");
        call(admin, "listConsumerGroupOffsets", String.class, group, "partitionsToOffsetAndMetadata");
        call(admin, "deleteConsumerGroups", Collection.class, Collections.singletonList("absent-group"), "all");
    }

    static void records(AdminClient admin, String topic) {
        try {
            Object before = Class.forName(ADMIN + "RecordsToDelete").getMethod("beforeOffset", long.class).invoke(null, 0L);
            call(admin, "deleteRecords", java.util.Map.class, Collections.singletonMap(new TopicPartition(topic, 0), before), "all");
        } catch (ReflectiveOperationException absent) {
            Say.event("absent", "call", "deleteRecords");
        }
    }

    /** Create, renew and expire a delegation token: on a listener that authenticates. */
    static void tokens(AdminClient admin) throws Exception {
        Object token = call(admin, "createDelegationToken", "delegationToken");
        call(admin, "describeDelegationToken", "delegationTokens");
        byte[] mark = token == null ? new byte[] {1, 2} : (byte[]) token.getClass().getMethod("hmac").invoke(token);
        call(admin, "renewDelegationToken", byte[].class, mark, "expiryTimestamp");
        call(admin, "expireDelegationToken", byte[].class, mark, "expiryTimestamp");
    }

    /** Calls without arguments that came one by one from 2.7 to 4.1. */
    static void newer(AdminClient admin) {
        call(admin, "describeFeatures", "featureMetadata");
        call(admin, "listTransactions", "all");
        call(admin, "describeMetadataQuorum", "quorumInfo");
        call(admin, "listClientMetricsResources", "all");
        call(admin, "listConfigResources", "all");
        call(admin, "listGroups", "all");
        features(admin);
    }

    /** A feature that does not exist: the constructor of FeatureUpdate changed in 3.3. */
    private static void features(AdminClient admin) {
        try {
            Constructor<?> made = Class.forName(ADMIN + "FeatureUpdate").getConstructors()[0];
            for (Constructor<?> one : Class.forName(ADMIN + "FeatureUpdate").getConstructors()) {
                made = one.getParameterTypes()[1].isEnum() ? one : made;
            }
            Class<?> second = made.getParameterTypes()[1];
            Object how = second.isEnum() ? second.getField("UPGRADE").get(null) : Boolean.FALSE;
            Object wanted = Collections.singletonMap("no.such.feature", made.newInstance((short) 9, how));
            Class<?> options = Class.forName(ADMIN + "UpdateFeaturesOptions");
            Tries.call("updateFeatures", () -> all(AdminClient.class.getMethod("updateFeatures", java.util.Map.class, options)
                    .invoke(admin, wanted, options.getDeclaredConstructor().newInstance())));
        } catch (ReflectiveOperationException absent) {
            Say.event("absent", "call", "updateFeatures");
        }
    }

    @SuppressWarnings("unchecked")
    private static KafkaFuture<Object> all(Object result) throws Exception {
        return (KafkaFuture<Object>) future(result, "all");
    }

    /** Preferred leaders had a call of their own in 2.2 and 2.3. */
    @SuppressWarnings("unchecked")
    static void elect(AdminClient admin, String topic) {
        Collection<TopicPartition> first = Collections.singleton(new TopicPartition(topic, 0));
        call(admin, "electPreferredLeaders", Collection.class, first, "all");
        Tries.call("electLeaders", () -> {
            Class<?> kind = Class.forName(COMMON + "ElectionType");
            Object preferred = kind.getField("PREFERRED").get(null);
            Method method = AdminClient.class.getMethod("electLeaders", kind, java.util.Set.class);
            return (KafkaFuture<Object>) future(method.invoke(admin, preferred, first), "all");
        });
    }

    static void incremental(AdminClient admin, ConfigResource resource) {
        try {
            Class<?> entry = Class.forName(ADMIN + "ConfigEntry");
            Object one = entry.getConstructor(String.class, String.class).newInstance("retention.ms", "700000");
            Class<?> type = Class.forName(ADMIN + "AlterConfigOp$OpType");
            Object change = Class.forName(ADMIN + "AlterConfigOp").getConstructor(entry, type)
                    .newInstance(one, type.getField("SET").get(null));
            Object wanted = Collections.singletonMap(resource, Collections.singletonList(change));
            call(admin, "incrementalAlterConfigs", java.util.Map.class, wanted, "all");
        } catch (ReflectiveOperationException absent) {
            Say.event("absent", "call", "incrementalAlterConfigs");
        }
    }

    static void alterConfigs(AdminClient admin, ConfigResource resource) {
        try {
            Class<?> entry = Class.forName(ADMIN + "ConfigEntry");
            Object one = entry.getConstructor(String.class, String.class).newInstance("max.message.bytes", "123456");
            Object config = Class.forName(ADMIN + "Config").getConstructor(Collection.class)
                    .newInstance(Collections.singletonList(one));
            call(admin, "alterConfigs", java.util.Map.class, Collections.singletonMap(resource, config), "all");
        } catch (ReflectiveOperationException absent) {
            Say.event("absent", "call", "alterConfigs");
        }
    }

    /** Resources of ACLs were classes of their own before prefixes (2.0, KIP-290). */
    static void acls(AdminClient admin, String topic) {
        try {
            Class<?> type = Class.forName(COMMON + "resource.ResourceType");
            Object kind = type.getField("TOPIC").get(null);
            Object resource = resource(kind, topic, "resource.ResourcePattern", "resource.Resource");
            Object filter = resource(kind, null, "resource.ResourcePatternFilter", "resource.ResourceFilter");
            Object binding = first(COMMON + "acl.AclBinding").newInstance(resource, OldAdmin.entry());
            Object any = first(COMMON + "acl.AclBindingFilter").newInstance(filter, OldAdmin.anyEntry());
            call(admin, "createAcls", Collection.class, Collections.singletonList(binding), "all");
            call(admin, "describeAcls", any.getClass(), any, "values");
            call(admin, "deleteAcls", Collection.class, Collections.singletonList(any), "all");
        } catch (ReflectiveOperationException absent) {
            Say.event("absent", "call", "acls");
        }
    }

    private static Object resource(Object kind, String name, String newer, String older) throws ReflectiveOperationException {
        try {
            Class<?> pattern = Class.forName(COMMON + "resource.PatternType");
            Object how = pattern.getField(name == null ? "ANY" : "LITERAL").get(null);
            return Class.forName(COMMON + newer).getConstructors()[0].newInstance(kind, name, how);
        } catch (ClassNotFoundException before) {
            return Class.forName(COMMON + older).getConstructors()[0].newInstance(kind, name);
        }
    }

    private static Constructor<?> first(String name) throws ReflectiveOperationException {
        for (Constructor<?> constructor : Class.forName(name).getConstructors()) {
            if (!constructor.getParameterTypes()[0].getName().equals(COMMON + "resource.Resource")
                    && !constructor.getParameterTypes()[0].getName().equals(COMMON + "resource.ResourceFilter")
                    || constructor.getDeclaringClass().getConstructors().length == 1) {
                return constructor;
            }
        }
        throw new NoSuchMethodException(name);
    }
}
