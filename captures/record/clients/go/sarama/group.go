package main

import (
	"context"
	"time"

	"github.com/IBM/sarama"
	"kdissect.invalid/record/driver"
)

// member reads in a group and prints what it is given and what it reads; it commits after each record.
type member struct {
	name, group string
	client      sarama.ConsumerGroup
	stop        context.CancelFunc
	ended       chan struct{}
}

// group is the story of two members: one reads alone, the second joins, both commit, the second leaves, then the first.
func group(ctx context.Context, args *driver.Args) error {
	first, err := join(ctx, args, "first")
	if err != nil {
		return err
	}
	time.Sleep(4 * time.Second)
	second, err := join(ctx, args, "second")
	if err != nil {
		return err
	}
	time.Sleep(4 * time.Second)
	second.leave()
	time.Sleep(3 * time.Second)
	first.leave()
	return nil
}

func join(ctx context.Context, args *driver.Args, which string) (*member, error) {
	config, err := settings(args)
	if err != nil {
		return nil, err
	}
	m := &member{name: config.ClientID + "-" + which, group: args.Text("group", "story"), ended: make(chan struct{})}
	config.ClientID = m.name
	config.Consumer.Group.Session.Timeout = 10 * time.Second
	config.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{balancer(args)}
	if args.Has("instance") {
		config.Consumer.Group.InstanceId = args.Text("instance", "") + "-" + which
	}
	if m.client, err = sarama.NewConsumerGroup(addresses(args), m.group, config); err != nil {
		return nil, err
	}
	ctx, m.stop = context.WithCancel(ctx)
	go m.run(ctx, []string{args.Text("topic", "story")})
	return m, nil
}

func balancer(args *driver.Args) sarama.BalanceStrategy {
	switch args.Text("balancer", "range") {
	case "sticky":
		return sarama.NewBalanceStrategySticky()
	case "roundrobin":
		return sarama.NewBalanceStrategyRoundRobin()
	}
	return sarama.NewBalanceStrategyRange()
}

// run takes part in one generation after the other until it is stopped.
func (m *member) run(ctx context.Context, topics []string) {
	defer close(m.ended)
	go func() {
		for err := range m.client.Errors() {
			driver.Failed("group", err)
		}
	}()
	for ctx.Err() == nil {
		if err := m.client.Consume(ctx, topics, m); err != nil {
			driver.Failed("consume", err)
			return
		}
	}
}

func (m *member) leave() {
	m.stop()
	<-m.ended
	if err := m.client.Close(); err != nil {
		driver.Failed("leave", err)
	}
	driver.Emit("left", driver.Event{"client_id": m.name, "group": m.group})
}

func (m *member) emit(event string, session sarama.ConsumerGroupSession) error {
	driver.Emit(event, driver.Event{
		"client_id": m.name, "group": m.group, "member": session.MemberID(),
		"generation": session.GenerationID(), "partitions": session.Claims(),
	})
	return nil
}

// Setup is called when a generation begins.
func (m *member) Setup(session sarama.ConsumerGroupSession) error { return m.emit("joined", session) }

// Cleanup is called when a generation ends.
func (m *member) Cleanup(session sarama.ConsumerGroupSession) error {
	return m.emit("revoked", session)
}

// ConsumeClaim reads one partition for as long as the generation lasts.
func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		driver.Read(neutral(message))
		session.MarkMessage(message, "read")
		session.Commit()
		driver.Emit("committed", driver.Event{
			"group": m.group, "topic": message.Topic, "partition": message.Partition, "offset": message.Offset + 1,
		})
	}
	return nil
}
