package main

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"kdissect.invalid/record/driver"
)

// group is the story of two members: one reads alone, the second joins, both commit, the second leaves, then the first.
func group(ctx context.Context, args *driver.Args) error {
	first, err := member(args, "first")
	if err != nil {
		return err
	}
	defer first.Close()
	read(ctx, first, args.Int("count", 6), 4*time.Second)
	commit(ctx, first, args)
	second, err := member(args, "second")
	if err != nil {
		return err
	}
	defer second.Close()
	read(ctx, second, 1, 4*time.Second)
	read(ctx, first, 1, time.Second)
	commit(ctx, second, args)
	leave(ctx, second, args, "second")
	read(ctx, first, 1, 2*time.Second)
	leave(ctx, first, args, "first")
	return nil
}

// member joins the group; --balancer and --server-side choose how partitions are assigned, --instance makes it static.
func member(args *driver.Args, name string) (*kgo.Client, error) {
	options := append(consuming(args),
		kgo.ClientID(args.Text("client-id", "franz")+"-"+name),
		kgo.ConsumerGroup(args.Text("group", "story")),
		kgo.Balancers(balancer(args)),
		kgo.DisableAutoCommit(),
		kgo.SessionTimeout(10*time.Second),
		kgo.RebalanceTimeout(10*time.Second),
		kgo.HeartbeatInterval(500*time.Millisecond),
		kgo.OnPartitionsAssigned(changes(args, "joined", name)),
		kgo.OnPartitionsRevoked(changes(args, "revoked", name)),
	)
	if args.Text("server-side", "no") == "yes" {
		options = append(options, kgo.ServerSideBalancer())
	}
	if args.Has("instance") {
		options = append(options, kgo.InstanceID(args.Text("instance", "")+"-"+name))
	}
	return connect(args, options...)
}

func balancer(args *driver.Args) kgo.GroupBalancer {
	switch args.Text("balancer", "range") {
	case "roundrobin":
		return kgo.RoundRobinBalancer()
	case "sticky":
		return kgo.StickyBalancer()
	case "cooperative":
		return kgo.CooperativeStickyBalancer()
	}
	return kgo.RangeBalancer()
}

func changes(args *driver.Args, event, name string) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(_ context.Context, client *kgo.Client, partitions map[string][]int32) {
		id, generation := client.GroupMetadata()
		driver.Emit(event, driver.Event{
			"client_id": args.Text("client-id", "franz") + "-" + name, "group": args.Text("group", "story"), "member": id,
			"generation": generation, "partitions": partitions,
		})
	}
}

func commit(ctx context.Context, client *kgo.Client, args *driver.Args) {
	if err := client.CommitUncommittedOffsets(ctx); err != nil {
		driver.Failed("commit", err)
		return
	}
	for topic, partitions := range client.CommittedOffsets() {
		for partition, offset := range partitions {
			driver.Emit("committed", driver.Event{
				"group": args.Text("group", "story"), "topic": topic, "partition": partition, "offset": offset.Offset,
			})
		}
	}
}

func leave(ctx context.Context, client *kgo.Client, args *driver.Args, name string) {
	id, _ := client.GroupMetadata()
	if err := client.LeaveGroupContext(ctx); err != nil {
		driver.Failed("leave", err)
	}
	driver.Emit("left", driver.Event{
		"client_id": args.Text("client-id", "franz") + "-" + name, "group": args.Text("group", "story"), "member": id,
	})
}
