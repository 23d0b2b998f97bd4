// Driver of segmentio's kafka-go.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
	"kdissect.invalid/record/driver"
)

func main() {
	driver.Main(map[string]driver.Action{
		"produce": produce,
		"consume": consume,
		"group":   group,
		"admin":   admin,
	})
}

func mechanism(args *driver.Args) (sasl.Mechanism, error) {
	user, password := args.Text("user", ""), args.Text("password", "")
	switch args.Text("sasl", "") {
	case "":
		return nil, nil
	case "SCRAM-SHA-256":
		return scram.Mechanism(scram.SHA256, user, password)
	case "SCRAM-SHA-512":
		return scram.Mechanism(scram.SHA512, user, password)
	}
	return plain.Mechanism{Username: user, Password: password}, nil
}

// transport is what writers and the admin client connect with.
func transport(args *driver.Args) (*kafka.Transport, error) {
	login, err := mechanism(args)
	return &kafka.Transport{ClientID: args.Text("client-id", "segmentio"), SASL: login}, err
}

// dialer is what readers connect with.
func dialer(args *driver.Args, clientID string) (*kafka.Dialer, error) {
	login, err := mechanism(args)
	return &kafka.Dialer{ClientID: clientID, SASLMechanism: login, Timeout: 5 * time.Second, DualStack: false}, err
}

func neutral(message kafka.Message) driver.Record {
	record := driver.Record{
		Topic: message.Topic, Partition: int32(message.Partition), Offset: message.Offset, Key: message.Key,
		Value: message.Value, Timestamp: message.Time.UnixMilli(),
	}
	for _, header := range message.Headers {
		record.Headers = append(record.Headers, driver.Header{Key: header.Key, Value: header.Value})
	}
	return record
}

// read prints what a reader gives until count records came or nothing came for quiet.
func read(ctx context.Context, reader *kafka.Reader, count int, quiet time.Duration) []kafka.Message {
	var messages []kafka.Message
	for len(messages) < count {
		limited, cancel := context.WithTimeout(ctx, quiet)
		message, err := reader.FetchMessage(limited)
		cancel()
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				driver.Failed("fetch", err)
			}
			break
		}
		driver.Read(neutral(message))
		messages = append(messages, message)
	}
	return messages
}
