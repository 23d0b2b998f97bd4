package main

import (
	"bytes"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func init() {
	for key, set := range adminRules {
		rules[key] = set
	}
}

// adminRules are those of the APIs of admin clients.
var adminRules = map[int16]rule{
	29: of(func(w *world, r *kmsg.DescribeACLsRequest) {
		r.ResourceType, r.ResourcePatternType, r.ResourceName = 2, 3, nil
		r.Principal, r.Host, r.Operation, r.PermissionType = nil, nil, 1, 1
	}),
	30: of(func(w *world, r *kmsg.CreateACLsRequest) {
		acl := &r.Creations[0]
		acl.ResourceType, acl.ResourcePatternType, acl.ResourceName = 2, 3, w.topic
		acl.Principal, acl.Host, acl.Operation, acl.PermissionType = "User:raw", "*", 3, 3
	}),
	31: of(func(w *world, r *kmsg.DeleteACLsRequest) {
		filter := &r.Filters[0]
		filter.ResourceType, filter.ResourcePatternType, filter.ResourceName = 2, 3, kmsg.StringPtr(w.topic)
		filter.Principal, filter.Host, filter.Operation, filter.PermissionType = kmsg.StringPtr("User:raw"), nil, 1, 1
	}),
	32: of(func(w *world, r *kmsg.DescribeConfigsRequest) {
		resource := &r.Resources[0]
		resource.ResourceType, resource.ResourceName, resource.ConfigNames = 2, w.topic, []string{"retention.ms"}
		r.IncludeSynonyms, r.IncludeDocumentation = true, true
	}),
	33: of(func(w *world, r *kmsg.AlterConfigsRequest) {
		resource := &r.Resources[0]
		resource.ResourceType, resource.ResourceName, r.ValidateOnly = 2, w.topic, true
		resource.Configs[0].Name, resource.Configs[0].Value = "retention.ms", kmsg.StringPtr("3600000")
	}),
	37: of(func(w *world, r *kmsg.CreatePartitionsRequest) {
		r.Topics[0].Count, r.Topics[0].Assignment, r.ValidateOnly = 2, nil, true
	}),
	44: of(func(w *world, r *kmsg.IncrementalAlterConfigsRequest) {
		resource := &r.Resources[0]
		resource.ResourceType, resource.ResourceName = 2, w.topic
		resource.Configs[0].Name, resource.Configs[0].Value = "retention.ms", kmsg.StringPtr("7200000")
	}),
	48: of(func(w *world, r *kmsg.DescribeClientQuotasRequest) {
		r.Components[0].EntityType, r.Components[0].Match = "user", kmsg.StringPtr("raw")
	}),
	49: of(func(w *world, r *kmsg.AlterClientQuotasRequest) {
		r.Entries[0].Entity[0].Type, r.Entries[0].Entity[0].Name = "user", kmsg.StringPtr("raw")
		r.Entries[0].Ops[0].Key, r.Entries[0].Ops[0].Value = "producer_byte_rate", 1048576
	}),
	51: of(func(w *world, r *kmsg.AlterUserSCRAMCredentialsRequest) {
		r.Deletions[0].Name, r.Deletions[0].Mechanism = "nobody", 1
		upsert := &r.Upsertions[0]
		upsert.Name, upsert.Mechanism, upsert.Iterations = "raw", 1, 4096
		upsert.Salt, upsert.SaltedPassword = bytes.Repeat([]byte("s"), 24), bytes.Repeat([]byte("p"), 32)
	}),
	57: of(func(w *world, r *kmsg.UpdateFeaturesRequest) {
		r.FeatureUpdates[0].Feature, r.FeatureUpdates[0].MaxVersionLevel, r.FeatureUpdates[0].UpgradeType = "no.such.feature", 1, 1
	}),
	60: of(func(w *world, r *kmsg.DescribeClusterRequest) {
		r.EndpointType = 1
		if w.controller {
			r.EndpointType = 2
		}
	}),
	66: of(func(w *world, r *kmsg.ListTransactionsRequest) {
		r.StateFilters, r.ProducerIDFilters = []string{"Ongoing"}, []int64{w.producerID}
		r.TransactionalIDPattern, r.DurationFilterMillis = kmsg.StringPtr("raw.*"), -1
	}),
	74: of(func(w *world, r *kmsg.ListConfigResourcesRequest) { r.ResourceTypes = []int8{2, 16} }),
	75: of(func(w *world, r *kmsg.DescribeTopicPartitionsRequest) { r.ResponsePartitionLimit, r.Cursor = 10, nil }),
}
