package main

import (
	"encoding/base64"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// settling is how long the coordinator takes to end a transaction: before that it answers CONCURRENT_TRANSACTIONS.
const settling = 300 * time.Millisecond

// rule corrects what the names of the fields do not say.
type rule = func(w *world, request kmsg.Request)

// of turns a function over one kind of request into a rule.
func of[R kmsg.Request](set func(w *world, request R)) rule {
	return func(w *world, request kmsg.Request) { set(w, request.(R)) }
}

var rules = map[int16]rule{
	0: of(func(w *world, r *kmsg.ProduceRequest) {
		r.TransactionID = nil
		r.Topics[0].Partitions[0].Records = records(r.Version)
	}),
	1: of(func(w *world, r *kmsg.FetchRequest) {
		r.ForgottenTopics, r.Rack = nil, ""
		r.Topics[0].Partitions[0].ReplicaDirectoryID = [16]byte{}
		w.metadataFetch(r)
	}),
	3: of(func(w *world, r *kmsg.MetadataRequest) {
		r.Topics[0].TopicID = [16]byte{}
	}),
	8: of(func(w *world, r *kmsg.OffsetCommitRequest) {
		r.MemberID, r.InstanceID = "", nil
	}),
	9: of(func(w *world, r *kmsg.OffsetFetchRequest) {
		r.Groups[0].MemberID, r.Groups[0].MemberEpoch = nil, -1
	}),
	10: of(findCoordinator),
	11: of(joinGroup),
	12: of(func(w *world, r *kmsg.HeartbeatRequest) {
		m := w.member()
		r.Group, r.MemberID, r.Generation, r.InstanceID = m.group, m.id, m.generation, nil
	}),
	13: of(func(w *world, r *kmsg.LeaveGroupRequest) {
		m := w.member()
		r.Group, r.MemberID = m.group, m.id
		r.Members[0].MemberID, r.Members[0].InstanceID = m.id, nil
	}),
	14: of(func(w *world, r *kmsg.SyncGroupRequest) {
		m := w.member()
		r.Group, r.MemberID, r.Generation, r.InstanceID = m.group, m.id, m.generation, nil
		r.ProtocolType, r.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
		r.GroupAssignment[0].MemberID, r.GroupAssignment[0].MemberAssignment = m.id, assignment(w)
	}),
	15: of(func(w *world, r *kmsg.DescribeGroupsRequest) { r.Groups = []string{w.member().group} }),
	16: of(func(w *world, r *kmsg.ListGroupsRequest) { r.StatesFilter, r.TypesFilter = []string{"Stable"}, nil }),
	18: of(func(w *world, r *kmsg.ApiVersionsRequest) { r.ClusterID = nil }),
	19: of(func(w *world, r *kmsg.CreateTopicsRequest) {
		topic := &r.Topics[0]
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = w.made(r.Version), 1, 1
		topic.ReplicaAssignment = nil
		topic.Configs[0].Name, topic.Configs[0].Value = "retention.ms", kmsg.StringPtr("3600000")
	}),
	20: of(func(w *world, r *kmsg.DeleteTopicsRequest) {
		r.TopicNames = []string{w.made(r.Version)}
		r.Topics[0].Topic, r.Topics[0].TopicID = kmsg.StringPtr(w.made(r.Version)), [16]byte{}
	}),
	22: of(func(w *world, r *kmsg.InitProducerIDRequest) { r.ProducerID, r.ProducerEpoch = -1, -1 }),
	26: of(func(w *world, r *kmsg.EndTxnRequest) { time.Sleep(settling) }),
	27: of(func(w *world, r *kmsg.WriteTxnMarkersRequest) {
		r.Markers[0].ProducerID, r.Markers[0].ProducerEpoch = 4242, 0
	}),
	28: of(func(w *world, r *kmsg.TxnOffsetCommitRequest) { r.MemberID, r.InstanceID = "", nil }),
	42: of(func(w *world, r *kmsg.DeleteGroupsRequest) { r.Groups = []string{w.groupOf(r.Version)} }),
}

// made is the name of the topic that one version of CreateTopics makes and DeleteTopics deletes.
func (w *world) made(version int16) string {
	if w.controller {
		return fmt.Sprintf("raw-controller-%d", version)
	}
	return fmt.Sprintf("raw-made-%d", version)
}

// metadataFetch makes a Fetch to a controller one of the metadata log, by an observer that asks from offset 0.
func (w *world) metadataFetch(r *kmsg.FetchRequest) {
	if !w.controller {
		r.ClusterID = nil
		return
	}
	if r.ReplicaID = stranger; r.Version >= 15 { // KIP-903; kmsg would write the tag into older versions too
		r.ReplicaState.ID = stranger
	}
	r.Topics[0].Topic = metadataTopic
	r.Topics[0].Partitions[0].CurrentLeaderEpoch = 1 // that of the first leader
	r.Topics[0].Partitions[0].LastFetchedEpoch = 0
}

func joinGroup(w *world, r *kmsg.JoinGroupRequest) {
	r.Group, r.MemberID, r.InstanceID, r.ProtocolType = w.groupOf(r.Version), "", nil, "consumer"
	metadata := kmsg.NewConsumerMemberMetadata()
	metadata.Topics = []string{w.topic}
	r.Protocols[0].Name, r.Protocols[0].Metadata = "range", metadata.AppendTo(nil)
	if r.Version >= 4 { // KIP-394: with the id of a static member one request is enough
		r.InstanceID = instance(r.Version)
	}
}

// instance makes members static from the version on that has the field.
func instance(version int16) *string {
	if version < 5 {
		return nil
	}
	return kmsg.StringPtr("raw-static")
}

func assignment(w *world) []byte {
	made := kmsg.NewConsumerMemberAssignment()
	topic := kmsg.NewConsumerMemberAssignmentTopic()
	topic.Topic, topic.Partitions = w.topic, []int32{0}
	made.Topics = append(made.Topics, topic)
	return made.AppendTo(nil)
}

// findCoordinator asks for groups, transactions (from v1 on) and, in the newest version, shares in turn.
func findCoordinator(w *world, r *kmsg.FindCoordinatorRequest) {
	r.CoordinatorType = int8(r.Version % 2)
	if r.CoordinatorType == 1 {
		r.CoordinatorKey, r.CoordinatorKeys = "raw-tx", []string{"raw-tx"}
	}
	if r.Version == 6 { // KIP-932: the key of a share partition is group:topic id:partition
		r.CoordinatorType = 2
		id := base64.RawURLEncoding.EncodeToString(w.topicID[:])
		r.CoordinatorKeys = []string{w.group + ":" + id + ":0"}
	}
}
