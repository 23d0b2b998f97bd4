package main

import "github.com/IBM/sarama"

func clusterSteps(client sarama.ClusterAdmin, topic string) []step {
	return append(securitySteps(client), []step{
		{"DescribeCluster", func() error {
			_, _, err := client.DescribeCluster()
			return err
		}},
		{"DescribeLogDirs", func() error { return first(client.DescribeLogDirs([]int32{1})) }},
		{"ElectLeaders", func() error {
			return first(client.ElectLeaders(sarama.PreferredElection, map[string][]int32{topic: {0}}))
		}},
		{"AlterPartitionReassignments", func() error {
			return client.AlterPartitionReassignments(topic, [][]int32{{1}, {1}, {1}})
		}},
		{"ListPartitionReassignments", func() error {
			return first(client.ListPartitionReassignments(topic, []int32{0}))
		}},
	}...)
}

func securitySteps(client sarama.ClusterAdmin) []step {
	resource := sarama.Resource{
		ResourceType: sarama.AclResourceTopic, ResourceName: "managed", ResourcePatternType: sarama.AclPatternLiteral,
	}
	rule := sarama.Acl{
		Principal: "User:reader", Host: "*", Operation: sarama.AclOperationRead, PermissionType: sarama.AclPermissionAllow,
	}
	filter := sarama.AclFilter{
		ResourceType: sarama.AclResourceTopic, ResourceName: &resource.ResourceName,
		ResourcePatternTypeFilter: sarama.AclPatternLiteral, Operation: sarama.AclOperationAny,
		PermissionType: sarama.AclPermissionAny,
	}
	user := sarama.AlterUserScramCredentialsUpsert{
		Name: "carol", Mechanism: sarama.SCRAM_MECHANISM_SHA_256, Iterations: 4096,
		Salt: []byte("salt of carol, 24 bytes."), Password: []byte("carol-secret"),
	}
	gone := sarama.AlterUserScramCredentialsDelete{Name: "carol", Mechanism: sarama.SCRAM_MECHANISM_SHA_256}
	quota := []sarama.QuotaEntityComponent{
		{EntityType: sarama.QuotaEntityUser, MatchType: sarama.QuotaMatchExact, Name: "carol"},
	}
	return []step{
		{"CreateACL", func() error { return client.CreateACL(resource, rule) }},
		{"ListAcls", func() error { return first(client.ListAcls(filter)) }},
		{"DeleteACL", func() error { return first(client.DeleteACL(filter, false)) }},
		{"UpsertUserScramCredentials", func() error {
			return first(client.UpsertUserScramCredentials([]sarama.AlterUserScramCredentialsUpsert{user}))
		}},
		{"DescribeUserScramCredentials", func() error { return first(client.DescribeUserScramCredentials([]string{"carol"})) }},
		{"DeleteUserScramCredentials", func() error {
			return first(client.DeleteUserScramCredentials([]sarama.AlterUserScramCredentialsDelete{gone}))
		}},
		{"AlterClientQuotas", func() error {
			return client.AlterClientQuotas(quota, sarama.ClientQuotasOp{Key: "producer_byte_rate", Value: 1048576}, false)
		}},
		{"DescribeClientQuotas", func() error {
			asked := []sarama.QuotaFilterComponent{
				{EntityType: sarama.QuotaEntityUser, MatchType: sarama.QuotaMatchExact, Match: "carol"},
			}
			return first(client.DescribeClientQuotas(asked, false))
		}},
	}
}
