package main

import (
	"context"
	"time"

	"github.com/segmentio/kafka-go"
	"kdissect.invalid/record/driver"
)

// step is one call and the name it is reported under.
type step struct {
	name string
	call func() error
}

// first drops the result of a call.
func first[T any](_ T, err error) error { return err }

// admin makes the admin calls the client has once; what the broker refuses is printed.
func admin(ctx context.Context, args *driver.Args) error {
	carrier, err := transport(args)
	if err != nil {
		return err
	}
	client := &kafka.Client{Addr: kafka.TCP(args.Bootstrap), Transport: carrier, Timeout: 8 * time.Second}
	topic, group := args.Text("topic", "managed"), args.Text("group", "managed-group")
	for _, steps := range [][]step{
		topicSteps(ctx, client, topic), groupSteps(ctx, client, topic, group),
		securitySteps(ctx, client), {{"DeleteTopics", func() error {
			return first(client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}}))
		}}},
	} {
		for _, one := range steps {
			driver.Outcome(one.name, one.call())
		}
	}
	return nil
}

func topicSteps(ctx context.Context, client *kafka.Client, topic string) []step {
	made := kafka.TopicConfig{Topic: topic, NumPartitions: 2, ReplicationFactor: 1}
	more := kafka.TopicPartitionsConfig{Name: topic, Count: 3}
	whole := kafka.AlterConfigRequestResource{
		ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
		Configs: []kafka.AlterConfigRequestConfig{{Name: "retention.ms", Value: "3600000"}},
	}
	changed := kafka.IncrementalAlterConfigsRequestResource{
		ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
		Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: "retention.ms", Value: "7200000"}},
	}
	about := kafka.DescribeConfigRequestResource{
		ResourceType: kafka.ResourceTypeTopic, ResourceName: topic, ConfigNames: []string{"retention.ms"},
	}
	replicas := []kafka.AlterPartitionReassignmentsRequestAssignment{{PartitionID: 0, BrokerIDs: []int{1}}}
	ends := []kafka.OffsetRequest{kafka.FirstOffsetOf(0), kafka.LastOffsetOf(0)}
	return []step{
		{"CreateTopics", func() error {
			return first(client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{made}}))
		}},
		{"ApiVersions", func() error { return first(client.ApiVersions(ctx, &kafka.ApiVersionsRequest{})) }},
		{"Metadata", func() error {
			return first(client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}}))
		}},
		{"CreatePartitions", func() error {
			request := &kafka.CreatePartitionsRequest{Topics: []kafka.TopicPartitionsConfig{more}}
			return first(client.CreatePartitions(ctx, request))
		}},
		{"AlterConfigs", func() error {
			request := &kafka.AlterConfigsRequest{Resources: []kafka.AlterConfigRequestResource{whole}}
			return first(client.AlterConfigs(ctx, request))
		}},
		{"IncrementalAlterConfigs", func() error {
			resources := []kafka.IncrementalAlterConfigsRequestResource{changed}
			return first(client.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{Resources: resources}))
		}},
		{"DescribeConfigs", func() error {
			request := &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{about}}
			return first(client.DescribeConfigs(ctx, request))
		}},
		{"ListOffsets", func() error {
			request := &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: ends}}
			return first(client.ListOffsets(ctx, request))
		}},
		{"ElectLeaders", func() error {
			return first(client.ElectLeaders(ctx, &kafka.ElectLeadersRequest{Topic: topic, Partitions: []int{0}}))
		}},
		{"AlterPartitionReassignments", func() error {
			request := &kafka.AlterPartitionReassignmentsRequest{Topic: topic, Assignments: replicas, Timeout: 5 * time.Second}
			return first(client.AlterPartitionReassignments(ctx, request))
		}},
		{"ListPartitionReassignments", func() error {
			request := &kafka.ListPartitionReassignmentsRequest{Timeout: 5 * time.Second}
			return first(client.ListPartitionReassignments(ctx, request))
		}},
	}
}
