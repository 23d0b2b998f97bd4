// Every call of kafkajs's admin client, once.
import kafkajs from "kafkajs";
import { outcome } from "./driving.js";

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ConfigResourceTypes, ResourcePatternTypes } = kafkajs;

const rule = {
  resourceType: AclResourceTypes.TOPIC,
  resourceName: "managed",
  resourcePatternType: ResourcePatternTypes.LITERAL,
  principal: "User:reader",
  host: "*",
  operation: AclOperationTypes.READ,
  permissionType: AclPermissionTypes.ALLOW,
};

/** Call after call; what the broker refuses is printed. */
export async function administer(admin, options) {
  await admin.connect();
  for (const [name, call] of Object.entries(calls(admin, options.topic, options.group))) await outcome(name, call);
  await admin.disconnect();
}

function calls(admin, topic, groupId) {
  const resources = [
    { type: ConfigResourceTypes.TOPIC, name: topic, configEntries: [{ name: "retention.ms", value: "3600000" }] },
  ];
  const asked = [{ type: ConfigResourceTypes.TOPIC, name: topic, configNames: ["retention.ms"] }];
  return {
    createTopics: () => admin.createTopics({ topics: [{ topic, numPartitions: 2 }], waitForLeaders: true }),
    "createTopics again": () => admin.createTopics({ topics: [{ topic }] }),
    createPartitions: () => admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] }),
    listTopics: () => admin.listTopics(),
    fetchTopicMetadata: () => admin.fetchTopicMetadata({ topics: [topic] }),
    fetchTopicOffsets: () => admin.fetchTopicOffsets(topic),
    fetchTopicOffsetsByTimestamp: () => admin.fetchTopicOffsetsByTimestamp(topic, Date.now() - 3_600_000),
    setOffsets: () => admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: "0" }] }),
    resetOffsets: () => admin.resetOffsets({ groupId, topic, earliest: true }),
    fetchOffsets: () => admin.fetchOffsets({ groupId, topics: [topic] }),
    listGroups: () => admin.listGroups(),
    describeGroups: () => admin.describeGroups([groupId]),
    deleteGroups: () => admin.deleteGroups([groupId]),
    alterConfigs: () => admin.alterConfigs({ validateOnly: false, resources }),
    describeConfigs: () => admin.describeConfigs({ includeSynonyms: true, resources: asked }),
    createAcls: () => admin.createAcls({ acl: [rule] }),
    describeAcls: () => admin.describeAcls(rule),
    deleteAcls: () => admin.deleteAcls({ filters: [rule] }),
    describeCluster: () => admin.describeCluster(),
    alterPartitionReassignments: () =>
      admin.alterPartitionReassignments({ topics: [{ topic, partitionAssignment: [{ partition: 0, replicas: [1] }] }] }),
    listPartitionReassignments: () => admin.listPartitionReassignments({ topics: [{ topic, partitions: [0] }] }),
    deleteTopicRecords: () => admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: "0" }] }),
    deleteTopics: () => admin.deleteTopics({ topics: [topic] }),
  };
}
