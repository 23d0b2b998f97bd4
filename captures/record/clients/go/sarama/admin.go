package main

import (
	"context"

	"github.com/IBM/sarama"
	"kdissect.invalid/record/driver"
)

// step is one admin call and the name it is reported under.
type step struct {
	name string
	call func() error
}

// admin makes every call the admin client has once; what the broker refuses is printed.
func admin(_ context.Context, args *driver.Args) error {
	config, err := settings(args)
	if err != nil {
		return err
	}
	client, err := sarama.NewClusterAdmin(addresses(args), config)
	if err != nil {
		return err
	}
	defer client.Close()
	topic, group := args.Text("topic", "managed"), args.Text("group", "managed-group")
	for _, steps := range [][]step{topicSteps(client, topic), groupSteps(client, topic, group), clusterSteps(client, topic)} {
		for _, one := range steps {
			driver.Outcome(one.name, one.call())
		}
	}
	driver.Outcome("DeleteTopic", client.DeleteTopic(topic))
	return nil
}

// first drops the result of a call.
func first[T any](_ T, err error) error { return err }

func topicSteps(client sarama.ClusterAdmin, topic string) []step {
	hour := "3600000"
	detail := &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1}
	changed := map[string]sarama.IncrementalAlterConfigsEntry{
		"retention.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &hour},
	}
	about := sarama.ConfigResource{Type: sarama.TopicResource, Name: topic, ConfigNames: []string{"retention.ms"}}
	newest := map[string]map[int32]int64{topic: {0: sarama.OffsetNewest}}
	return []step{
		{"CreateTopic", func() error { return client.CreateTopic(topic, detail, false) }},
		{"CreateTopic again", func() error { return client.CreateTopic(topic, detail, false) }},
		{"CreatePartitions", func() error { return client.CreatePartitions(topic, 3, nil, false) }},
		{"ListTopics", func() error { return first(client.ListTopics()) }},
		{"DescribeTopics", func() error { return first(client.DescribeTopics([]string{topic})) }},
		{"AlterConfig", func() error {
			return client.AlterConfig(sarama.TopicResource, topic, map[string]*string{"retention.ms": &hour}, false)
		}},
		{"IncrementalAlterConfig", func() error {
			return client.IncrementalAlterConfig(sarama.TopicResource, topic, changed, false)
		}},
		{"DescribeConfig", func() error { return first(client.DescribeConfig(about)) }},
		{"ListOffsets", func() error { return first(client.ListOffsets(newest, nil)) }},
		{"DeleteRecords", func() error { return client.DeleteRecords(topic, map[int32]int64{0: 0}) }},
	}
}

func groupSteps(client sarama.ClusterAdmin, topic, group string) []step {
	offsets := map[string]map[int32]sarama.OffsetAndMetadata{topic: {0: {Offset: 0, LeaderEpoch: -1}}}
	asked := map[string][]int32{topic: {0}}
	return []step{
		{"AlterConsumerGroupOffsets", func() error { return first(client.AlterConsumerGroupOffsets(group, offsets, nil)) }},
		{"ListConsumerGroupOffsets", func() error { return first(client.ListConsumerGroupOffsets(group, asked)) }},
		{"ListConsumerGroupOffsetsBatch", func() error {
			return first(client.ListConsumerGroupOffsetsBatch(map[string]map[string][]int32{group: asked}))
		}},
		{"ListConsumerGroups", func() error { return first(client.ListConsumerGroups()) }},
		{"DescribeConsumerGroups", func() error { return first(client.DescribeConsumerGroups([]string{group})) }},
		{"RemoveMemberFromConsumerGroup", func() error {
			return first(client.RemoveMemberFromConsumerGroup(group, []string{"nobody"}))
		}},
		{"DeleteConsumerGroupOffset", func() error { return client.DeleteConsumerGroupOffset(group, topic, 0) }},
		{"DeleteConsumerGroup", func() error { return client.DeleteConsumerGroup(group) }},
	}
}
