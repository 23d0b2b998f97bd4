package main

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fill gives every field of a request a sensible value: by the field's name, then by the API's own rule.
//
// Fields that the version does not have are left out by kmsg when it writes.
func (w *world) fill(request kmsg.Request) {
	w.fillValue(reflect.ValueOf(request).Elem())
	if rule, there := rules[request.Key()]; there {
		rule(w, request)
	}
}

func (w *world) fillValue(value reflect.Value) {
	if defaults, can := value.Addr().Interface().(interface{ Default() }); can {
		version := value.FieldByName("Version")
		kept := int64(0)
		if version.IsValid() {
			kept = version.Int()
		}
		defaults.Default()
		if version.IsValid() {
			version.SetInt(kept)
		}
	}
	for i := range value.NumField() {
		if name := value.Type().Field(i).Name; name != "Version" && name != "UnknownTags" {
			w.fillField(name, value.Field(i))
		}
	}
}

func (w *world) fillField(name string, field reflect.Value) {
	if known, there := w.named(name); there && assign(field, reflect.ValueOf(known)) {
		return
	}
	switch field.Kind() {
	case reflect.Struct:
		w.fillValue(field)
	case reflect.String:
		field.SetString("raw")
	case reflect.Pointer:
		made := reflect.New(field.Type().Elem())
		w.fillField(name, made.Elem())
		field.Set(made)
	case reflect.Slice:
		w.fillSlice(name, field)
	}
}

// fillSlice puts one element in; bytes become the text `raw`.
func (w *world) fillSlice(name string, field reflect.Value) {
	if field.Type().Elem().Kind() == reflect.Uint8 {
		field.SetBytes([]byte("raw"))
		return
	}
	made := reflect.New(field.Type().Elem()).Elem()
	w.fillField(name, made)
	field.Set(reflect.Append(reflect.Zero(field.Type()), made))
}

// assign sets a field to a value of its own type, a number of another width, or a pointer to it.
func assign(field, value reflect.Value) bool {
	switch {
	case value.Type().AssignableTo(field.Type()):
		field.Set(value)
	case field.Kind() == reflect.Pointer && value.Type().AssignableTo(field.Type().Elem()):
		field.Set(reflect.New(field.Type().Elem()))
		field.Elem().Set(value)
	case field.CanInt() && value.CanInt():
		field.SetInt(value.Int())
	case field.CanUint() && value.CanInt():
		field.SetUint(uint64(value.Int()))
	default:
		return false
	}
	return true
}

// named is the value of a field by its name alone.
func (w *world) named(name string) (any, bool) {
	value, there := constants[name]
	if there {
		return value, true
	}
	switch name {
	case "Topic", "TopicNames", "SubscribedTopicNames":
		return w.topic, true
	case "TopicID":
		return w.topicID, true
	case "ClusterID":
		return w.clusterID, true
	case "Group", "GroupID", "CoordinatorKey", "Groups", "GroupIDs", "CoordinatorKeys":
		return w.group, true
	case "ProducerID":
		return w.producerID, true
	case "ProducerEpoch":
		return int(w.epoch), true
	case "BrokerEpoch":
		return w.brokerEpoch, true
	}
	return nil, false
}

// constants are the values of fields that are the same in every request.
var constants = map[string]any{
	"TransactionID": "raw-tx", "TransactionalID": "raw-tx", "TransactionalIDs": "raw-tx",
	"Partition": 0, "ReplicaID": -1, "ID": -1, "Epoch": -1, "MaxWaitMillis": 100, "MinBytes": 1, "MaxBytes": 65536,
	"PartitionMaxBytes": 4096, "CurrentLeaderEpoch": -1, "LastFetchedEpoch": -1, "SessionEpoch": -1,
	"TimeoutMillis": 2000, "Acks": 1, "Host": "127.0.0.1", "Port": 9, "ListenerName": "PLAINTEXT", "Name": "raw",
	"BrokerID": stranger, "VoterID": stranger, "CandidateID": stranger, "LeaderID": stranger, "ControllerID": stranger,
	"Leader": stranger, "ISR": stranger, "Replicas": 1, "NewISR": stranger, "MemberID": "nobody", "Generation": -1,
	"LeaderEpoch": 0, "Timestamp": -1, "MaxNumOffsets": 1, "SASLAuthBytes": []byte("\x00raw\x00raw-pw"), "Mechanism": "PLAIN",
	"ClientSoftwareName": "kmsg", "ClientSoftwareVersion": "1.15.0", "NodeID": -1,
	"SessionTimeoutMillis": 10000, "RebalanceTimeoutMillis": 5000, "TransactionTimeoutMillis": 10000,
	"RetentionTimeMillis": -1, "AllowAutoTopicCreation": false, "Dir": "/nowhere", "MaxLifetimeMillis": 3600000,
}
