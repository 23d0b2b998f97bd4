package main

import "github.com/twmb/franz-go/pkg/kmsg"

func init() {
	for key, set := range clusterRules {
		rules[key] = set
	}
}

// clusterRules are those of the APIs between brokers and controllers.
//
// Their epochs are stale and their ids a stranger's, so that whoever is asked refuses and nothing breaks.
var clusterRules = map[int16]rule{
	4: of(func(w *world, r *kmsg.LeaderAndISRRequest) { r.BrokerEpoch = -1 }),
	6: of(func(w *world, r *kmsg.UpdateMetadataRequest) { r.BrokerEpoch = -1 }),
	52: of(func(w *world, r *kmsg.VoteRequest) {
		r.VoterID = 1
		r.Topics[0].Topic = metadataTopic
		vote := &r.Topics[0].Partitions[0]
		vote.CandidateEpoch, vote.LastOffsetEpoch, vote.PreVote = 1, 0, false
	}),
	53: of(func(w *world, r *kmsg.BeginQuorumEpochRequest) {
		r.VoterID = 1
		r.Topics[0].Topic = metadataTopic
	}),
	54: of(func(w *world, r *kmsg.EndQuorumEpochRequest) { r.Topics[0].Topic = metadataTopic }),
	55: of(func(w *world, r *kmsg.DescribeQuorumRequest) { r.Topics[0].Topic = metadataTopic }),
	59: of(func(w *world, r *kmsg.FetchSnapshotRequest) {
		r.Topics[0].Topic = metadataTopic
		r.Topics[0].Partitions[0].SnapshotID.EndOffset, r.Topics[0].Partitions[0].SnapshotID.Epoch = 0, 0
		r.Topics[0].Partitions[0].CurrentLeaderEpoch = 1
	}),
	62: of(func(w *world, r *kmsg.BrokerRegistrationRequest) {
		r.IncarnationID, r.PreviousBrokerEpoch = [16]byte{1, 2, 3}, -1
		r.LogDirs = [][16]byte{{9, 9, 9}}
		r.Features = features()
	}),
	63: of(func(w *world, r *kmsg.BrokerHeartbeatRequest) { r.OfflineLogDirs, r.CordonedLogDirs = nil, nil }),
	80: of(func(w *world, r *kmsg.AddRaftVoterRequest) { r.Listeners[0].Name = "CONTROLLER" }),
	82: of(func(w *world, r *kmsg.UpdateRaftVoterRequest) { r.Listeners[0].Name = "CONTROLLER" }),
	70: of(func(w *world, r *kmsg.ControllerRegistrationRequest) {
		r.Features[0].Name, r.Features[0].MaxSupportedVersion = "metadata.version", 100
	}),
}

// features claims every feature level a controller may have finalized, so that a registration is accepted.
func features() []kmsg.BrokerRegistrationRequestFeature {
	var made []kmsg.BrokerRegistrationRequestFeature
	for _, name := range []string{
		"metadata.version", "kraft.version", "transaction.version", "group.version",
		"eligible.leader.replicas.version", "share.version", "streams.version",
	} {
		feature := kmsg.NewBrokerRegistrationRequestFeature()
		feature.Name, feature.MaxSupportedVersion = name, 100
		made = append(made, feature)
	}
	made[0].MinSupportedVersion = 1
	return made
}
