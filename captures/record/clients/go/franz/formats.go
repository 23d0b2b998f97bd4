package main

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const created = 1_700_000_000_000 // milliseconds

// records are three records in the message format that a version of Produce may carry.
//
// Formats 0 and 1: Produce v0-v2; format 2: from v3 on (KIP-98). Their checksums are set here: kmsg only lays out fields.
func records(version int16) []byte {
	var data []byte
	for i, key := range []string{"one", "two", "three"} {
		value := []byte("raw " + key)
		switch {
		case version < 2:
			message := kmsg.MessageV0{Offset: int64(i), Key: []byte(key), Value: value}
			data = append(data, sealMessage(message.AppendTo(nil))...)
		case version == 2:
			message := kmsg.MessageV1{Offset: int64(i), Magic: 1, Timestamp: created, Key: []byte(key), Value: value}
			data = append(data, sealMessage(message.AppendTo(nil))...)
		}
	}
	if version < 3 {
		return data
	}
	return batch()
}

// sealMessage sets size and CRC-32 of a message of format 0 or 1: 8 bytes of offset, 4 of size, 4 of checksum, the rest.
func sealMessage(message []byte) []byte {
	binary.BigEndian.PutUint32(message[8:], uint32(len(message)-12))
	binary.BigEndian.PutUint32(message[12:], crc32.ChecksumIEEE(message[16:]))
	return message
}

func batch() []byte {
	var body []byte
	for i, key := range []string{"one", "two", "three"} {
		body = append(body, record(i, key)...)
	}
	made := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, LastOffsetDelta: 2, FirstTimestamp: created, MaxTimestamp: created + 2,
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: 3, Records: body,
	}
	data := made.AppendTo(nil)
	binary.BigEndian.PutUint32(data[8:], uint32(len(data)-12))
	binary.BigEndian.PutUint32(data[17:], crc32.Checksum(data[21:], crc32.MakeTable(crc32.Castagnoli)))
	return data
}

func record(i int, key string) []byte {
	made := kmsg.Record{TimestampDelta64: int64(i), OffsetDelta: int32(i), Key: []byte(key), Value: []byte("raw " + key)}
	made.Headers = []kmsg.Header{{Key: "from", Value: []byte("kmsg")}}
	made.Length = int32(len(made.AppendTo(nil)) - 1) // a length below 64 takes one byte
	return made.AppendTo(nil)
}
