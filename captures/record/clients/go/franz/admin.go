package main

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"kdissect.invalid/record/driver"
)

// target is what the admin calls are about.
type target struct {
	*kadm.Client
	topic, group, share, id string
}

// step is one admin call and the name it is reported under.
type step struct {
	name string
	call func(ctx context.Context, on target) error
}

// admin makes every call the admin client has once; calls the broker refuses are reported and the next one is made.
func admin(ctx context.Context, args *driver.Args) error {
	client, err := connect(args)
	if err != nil {
		return err
	}
	defer client.Close()
	on := target{
		kadm.NewClient(client), args.Text("topic", "managed"), args.Text("group", "managed-group"),
		args.Text("share", "managed-share"), args.Text("id", "managed-tx"),
	}
	on.SetTimeoutMillis(5000)
	for _, steps := range [][]step{topicSteps, groupSteps, securitySteps, clusterSteps, lastSteps} {
		for _, one := range steps {
			limited, cancel := context.WithTimeout(ctx, 6*time.Second)
			driver.Outcome(one.name, one.call(limited, on))
			cancel()
		}
	}
	return nil
}

func ofTopic(on target) kadm.TopicsSet {
	set := kadm.TopicsSet{}
	set.Add(on.topic, 0)
	return set
}

func offsets(on target, at int64) kadm.Offsets {
	offsets := kadm.Offsets{}
	offsets.AddOffset(on.topic, 0, at, -1)
	return offsets
}
