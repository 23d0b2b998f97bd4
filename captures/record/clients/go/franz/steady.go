package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"kdissect.invalid/record/driver"
)

// writes goes on until it is killed: --burst records to --topic, with --pace milliseconds between, of --size bytes.
// A record is sent again --record-retries times at most.
func writes(ctx context.Context, args *driver.Args) error {
	more := []kgo.Opt{kgo.ProducerLinger(50 * time.Millisecond), kgo.ProducerBatchCompression(kgo.GzipCompression())}
	if args.Has("record-retries") {
		more = append(more, kgo.RecordRetries(args.Int("record-retries", 0)))
	}
	client, err := connect(args, more...)
	if err != nil {
		return err
	}
	defer client.Close()
	pace := time.Duration(args.Int("pace", 500)) * time.Millisecond
	for number := 0; ctx.Err() == nil; number++ {
		for range args.Int("burst", 1) {
			key := fmt.Appendf(nil, "customer-%d", number%max(args.Int("keys", 50), 1))
			value := fmt.Appendf(nil, `{"order": %d, "note": "%s"}`, number, strings.Repeat("as usual ", args.Int("size", 0)/9))
			client.Produce(ctx, &kgo.Record{Topic: args.Text("topic", "story"), Key: key, Value: value}, wrote)
		}
		time.Sleep(pace)
	}
	return nil
}

func wrote(record *kgo.Record, err error) {
	if err != nil {
		driver.Failed("produce", err)
		return
	}
	driver.Emit("wrote", driver.Event{"offset": record.Offset})
}

// reads goes on until it is killed, as a member of --group; it commits every second.
func reads(ctx context.Context, args *driver.Args) error {
	joined := func(context.Context, *kgo.Client, map[string][]int32) { driver.Emit("joined", driver.Event{}) }
	client, err := connect(args, kgo.ConsumerGroup(args.Text("group", "story")), kgo.ConsumeTopics(args.Text("topic", "story")),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(time.Second),
		kgo.AutoCommitInterval(time.Second), kgo.OnPartitionsAssigned(joined))
	if err != nil {
		return err
	}
	defer client.Close()
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		fetches.EachError(func(topic string, _ int32, err error) { driver.Failed("fetch "+topic, err) })
		fetches.EachRecord(func(record *kgo.Record) { driver.Emit("seen", driver.Event{"offset": record.Offset}) })
	}
	return nil
}
