package main

import (
	"crypto/sha256"
	"crypto/sha512"
	"hash"

	"github.com/xdg-go/scram"
)

// conversation is one SCRAM login; sarama leaves the mechanism to its user.
type conversation struct {
	wide    bool // SHA-512 instead of SHA-256
	current *scram.ClientConversation
}

func (c *conversation) Begin(user, password, authorization string) error {
	generator := scram.HashGeneratorFcn(func() hash.Hash { return sha256.New() })
	if c.wide {
		generator = func() hash.Hash { return sha512.New() }
	}
	client, err := generator.NewClient(user, password, authorization)
	if err != nil {
		return err
	}
	c.current = client.NewConversation()
	return nil
}

func (c *conversation) Step(challenge string) (string, error) { return c.current.Step(challenge) }

func (c *conversation) Done() bool { return c.current.Done() }
