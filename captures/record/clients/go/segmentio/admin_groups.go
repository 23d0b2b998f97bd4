package main

import (
	"context"

	"github.com/segmentio/kafka-go"
)

func groupSteps(ctx context.Context, client *kafka.Client, topic, group string) []step {
	offsets := map[string][]kafka.OffsetCommit{topic: {{Partition: 0, Offset: 0}}}
	asked := map[string][]int{topic: {0}}
	return []step{
		{"FindCoordinator", func() error {
			request := &kafka.FindCoordinatorRequest{Key: group, KeyType: kafka.CoordinatorKeyTypeConsumer}
			return first(client.FindCoordinator(ctx, request))
		}},
		{"OffsetCommit", func() error {
			request := &kafka.OffsetCommitRequest{GroupID: group, GenerationID: -1, Topics: offsets}
			return first(client.OffsetCommit(ctx, request))
		}},
		{"OffsetFetch", func() error {
			return first(client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: group, Topics: asked}))
		}},
		{"ListGroups", func() error { return first(client.ListGroups(ctx, &kafka.ListGroupsRequest{})) }},
		{"DescribeGroups", func() error {
			return first(client.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{group}}))
		}},
		{"OffsetDelete", func() error {
			return first(client.OffsetDelete(ctx, &kafka.OffsetDeleteRequest{GroupID: group, Topics: asked}))
		}},
		{"DeleteGroups", func() error {
			return first(client.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{group}}))
		}},
		{"InitProducerID", func() error {
			request := &kafka.InitProducerIDRequest{TransactionalID: "segmentio-tx", TransactionTimeoutMs: 10000}
			return first(client.InitProducerID(ctx, request))
		}},
	}
}

func securitySteps(ctx context.Context, client *kafka.Client) []step {
	rule := kafka.ACLEntry{
		ResourceType: kafka.ResourceTypeTopic, ResourceName: "managed", ResourcePatternType: kafka.PatternTypeLiteral,
		Principal: "User:reader", Host: "*", Operation: kafka.ACLOperationTypeRead,
		PermissionType: kafka.ACLPermissionTypeAllow,
	}
	filter := kafka.DeleteACLsFilter{
		ResourceTypeFilter: kafka.ResourceTypeTopic, ResourceNameFilter: "managed",
		ResourcePatternTypeFilter: kafka.PatternTypeLiteral, PrincipalFilter: "User:reader", HostFilter: "*",
		Operation: kafka.ACLOperationTypeRead, PermissionType: kafka.ACLPermissionTypeAllow,
	}
	user := kafka.UserScramCredentialsUpsertion{
		Name: "carol", Mechanism: kafka.ScramMechanismSha256, Iterations: 4096,
		Salt: []byte("salt of carol"), SaltedPassword: []byte("thirty-two bytes, salted already"),
	}
	return []step{
		{"CreateACLs", func() error {
			return first(client.CreateACLs(ctx, &kafka.CreateACLsRequest{ACLs: []kafka.ACLEntry{rule}}))
		}},
		{"DescribeACLs", func() error {
			return first(client.DescribeACLs(ctx, &kafka.DescribeACLsRequest{Filter: kafka.ACLFilter(filter)}))
		}},
		{"DeleteACLs", func() error {
			return first(client.DeleteACLs(ctx, &kafka.DeleteACLsRequest{Filters: []kafka.DeleteACLsFilter{filter}}))
		}},
		{"AlterUserScramCredentials", func() error {
			upserts := []kafka.UserScramCredentialsUpsertion{user}
			request := &kafka.AlterUserScramCredentialsRequest{Upsertions: upserts}
			return first(client.AlterUserScramCredentials(ctx, request))
		}},
		{"DescribeUserScramCredentials", func() error {
			users := []kafka.UserScramCredentialsUser{{Name: "carol"}}
			return first(client.DescribeUserScramCredentials(ctx, &kafka.DescribeUserScramCredentialsRequest{Users: users}))
		}},
	}
}
