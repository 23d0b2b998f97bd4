package main

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kadm"
	"kdissect.invalid/record/driver"
)

// scramUser gives the user --name the password --secret for both SCRAM mechanisms.
func scramUser(ctx context.Context, args *driver.Args) error {
	client, err := connect(args)
	if err != nil {
		return err
	}
	defer client.Close()
	for _, mechanism := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} { // a request alters a user once
		altered, err := kadm.NewClient(client).AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{
			{User: args.Text("name", ""), Mechanism: mechanism, Iterations: 4096, Password: args.Text("secret", "")},
		})
		driver.Outcome("AlterUserSCRAMs", errors.Join(err, altered.Error()))
	}
	return nil
}
