//go:build steady

// Driver of any release of sarama: what goes on without end.
package main

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/IBM/sarama"
	"kdissect.invalid/record/driver"
)

func main() {
	driver.Main(map[string]driver.Action{"writes": writes, "reads": reads})
}

// settings makes a configuration: --client-id, and --max, the Kafka release that the broker has (default: as sarama has it).
func settings(args *driver.Args) (*sarama.Config, error) {
	config := sarama.NewConfig()
	config.ClientID = args.Text("client-id", "sarama")
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.MaxWaitTime = 300 * time.Millisecond
	config.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
	if args.Has("max") {
		version, err := sarama.ParseKafkaVersion(args.Text("max", ""))
		if err != nil {
			return nil, err
		}
		config.Version = version
	}
	if args.Text("idempotent", "no") == "yes" {
		reflect.ValueOf(&config.Producer).Elem().FieldByName("Idempotent").SetBool(true) // early releases lack it
		config.Net.MaxOpenRequests = 1
	}
	return config, nil
}

// writes writes --count records to --topic, with --pace milliseconds between, and waits for none of them.
func writes(_ context.Context, args *driver.Args) error {
	config, err := settings(args)
	if err != nil {
		return err
	}
	producer, err := sarama.NewAsyncProducer(strings.Split(args.Bootstrap, ","), config)
	if err != nil {
		return err
	}
	count := args.Int("count", 1<<30)
	go func() {
		for number := range count {
			key, value := fmt.Sprintf("customer-%d", number), fmt.Sprintf(`{"order": %d}`, number)
			producer.Input() <- &sarama.ProducerMessage{
				Topic: args.Text("topic", "story"), Key: sarama.StringEncoder(key), Value: sarama.StringEncoder(value),
			}
			time.Sleep(time.Duration(args.Int("pace", 500)) * time.Millisecond)
		}
	}()
	var failed error
	for range count {
		select {
		case message := <-producer.Successes():
			driver.Emit("wrote", driver.Event{"offset": message.Offset})
		case problem := <-producer.Errors():
			driver.Failed("produce", problem.Err)
			failed = problem.Err
		}
	}
	_ = producer.Close()
	return failed
}

type member struct{}

// reads reads --topic as a member of --group. An error is no end: the member joins again.
func reads(ctx context.Context, args *driver.Args) error {
	config, err := settings(args)
	if err != nil {
		return err
	}
	group, err := sarama.NewConsumerGroup(strings.Split(args.Bootstrap, ","), args.Text("group", "story"), config)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := group.Consume(ctx, []string{args.Text("topic", "story")}, member{}); err != nil {
			driver.Failed("consume", err)
			time.Sleep(200 * time.Millisecond)
		}
	}
	return nil
}

// Setup is called when a generation begins.
func (member) Setup(sarama.ConsumerGroupSession) error {
	driver.Emit("joined", driver.Event{})
	return nil
}

// Cleanup is called when a generation ends.
func (member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim reads one partition for as long as the generation lasts.
func (member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		session.MarkMessage(message, "")
		driver.Emit("seen", driver.Event{"offset": message.Offset})
	}
	return nil
}
