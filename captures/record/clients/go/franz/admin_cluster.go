package main

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

var reader = func() *kadm.ACLBuilder {
	return kadm.NewACLs().Allow("User:reader").Topics("managed").Operations(kadm.OpRead, kadm.OpDescribe)
}

var carol = []kadm.ClientQuotaEntityComponent{{Type: "user", Name: kadm.StringPtr("carol")}}

var securitySteps = []step{
	{"CreateACLs", func(ctx context.Context, on target) error {
		_, err := on.CreateACLs(ctx, reader())
		return err
	}},
	{"DescribeACLs", func(ctx context.Context, on target) error {
		_, err := on.DescribeACLs(ctx, reader().AllowHosts())
		return err
	}},
	{"DeleteACLs", func(ctx context.Context, on target) error {
		_, err := on.DeleteACLs(ctx, reader().AllowHosts())
		return err
	}},
	{"AlterUserSCRAMs", func(ctx context.Context, on target) error {
		_, err := on.AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{
			{User: "carol", Mechanism: kadm.ScramSha256, Iterations: 4096, Password: "carol-secret"},
		})
		return err
	}},
	{"DescribeUserSCRAMs", func(ctx context.Context, on target) error {
		_, err := on.DescribeUserSCRAMs(ctx, "carol", "nobody")
		return err
	}},
	{"AlterUserSCRAMs delete", func(ctx context.Context, on target) error {
		_, err := on.AlterUserSCRAMs(ctx, []kadm.DeleteSCRAM{{User: "carol", Mechanism: kadm.ScramSha256}}, nil)
		return err
	}},
	{"AlterClientQuotas", func(ctx context.Context, on target) error {
		_, err := on.AlterClientQuotas(ctx, []kadm.AlterClientQuotaEntry{
			{Entity: carol, Ops: []kadm.AlterClientQuotaOp{{Key: "producer_byte_rate", Value: 1048576}}},
		})
		return err
	}},
	{"DescribeClientQuotas", func(ctx context.Context, on target) error {
		_, err := on.DescribeClientQuotas(ctx, false, []kadm.DescribeClientQuotaComponent{
			{Type: "user", MatchName: kadm.StringPtr("carol")},
		})
		return err
	}},
	{"CreateDelegationToken", func(ctx context.Context, on target) error {
		_, err := on.CreateDelegationToken(ctx, kadm.CreateDelegationToken{MaxLifetime: time.Hour})
		return err
	}},
	{"RenewDelegationToken", func(ctx context.Context, on target) error {
		_, err := on.RenewDelegationToken(ctx, []byte("no-such-token"), time.Hour)
		return err
	}},
	{"DescribeDelegationTokens", func(ctx context.Context, on target) error {
		_, err := on.DescribeDelegationTokens(ctx, kadm.Principal{Type: "User", Name: "carol"})
		return err
	}},
	{"ExpireDelegationToken", func(ctx context.Context, on target) error {
		_, err := on.ExpireDelegationToken(ctx, []byte("no-such-token"), time.Hour)
		return err
	}},
}

var clusterSteps = []step{
	{"ApiVersions", func(ctx context.Context, on target) error {
		_, err := on.ApiVersions(ctx)
		return err
	}},
	{"BrokerMetadata", func(ctx context.Context, on target) error {
		_, err := on.BrokerMetadata(kadm.WithAuthorizedOps(ctx))
		return err
	}},
	{"ListConfigResources", func(ctx context.Context, on target) error {
		_, err := on.ListConfigResources(ctx)
		return err
	}},
	{"DescribeAllLogDirs", func(ctx context.Context, on target) error {
		_, err := on.DescribeAllLogDirs(ctx, ofTopic(on))
		return err
	}},
	{"AlterAllReplicaLogDirs", func(ctx context.Context, on target) error {
		_, err := on.AlterAllReplicaLogDirs(ctx, kadm.AlterReplicaLogDirsReq{"/nowhere": ofTopic(on)})
		return err
	}},
	{"ElectLeaders", func(ctx context.Context, on target) error {
		_, err := on.ElectLeaders(ctx, kadm.ElectPreferredReplica, ofTopic(on))
		return err
	}},
	{"AlterPartitionAssignments", func(ctx context.Context, on target) error {
		_, err := on.AlterPartitionAssignments(ctx, kadm.AlterPartitionAssignmentsReq{on.topic: {0: {1}}})
		return err
	}},
	{"ListPartitionReassignments", func(ctx context.Context, on target) error {
		_, err := on.ListPartitionReassignments(ctx, ofTopic(on))
		return err
	}},
	{"UpdateFeatures", func(ctx context.Context, on target) error {
		_, err := on.UpdateFeatures(ctx, true, kadm.FeatureUpdate{Feature: "no.such.feature", MaxVersionLevel: 1, UpgradeType: 1})
		return err
	}},
}

var lastSteps = []step{
	{"DeleteTopics", func(ctx context.Context, on target) error {
		_, err := on.DeleteTopics(ctx, on.topic, "no-such-topic")
		return err
	}},
}
