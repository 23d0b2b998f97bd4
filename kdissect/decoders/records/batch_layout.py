"""Where the parts of a batch stand.

The magic byte is at the same place in all formats, so that it can be read first (spec/001 "5.3.1 Record
Batch").
"""

import struct

LENGTH_AT = 8  # behind baseOffset
MAGIC_AT = 16
OVERHEAD = 12  # baseOffset and batchLength, which batchLength does not count

# spec/001 "5.3.1 Record Batch": baseOffset, batchLength, partitionLeaderEpoch, magic, crc, attributes,
# lastOffsetDelta, baseTimestamp, maxTimestamp, producerId, producerEpoch, baseSequence, record count.
HEADER_V2 = struct.Struct(">qiibIhiqqqhii")
ATTRIBUTES_AT = 21  # the CRC covers everything from here on

# spec/001 "5.3.3 Old Message Format": offset, message_size, crc, magic, attributes [, timestamp].
HEADER_V0 = struct.Struct(">qiIbb")
HEADER_V1 = struct.Struct(">qiIbbq")

# Minimum size of a batch by magic: header (61), or header with the two lengths of a null key and value.
MIN_SIZE = (HEADER_V0.size + 8, HEADER_V1.size + 8, HEADER_V2.size)
CURRENT_MAGIC = 2  # spec/001 "5.3.1 Record Batch"
