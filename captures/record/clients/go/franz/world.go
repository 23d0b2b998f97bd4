package main

import (
	"fmt"
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
	"kdissect.invalid/record/driver"
)

const (
	metadataTopic = "__cluster_metadata"
	stranger      = 99 // the id of a broker, voter and controller that does not exist
)

// joined is one classic group joined on the way, one per version of JoinGroup.
type joined struct {
	group, id  string
	generation int32
}

// world is what the requests are about: names, and what earlier answers said.
type world struct {
	version      int16
	controller   bool
	topic        string
	topicID      [16]byte
	clusterID    string
	group        string
	members      []joined
	producerID   int64
	epoch        int16
	subscription int32
	instance     [16]byte
	brokerEpoch  int64
	shareEpoch   int32
}

func newWorld(args *driver.Args) *world {
	return &world{
		controller:  args.Text("listener", "broker") == "controller",
		topic:       args.Text("topic", "raw"),
		clusterID:   args.Text("cluster-id", ""),
		group:       "raw-group",
		brokerEpoch: -1,
	}
}

// prepare makes the topic with the newest CreateTopics, writes to it, and learns its id and the cluster's.
func (w *world) prepare(on *wire, ranges map[int16][3]int16) {
	if w.controller {
		w.topicID[15] = 1 // the metadata topic's id is fixed: org.apache.kafka.common.Uuid.METADATA_TOPIC_ID
		return
	}
	create := kmsg.NewPtrCreateTopicsRequest()
	create.SetVersion(ranges[19][1])
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = w.topic, 1, 1
	create.Topics, create.TimeoutMillis = append(create.Topics, topic), 5000
	if answer, err := on.ask(create); err == nil {
		w.learn(answer)
	}
	for range 2 { // the second answer has the topic's leader
		w.exchange(on, 3, ranges[3][1])
	}
	for back := range int16(3) { // one of each kind of coordinator
		w.patient(on, 10, ranges[10][1]-back)
	}
}

// learn keeps what later requests need out of an answer.
func (w *world) learn(answer kmsg.Response) {
	switch of := answer.(type) {
	case *kmsg.MetadataResponse:
		w.learnMetadata(of)
	case *kmsg.JoinGroupResponse:
		w.learnMember(of)
	case *kmsg.InitProducerIDResponse:
		w.producerID, w.epoch = of.ProducerID, of.ProducerEpoch
	case *kmsg.EndTxnResponse:
		if of.Version >= 5 { // KIP-890: each transaction has an epoch of its own
			w.producerID, w.epoch = of.ProducerID, of.ProducerEpoch
		}
	case *kmsg.GetTelemetrySubscriptionsResponse:
		w.subscription, w.instance = of.SubscriptionID, of.ClientInstanceID
	case *kmsg.BrokerRegistrationResponse:
		w.brokerEpoch = of.BrokerEpoch
	}
}

func (w *world) learnMetadata(answer *kmsg.MetadataResponse) {
	if answer.ClusterID != nil {
		w.clusterID = *answer.ClusterID
	}
	if len(answer.Topics) == 1 && answer.Version >= 10 {
		w.topicID = answer.Topics[0].TopicID
	}
}

// learnMember keeps a member; an answer that only hands out an id (KIP-394) leaves the generation at -1.
func (w *world) learnMember(answer *kmsg.JoinGroupResponse) {
	w.members = append(w.members, joined{w.groupOf(w.version), answer.MemberID, answer.Generation})
}

func (w *world) groupOf(version int16) string { return fmt.Sprintf("%s-%d", w.group, version) }

// member is the one that joined with the same version as the current request, or a stranger.
func (w *world) member() joined {
	if len(w.members) == 0 {
		return joined{w.group, "nobody", 1}
	}
	return w.members[int(w.version)%len(w.members)]
}

// firstCode finds the first error code that is not zero anywhere in an answer.
func firstCode(answer kmsg.Response) int16 { return code(reflect.ValueOf(answer)) }

func code(value reflect.Value) int16 {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			return code(value.Elem())
		}
	case reflect.Slice:
		for i := range value.Len() {
			if found := code(value.Index(i)); found != 0 {
				return found
			}
		}
	case reflect.Struct:
		return codeOfFields(value)
	}
	return 0
}

func codeOfFields(value reflect.Value) int16 {
	for i := range value.NumField() {
		field := value.Field(i)
		if value.Type().Field(i).Name == "ErrorCode" && field.Int() != 0 {
			return int16(field.Int())
		}
		if found := code(field); found != 0 {
			return found
		}
	}
	return 0
}
