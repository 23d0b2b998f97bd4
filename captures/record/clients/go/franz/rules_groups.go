package main

import "github.com/twmb/franz-go/pkg/kmsg"

func init() {
	for key, set := range groupRules {
		rules[key] = set
	}
}

const memberUUID = "a2bIYkWhS06B7KQnDbZxVQ" // KIP-1082: members choose their ids, as Kafka writes UUIDs

// groupRules are those of the groups whose coordinator assigns: consumer (KIP-848), share (KIP-932), streams (KIP-1071).
var groupRules = map[int16]rule{
	68: of(func(w *world, r *kmsg.ConsumerGroupHeartbeatRequest) {
		r.Group, r.MemberID, r.MemberEpoch = "raw-consumer", memberUUID, 0
		r.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{} // empty, not null: a member that joins owns nothing
		r.InstanceID, r.SubscribedTopicRegex, r.ServerAssignor = nil, nil, kmsg.StringPtr("uniform")
		if r.Version == 0 { // the coordinator chooses the id
			r.Group, r.MemberID = "raw-consumer-0", ""
		}
	}),
	69: of(func(w *world, r *kmsg.ConsumerGroupDescribeRequest) { r.Groups = []string{"raw-consumer"} }),
	71: of(func(w *world, r *kmsg.GetTelemetrySubscriptionsRequest) { r.ClientInstanceID = [16]byte{} }),
	72: of(func(w *world, r *kmsg.PushTelemetryRequest) {
		r.ClientInstanceID, r.SubscriptionID, r.Metrics, r.Terminating = w.instance, w.subscription, nil, true
	}),
	76: of(func(w *world, r *kmsg.ShareGroupHeartbeatRequest) {
		r.GroupID, r.MemberID, r.MemberEpoch = "raw-share", memberUUID, 0
	}),
	77: of(func(w *world, r *kmsg.ShareGroupDescribeRequest) { r.GroupIDs = []string{"raw-share"} }),
	78: of(func(w *world, r *kmsg.ShareFetchRequest) {
		r.GroupID, r.MemberID = kmsg.StringPtr("raw-share"), kmsg.StringPtr(memberUUID)
		r.ShareSessionEpoch, r.MaxRecords, r.BatchSize, r.ForgottenTopicsData = w.shareEpoch, 10, 10, nil
		r.Topics[0].Partitions[0].AcknowledgementBatches = nil
		w.shareEpoch++
	}),
	79: of(func(w *world, r *kmsg.ShareAcknowledgeRequest) {
		r.GroupID, r.MemberID = kmsg.StringPtr("raw-share"), kmsg.StringPtr(memberUUID)
		r.ShareSessionEpoch = w.shareEpoch
		r.Topics[0].Partitions[0].AcknowledgementBatches[0].AcknowledgeTypes = []int8{1}
		w.shareEpoch++
	}),
	88: of(func(w *world, r *kmsg.StreamsGroupHeartbeatRequest) {
		r.Group, r.MemberID, r.MemberEpoch, r.InstanceID = "raw-streams", memberUUID, 0, nil
		r.ActiveTasks, r.StandbyTasks, r.WarmupTasks = []kmsg.TaskIDs{}, []kmsg.TaskIDs{}, []kmsg.TaskIDs{}
		r.TaskOffsets, r.TaskEndOffsets = []kmsg.TaskOffset{}, []kmsg.TaskOffset{}
		r.Topology.Epoch = 1
		r.Topology.Subtopologies = []kmsg.StreamsGroupHeartbeatRequestTopologySubtopology{w.subtopology()}
	}),
	89: of(func(w *world, r *kmsg.StreamsGroupDescribeRequest) {
		r.Groups, r.IncludeTopologyDescription = []string{"raw-streams"}, true
	}),
	90: of(func(w *world, r *kmsg.DescribeShareGroupOffsetsRequest) { r.Groups[0].GroupID = "raw-share-offsets" }),
	91: of(func(w *world, r *kmsg.AlterShareGroupOffsetsRequest) { r.GroupID = "raw-share-offsets" }),
	92: of(func(w *world, r *kmsg.DeleteShareGroupOffsetsRequest) { r.GroupID = "raw-share-offsets" }),
	93: of(func(w *world, r *kmsg.StreamsGroupTopologyDescriptionUpdateRequest) {
		r.Group, r.MemberID, r.TopologyEpoch = "raw-streams", memberUUID, 1
	}),
}

// subtopology reads the topic and keeps its counts in one store with a changelog.
func (w *world) subtopology() kmsg.StreamsGroupHeartbeatRequestTopologySubtopology {
	part := kmsg.NewStreamsGroupHeartbeatRequestTopologySubtopology()
	part.SubtopologyID, part.SourceTopics, part.SourceTopicRegex = "0", []string{w.topic}, []string{}
	changelog := kmsg.NewTopicInfo()
	changelog.Topic, changelog.Configs = "raw-streams-counts-changelog", []kmsg.TopicInfoConfig{}
	part.StateChangelogTopics = []kmsg.TopicInfo{changelog}
	part.RepartitionSinkTopics, part.RepartitionSourceTopics = []string{}, []kmsg.TopicInfo{}
	part.CopartitionGroups = []kmsg.StreamsGroupHeartbeatRequestTopologySubtopologyCopartitionGroup{}
	return part
}
