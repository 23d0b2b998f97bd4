package main

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"kdissect.invalid/record/driver"

	"github.com/twmb/franz-go/pkg/kgo"
)

var settings = map[string]*string{"cleanup.policy": kadm.StringPtr("compact"), "segment.bytes": kadm.StringPtr("1048576")}

var retention = []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: kadm.StringPtr("3600000")}}

var topicSteps = []step{
	{"CreateTopic", func(ctx context.Context, on target) error {
		_, err := on.CreateTopic(ctx, 2, 1, settings, on.topic)
		return err
	}},
	{"CreateTopic again", func(ctx context.Context, on target) error {
		_, err := on.CreateTopic(ctx, 2, 1, nil, on.topic)
		return err
	}},
	{"ValidateCreateTopics", func(ctx context.Context, on target) error {
		_, err := on.ValidateCreateTopics(ctx, 1, 1, nil, on.topic+"-checked")
		return err
	}},
	{"write", func(ctx context.Context, on target) error {
		return fill(ctx, on)
	}},
	{"ListTopics", func(ctx context.Context, on target) error {
		_, err := on.ListTopics(kadm.WithAuthorizedOps(ctx), on.topic, "no-such-topic")
		return err
	}},
	{"CreatePartitions", func(ctx context.Context, on target) error {
		_, err := on.CreatePartitions(ctx, 1, on.topic)
		return err
	}},
	{"DescribeTopicConfigs", func(ctx context.Context, on target) error {
		_, err := on.DescribeTopicConfigs(ctx, on.topic)
		return err
	}},
	{"AlterTopicConfigs", func(ctx context.Context, on target) error {
		_, err := on.AlterTopicConfigs(ctx, retention, on.topic)
		return err
	}},
	{"AlterTopicConfigsState", func(ctx context.Context, on target) error {
		_, err := on.AlterTopicConfigsState(ctx, retention, on.topic)
		return err
	}},
	{"ListStartOffsets", func(ctx context.Context, on target) error {
		_, err := on.ListStartOffsets(ctx, on.topic)
		return err
	}},
	{"ListCommittedOffsets", func(ctx context.Context, on target) error {
		_, err := on.ListCommittedOffsets(ctx, on.topic)
		return err
	}},
	{"ListMaxTimestampOffsets", func(ctx context.Context, on target) error {
		_, err := on.ListMaxTimestampOffsets(ctx, on.topic)
		return err
	}},
	{"ListOffsetsAfterMilli", func(ctx context.Context, on target) error {
		_, err := on.ListOffsetsAfterMilli(ctx, time.Now().Add(-time.Hour).UnixMilli(), on.topic)
		return err
	}},
	{"OffsetForLeaderEpoch", func(ctx context.Context, on target) error {
		_, err := on.OffsetForLeaderEpoch(ctx, kadm.OffsetForLeaderEpochRequest{on.topic: {0: 0}})
		return err
	}},
	{"DeleteRecords", func(ctx context.Context, on target) error {
		_, err := on.DeleteRecords(ctx, offsets(on, 1))
		return err
	}},
	{"DescribeProducers", func(ctx context.Context, on target) error {
		_, err := on.DescribeProducers(ctx, ofTopic(on))
		return err
	}},
}

// fill writes three records to the topic, so that there is something to list and delete.
func fill(ctx context.Context, on target) error {
	producer, err := kgo.NewClient(on.addresses(ctx), kgo.ClientID("franz-fill"), kgo.DisableClientMetrics(),
		kgo.DisableIdempotentWrite(), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer producer.Close()
	for _, key := range []string{"a", "b", "c"} {
		record := &kgo.Record{Topic: on.topic, Key: []byte(key), Value: []byte("filled")}
		results := producer.ProduceSync(ctx, record)
		if err := results.FirstErr(); err != nil {
			return err
		}
		driver.Sent(neutral(results[0].Record))
	}
	return nil
}

func (on target) addresses(ctx context.Context) kgo.Opt {
	brokers, err := on.ListBrokers(ctx)
	if err != nil || len(brokers) == 0 {
		return kgo.SeedBrokers()
	}
	return kgo.SeedBrokers(kadm.BrokerDetails(brokers)[0].Host + ":" + port(brokers[0].Port))
}
