package main

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"kdissect.invalid/record/driver"
)

var answers = []struct {
	status kgo.AckStatus
	name   string
}{{kgo.AckAccept, "accept"}, {kgo.AckRelease, "release"}, {kgo.AckReject, "reject"}}

// share reads a topic as one member of a share group and accepts, releases and rejects records in turn.
func share(ctx context.Context, args *driver.Args) error {
	client, err := connect(args,
		kgo.ConsumeTopics(args.Text("topic", "story")),
		kgo.ShareGroup(args.Text("group", "share")),
		kgo.FetchMaxWait(300*time.Millisecond),
		kgo.HeartbeatInterval(time.Second),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := fromStart(ctx, client, args.Text("group", "share")); err != nil {
		driver.Failed("group config", err)
	}
	for round := range args.Int("rounds", 2) {
		acknowledge(read(ctx, client, args.Int("count", 6), 4*time.Second), round)
		if err := client.FlushAcks(ctx); err != nil {
			driver.Failed("acknowledge", err)
		}
	}
	id, _ := client.GroupMetadata()
	driver.Emit("joined", driver.Event{"group": args.Text("group", "share"), "member": id})
	return client.LeaveGroupContext(ctx)
}

// fromStart makes the group read from the start of its topics, which is a setting of the group on the broker.
func fromStart(ctx context.Context, client *kgo.Client, group string) error {
	config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	config.Name, config.Value = "share.auto.offset.reset", kmsg.StringPtr("earliest")
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
	resource.Configs = append(resource.Configs, config)
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	request.Resources = append(request.Resources, resource)
	_, err := request.RequestWith(ctx, client)
	return err
}

// acknowledge answers records differently in the first round and accepts all in the later ones.
func acknowledge(records []*kgo.Record, round int) {
	for i, record := range records {
		answer := answers[0]
		if round == 0 {
			answer = answers[i%len(answers)]
		}
		record.Ack(answer.status)
		driver.Emit("acknowledged", driver.Event{
			"topic": record.Topic, "partition": record.Partition, "offset": record.Offset, "as": answer.name,
		})
	}
}
