package main

import (
	"context"
	"time"

	"github.com/segmentio/kafka-go"
	"kdissect.invalid/record/driver"
)

// group is the story of two members: one reads alone, the second joins, both commit, the second leaves, then the first.
//
// A reader of kafka-go tells nobody its member id nor its partitions.
func group(ctx context.Context, args *driver.Args) error {
	first, err := join(args, "first")
	if err != nil {
		return err
	}
	commit(ctx, first, args, read(ctx, first, args.Int("count", 6), 6*time.Second))
	second, err := join(args, "second")
	if err != nil {
		return err
	}
	commit(ctx, second, args, read(ctx, second, 1, 4*time.Second))
	leave(second, args, "second")
	read(ctx, first, 1, 3*time.Second)
	leave(first, args, "first")
	return nil
}

func join(args *driver.Args, which string) (*kafka.Reader, error) {
	clientID := args.Text("client-id", "segmentio") + "-" + which
	reader, err := reading(args, clientID, func(config *kafka.ReaderConfig) {
		config.GroupID, config.GroupTopics = args.Text("group", "story"), []string{args.Text("topic", "story")}
		config.HeartbeatInterval, config.SessionTimeout = 500*time.Millisecond, 10*time.Second
		config.RebalanceTimeout, config.JoinGroupBackoff = 5*time.Second, time.Second
		config.GroupBalancers = []kafka.GroupBalancer{kafka.RangeGroupBalancer{}}
		if args.Text("balancer", "range") == "roundrobin" {
			config.GroupBalancers = []kafka.GroupBalancer{kafka.RoundRobinGroupBalancer{}}
		}
	})
	driver.Emit("joined", driver.Event{"client_id": clientID, "group": args.Text("group", "story")})
	return reader, err
}

func commit(ctx context.Context, reader *kafka.Reader, args *driver.Args, messages []kafka.Message) {
	if len(messages) == 0 {
		return
	}
	if err := reader.CommitMessages(ctx, messages...); err != nil {
		driver.Failed("commit", err)
		return
	}
	for _, message := range messages {
		driver.Emit("committed", driver.Event{
			"group": args.Text("group", "story"), "topic": message.Topic,
			"partition": message.Partition, "offset": message.Offset + 1,
		})
	}
}

func leave(reader *kafka.Reader, args *driver.Args, which string) {
	if err := reader.Close(); err != nil {
		driver.Failed("leave", err)
	}
	driver.Emit("left", driver.Event{
		"client_id": args.Text("client-id", "segmentio") + "-" + which, "group": args.Text("group", "story"),
	})
}
