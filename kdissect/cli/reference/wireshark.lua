-- The walker: reads any message by the tables above, as kdissect's own readers do.
-- Written for the Lua of Wireshark 3.6 and later (5.2 to 5.4). Nothing of a packet makes it fail: what does not
-- fit is marked (kdissect.error), and the fields before that place stay.

local proto = Proto("kdissect", "Kafka (kdissect)")

-- Limits: a tree of Wireshark ends with an error at 1,000,000 items.
local MOST_ITEMS = 100000 -- shown of one request or response
local MOST_BYTES = 256 * 1024 * 1024 -- of one, beyond which its size is taken for no size
local MOST_DECOMPRESSED = 4 * 1024 * 1024 -- bytes of one batch that are looked into
local ANY_CLIENT_ID = 512 -- longer ones do not make a connection Kafka

local API_VERSIONS, CONTROLLED_SHUTDOWN, SASL_HANDSHAKE = 18, 7, 17
local UNSUPPORTED_VERSION = 35
local FIXED = {bool = 1, int8 = 1, int16 = 2, uint16 = 2, int32 = 4, uint32 = 4, int64 = 8, float64 = 8, uuid = 16}
local INTEGERS = {int8 = 1, int16 = 2, uint16 = 3, int32 = 4, uint32 = 5, int64 = 6}
local MAKERS = {
    bool = ProtoField.bool, int8 = ProtoField.int8, int16 = ProtoField.int16, uint16 = ProtoField.uint16,
    int32 = ProtoField.int32, uint32 = ProtoField.uint32, int64 = ProtoField.int64, float64 = ProtoField.double,
    uuid = ProtoField.string, string = ProtoField.string, bytes = ProtoField.bytes, records = ProtoField.bytes,
}

-- Fields of Wireshark. One for each name: a name that several APIs have is one field.

local fields = {
    size = ProtoField.int32("kdissect.size", "size"),
    api_key = ProtoField.int16("kdissect.api_key", "api_key"),
    api = ProtoField.string("kdissect.api", "api"),
    api_version = ProtoField.int16("kdissect.api_version", "api_version"),
    correlation_id = ProtoField.int32("kdissect.correlation_id", "correlation_id"),
    client_id = ProtoField.string("kdissect.client_id", "client_id"),
    software = ProtoField.string("kdissect.software", "software"),
    request = ProtoField.none("kdissect.request", "request"),
    response = ProtoField.none("kdissect.response", "response"),
    request_in = ProtoField.framenum("kdissect.request_in", "request_in", base.NONE, frametype.REQUEST),
    response_in = ProtoField.framenum("kdissect.response_in", "response_in", base.NONE, frametype.RESPONSE),
    latency = ProtoField.relative_time("kdissect.latency", "latency"),
    errors = ProtoField.string("kdissect.errors", "errors"),
    topics = ProtoField.string("kdissect.topics", "topics"),
    topic_ids = ProtoField.string("kdissect.topic_ids", "topic_ids"),
    group = ProtoField.string("kdissect.group", "group"),
    transactional_id = ProtoField.string("kdissect.transactional_id", "transactional_id"),
    token = ProtoField.none("kdissect.sasl_token", "sasl_token"),
    error = ProtoField.string("kdissect.error", "error"),
    batch = ProtoField.none("kdissect.batch", "batch"),
    record = ProtoField.none("kdissect.record", "record"),
}
for name, kind in pairs({
    base_offset = "int64", bytes = "int32", leader_epoch = "int32", magic = "int8", crc = "uint32",
    attributes = "int16", codec = "string", transactional = "bool", control = "bool",
    base_timestamp = "int64", max_timestamp_ms = "int64", producer_id = "int64", producer_epoch = "int16",
    base_sequence = "int32", count = "int32",
}) do
    fields["batch." .. name] = MAKERS[kind]("kdissect.batch." .. name, name)
end
fields["record.offset"] = ProtoField.string("kdissect.record.offset", "offset")
fields["record.timestamp_ms"] = ProtoField.string("kdissect.record.timestamp_ms", "timestamp_ms")
fields["record.key"] = ProtoField.string("kdissect.record.key", "key")
fields["record.value"] = ProtoField.string("kdissect.record.value", "value")
fields["record.header"] = ProtoField.string("kdissect.record.header", "header")

local kinds, enums = {}, {} -- by name: the widest type that any API has for it; its names of values

local function element_kind(field)
    return field.of and "none" or field[2]
end

local function collect(list, prefix)
    for _, field in ipairs(list) do
        field.path = prefix .. "." .. field[1]
        local kind, known = element_kind(field), kinds[field.path]
        local names = field.x and "error" or field.e or false
        if known == nil then
            kinds[field.path], enums[field.path] = kind, names
        else
            if enums[field.path] ~= names then enums[field.path] = false end
            if known ~= kind then
                if INTEGERS[known] and INTEGERS[kind] then
                    kind = INTEGERS[known] < INTEGERS[kind] and kind or known
                elseif known ~= "none" then
                    kind = known
                end
                kinds[field.path] = kind
            end
        end
        if field.of then collect(field.of, field.path) end
    end
end

for _, api in pairs(APIS) do
    collect(api.request, "request.body")
    collect(api.response, "response.body")
end
for path, kind in pairs(kinds) do
    local name = path:match("[^.]+$")
    if kind == "none" then
        fields[path] = ProtoField.none("kdissect." .. path, name)
    elseif INTEGERS[kind] and enums[path] then
        fields[path] = MAKERS[kind]("kdissect." .. path, name, base.DEC, ENUMS[enums[path]])
    elseif kind == "bytes" or kind == "records" then
        fields[path] = MAKERS[kind]("kdissect." .. path, name, base.NONE)
    else
        fields[path] = MAKERS[kind]("kdissect." .. path, name)
    end
end
local all_fields = {}
for _, field in pairs(fields) do all_fields[#all_fields + 1] = field end
proto.fields = all_fields

local experts = {
    error = ProtoExpert.new("kdissect.expert.error", "does not fit", expert.group.MALFORMED, expert.severity.ERROR),
    left_over = ProtoExpert.new(
        "kdissect.expert.left_over", "bytes left over", expert.group.PROTOCOL, expert.severity.WARN
    ),
    unaligned = ProtoExpert.new(
        "kdissect.expert.unaligned", "no Kafka frame begins here", expert.group.UNDECODED, expert.severity.WARN
    ),
}
proto.experts = {experts.error, experts.left_over, experts.unaligned}

proto.prefs.ports = Pref.range(
    "Ports of brokers", "9092", "Connections of other ports are found by their first request", 65535
)
proto.prefs.tls_ports = Pref.range(
    "Ports of brokers with TLS", "9093", "Where a request of several TLS records is put together", 65535
)
proto.prefs.show_secrets = Pref.bool("Show secrets", false, "Passwords, tokens and values of configs, else ***")

-- Bytes to nodes. A node is {field or nil, start, end, label or nil, value or nil, children...}; offsets count in
-- the frame, from 0. Nothing here knows of Wireshark, so that secrets are masked before anything is shown.

local Reader = {}
Reader.__index = Reader

local function fault(why, ...)
    error({why = string.format(why, ...)}, 0)
end

function Reader:take(count, what)
    local start = self.at
    if count > self.stop - start then
        fault("%s of %d bytes runs past the end, %d left", what, count, self.stop - start)
    end
    self.at = start + count
    return start
end

function Reader:signed(size)
    local start = self:take(size, "number")
    local value = 0
    for index = start + 1, start + size do value = value * 256 + self.data:byte(index) end
    local bound = 256 ^ size
    if value >= bound / 2 then value = value - bound end
    return value
end

function Reader:uvarint()
    local value, factor = 0, 1
    for count = 1, 5 do
        local byte = self.data:byte(self:take(1, "varint") + 1)
        value = value + (byte % 128) * factor
        if byte < 128 then return value end
        factor = factor * 128
    end
    fault("varint has more than 5 bytes")
end

function Reader:node(parent, field, start, label)
    self.items = self.items + 1
    if self.items > MOST_ITEMS then fault("only the first %d fields are shown", MOST_ITEMS) end
    local node = {field = field, start = start, label = label, parent = parent}
    parent[#parent + 1] = node
    return node
end

local function is_in(version, first, last)
    return first ~= nil and version >= first and version <= last
end

function Reader:is_nullable(field)
    return is_in(self.version, field.z, field.Z)
end

function Reader:is_tagged(field)
    return self.flexible and field.g ~= nil and is_in(self.version, field.t, field.T)
end

function Reader:struct(node, list)
    local known
    for _, field in ipairs(list) do
        if is_in(self.version, field[3], field[4]) then
            if self:is_tagged(field) then
                known = known or {}
                known[field.g] = field
            else
                self:field(node, field, false)
            end
        end
    end
    if self.flexible then self:tags(node, known or {}) end
end

function Reader:tags(node, known)
    for _ = 1, self:uvarint() do
        local tag, size = self:uvarint(), self:uvarint()
        local start = self.at
        local field = known[tag]
        if field then
            self:field(node, field, true)
            if self.at - start ~= size then
                fault("tag %d (%s) takes %d bytes, its size says %d", tag, field[1], self.at - start, size)
            end
        else
            self:take(size, "unknown tag " .. tag)
            local unknown = self:node(node, nil, start, string.format("tag %d: %d bytes", tag, size))
            unknown.stop = self.at
        end
    end
end

function Reader:length(field, wide, compact)
    local length
    if compact then length = self:uvarint() - 1 else length = self:signed(wide and 4 or 2) end
    if length < -1 then fault("%s: length %d is negative", field[1], length) end
    if length == -1 and not self:is_nullable(field) then fault("%s: null is not allowed", field[1]) end
    return length
end

function Reader:field(parent, field, tagged)
    local start = self.at
    if field.a then
        local count = self:length(field, true, self.flexible)
        local node = self:node(parent, field, start)
        node.is_array = true
        if count < 0 then
            node.is_null, node.stop = true, self.at
            return
        end
        if count > self.stop - self.at then
            fault("%d elements of %s do not fit the %d bytes left", count, field[1], self.stop - self.at)
        end
        node.count = count
        for index = 0, count - 1 do
            if field.of then
                local element = self:node(node, nil, self.at, string.format("[%d]", index))
                element.list = field.of
                self:struct(element, field.of)
                element.stop = self.at
            else
                self:value(self:node(node, field, self.at), field, field[2])
            end
        end
        node.stop = self.at
        return
    end
    local node = self:node(parent, field, start)
    if field.of then
        if self:is_nullable(field) then
            local is_null
            if tagged then is_null = self:uvarint() == 0 else is_null = self:signed(1) < 0 end
            if is_null then
                node.is_null, node.stop = true, self.at
                return
            end
        end
        node.list = field.of
        self:struct(node, field.of)
        node.stop = self.at
    else
        self:value(node, field, field[2])
    end
end

function Reader:value(node, field, kind)
    local size = FIXED[kind]
    if size then
        node.content = self:take(size, kind)
        if size <= 4 and kind ~= "bool" then
            self.at = node.content
            node.number = self:signed(size)
            if node.number < 0 and kind:sub(1, 1) == "u" then node.number = node.number + 256 ^ size end
        end
    else
        local is_text = kind == "string"
        local length = self:length(field, not is_text, self.flexible)
        if length < 0 then
            node.is_null, node.stop = true, self.at
            return
        end
        node.content = self:take(length, kind)
    end
    node.stop = self.at
end

-- What is secret: fields marked so, and values of configs that Kafka does not call public, with all below them.

local function child(node, name)
    for _, each in ipairs(node) do
        if each.field and each.field[1] == name and each.content and each.stop then return each end
    end
end

function Reader:text(node)
    return self.data:sub(node.content + 1, node.stop)
end

local function is_public_config(name)
    if PUBLIC_CONFIGS[name] then return true end
    local own = name:match("^listener%.name%.[^.]+%.(.+)$")
    if not own then return false end
    if PUBLIC_CONFIGS[own] then return true end
    local of_mechanism = own:match("^[^.]+%.(.+)$")
    return of_mechanism ~= nil and OF_MECHANISM[of_mechanism] == true and PUBLIC_CONFIGS[of_mechanism] == true
end

function Reader:is_sensitive(node)
    local flag, kind = child(node, "is_sensitive"), child(node, "config_type")
    if flag and self.data:byte(flag.content + 1) ~= 0 then return true end
    if kind and kind.number == 9 then return true end -- PASSWORD
    local name, value = child(node, "name"), child(node, "value")
    if name and is_public_config(self:text(name)) then return false end
    return not (value and LOG_LEVELS[self:text(value)])
end

local function has_config(node)
    for _, each in ipairs(node) do
        if each.field and each.field.c then return true end
    end
    return false
end

-- Whether a value that is not where it belongs may be a piece of a secret: two bytes tell nothing.
function Reader:is_piece(node)
    local kind = node.field[2]
    if not INTEGERS[kind] then return kind ~= "bool" end
    self.at = node.content
    local value = self:signed(FIXED[kind])
    return value < -32768 or value > 65535
end

function Reader:mask(node, outer, misread)
    local sensitive = outer or (has_config(node) and self:is_sensitive(node))
    for _, each in ipairs(node) do
        local field = each.field
        if field and each.content and not each.is_null then
            each.is_secret = field.s or (sensitive and field.c) or (misread and self:is_piece(each))
        elseif misread and not field and each.stop and #each == 0 then
            each.is_secret = true
        end
        self:mask(each, sensitive, misread)
    end
end

-- Nodes to the tree of Wireshark.

local BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

local function uuid_text(bytes)
    local out = {}
    for index = 1, #bytes, 3 do
        local a, b, c = bytes:byte(index, index + 2)
        local sum = a * 65536 + (b or 0) * 256 + (c or 0)
        for place = 1, c and 4 or b and 3 or 2 do
            local digit = math.floor(sum / 64 ^ (4 - place)) % 64
            out[#out + 1] = BASE64:sub(digit + 1, digit + 1)
        end
    end
    return table.concat(out)
end

local show_node

local function show_children(view, tree, node)
    for _, each in ipairs(node) do show_node(view, tree, each) end
end

local function note(view, what, value)
    local seen = view.seen[what]
    if not seen then
        seen = {}
        view.seen[what] = seen
        view.order[#view.order + 1] = what
    end
    if not seen[value] and #seen < 100 then
        seen[value] = true
        seen[#seen + 1] = value
    end
end

local function mark(view, tree, range, why)
    local item = tree:add(fields.error, range, why)
    item:add_proto_expert_info(experts.error, why)
end

local NOTED = {
    topicName = "topics", topicId = "topic_ids", groupId = "group", transactionalId = "transactional_id",
}

local function show_value(view, tree, node, whole)
    local field, tvb = node.field, view.tvb
    local hf, kind, name = fields[field.path], field[2], field[1]
    if node.is_secret and not proto.prefs.show_secrets then
        local shown = kinds[field.path] == "string" and tree:add(hf, whole, "***") or tree:add(whole, name .. ": ***")
        return shown
    end
    if FIXED[kind] then
        if kind == "uuid" then
            local text = uuid_text(view.reader.data:sub(node.content + 1, node.stop))
            if field.k == "topicId" and text ~= "AAAAAAAAAAAAAAAAAAAAAA" then note(view, "topic_ids", text) end
            return tree:add(hf, whole, text)
        end
        if field.x and node.number ~= 0 and not view.is_request then
            note(view, "errors", ENUMS.error[node.number] or ("ERROR_" .. node.number))
        end
        if kinds[field.path] ~= kind and node.number then return tree:add(hf, whole, node.number) end
        return tree:add(hf, whole)
    end
    local length = node.stop - node.content
    if kind == "string" then
        local what = NOTED[field.k]
        if what and length > 0 then note(view, what, view.reader:text(node)) end
        if length == 0 then return tree:add(hf, whole, "") end
        return tree:add_packet_field(hf, tvb(node.content, length), ENC_UTF_8)
    end
    if length == 0 then return tree:add(whole, name .. ": 0 bytes") end
    local item = tree:add(hf, tvb(node.content, length))
    if kind == "records" then
        item:set_text(string.format("%s: %d bytes", name, length))
        local fits, problem = pcall(view.records, view, item, node.content, node.stop)
        if not fits then mark(view, item, tvb(node.content, length), tostring(problem)) end
    end
    return item
end

function show_node(view, tree, node)
    local stop = math.min(math.max(node.stop or view.reached, node.start), #view.reader.data)
    local whole = view.tvb(math.min(node.start, stop - 1), math.max(stop - node.start, 1))
    local field = node.field
    local name = field and field[1]
    if node.is_null then
        tree:add(whole, name .. ": null")
    elseif node.content and node.stop then
        show_value(view, tree, node, whole)
    elseif field then
        local hf = field.of and kinds[field.path] == "none" and fields[field.path]
        local item = hf and tree:add(hf, whole) or tree:add(whole, name)
        local count = node.count
        item:set_text(count and string.format("%s: %d element%s", name, count, count == 1 and "" or "s") or name)
        show_children(view, item, node)
    else
        show_children(view, tree:add(whole, node.is_secret and "tag: ***" or node.label), node)
    end
end

-- Record batches, where they are not compressed, or with gzip.

local CODECS = {[0] = "none", "gzip", "snappy", "lz4", "zstd"}

local function zigzag(reader)
    local value, factor = 0, 1
    for _ = 1, 10 do
        local byte = reader.data:byte(reader:take(1, "varint") + 1)
        value = value + (byte % 128) * factor
        if byte < 128 then
            if value % 2 == 1 then return -math.floor(value / 2) - 1 end
            return math.floor(value / 2)
        end
        factor = factor * 128
    end
    fault("varint has more than 10 bytes")
end

local function sum(big, small) -- of an Int64 and a number
    local delta = Int64.new(0)
    if small >= -2 ^ 31 and small < 2 ^ 31 then
        delta = Int64.new(small)
    else
        local high = math.floor(small / 2 ^ 32)
        if high < 0 then high = high + 2 ^ 32 end
        delta = Int64.new(small % 2 ^ 32, high % 2 ^ 32)
    end
    return tostring(big + delta)
end

local function show_bytes(tree, hf, name, tvb, reader)
    local length = zigzag(reader)
    if length < 0 then
        tree:add(tvb(reader.at - 1, 1), name .. ": null")
        return "null"
    end
    local start = reader:take(length, name)
    if length == 0 then
        tree:add(hf, tvb(reader.at - 1, 1), "")
        return ""
    end
    tree:add_packet_field(hf, tvb(start, length), ENC_UTF_8)
    return reader.data:sub(start + 1, start + length)
end

local function show_record(reader, tvb, tree, base_offset, base_timestamp)
    local begin = reader.at
    local length = zigzag(reader)
    local stop = reader.at + length
    if length < 0 or stop > reader.stop then fault("record of %d bytes runs past the end", length) end
    local item = tree:add(fields.record, tvb(begin, stop - begin))
    reader:take(1, "attributes")
    local first = reader.at
    local timestamp = sum(base_timestamp, zigzag(reader))
    item:add(fields["record.timestamp_ms"], tvb(first, reader.at - first), timestamp)
    first = reader.at
    local offset = sum(base_offset, zigzag(reader))
    item:add(fields["record.offset"], tvb(first, reader.at - first), offset)
    item:set_text("record: offset " .. offset)
    show_bytes(item, fields["record.key"], "key", tvb, reader)
    show_bytes(item, fields["record.value"], "value", tvb, reader)
    for _ = 1, zigzag(reader) do
        reader.items = reader.items + 2
        if reader.items > MOST_ITEMS then fault("only the first %d fields are shown", MOST_ITEMS) end
        first = reader.at
        local name_length = zigzag(reader)
        local name = ""
        if name_length > 0 then
            local start = reader:take(name_length, "name of a header")
            name = reader.data:sub(start + 1, start + name_length)
        end
        local value_length = zigzag(reader)
        local value = "null"
        if value_length >= 0 then
            local start = reader:take(value_length, "value of a header")
            value = reader.data:sub(start + 1, start + value_length)
        end
        item:add(fields["record.header"], tvb(first, reader.at - first), name .. ": " .. value)
    end
    reader.at = stop
end

local function show_records(view, tree, tvb, data, stop, base_offset, base_timestamp, count, start)
    local reader = setmetatable({data = data, at = start, stop = stop, items = view.reader.items}, Reader)
    local fits, problem = pcall(function()
        for _ = 1, count do
            reader.items = reader.items + 6
            if reader.items > MOST_ITEMS then fault("only the first %d fields are shown", MOST_ITEMS) end
            show_record(reader, tvb, tree, base_offset, base_timestamp)
        end
    end)
    view.reader.items = reader.items
    if not fits then mark(view, tree, tvb(math.min(reader.at, #data - 1), 1), problem.why or tostring(problem)) end
end

local V2_HEADER, BATCH_OVERHEAD = 61, 12
local BATCH_LEAST = 18 -- with one byte for magic and one for attributes, in any format

local function show_batch(view, tree, start, stop)
    local tvb, reader = view.tvb, view.reader
    local function number(at, size)
        reader.at = start + at
        return reader:signed(size)
    end
    local size = number(8, 4) + BATCH_OVERHEAD
    if size < BATCH_LEAST then
        mark(view, tree, tvb(start + 8, 4), string.format("a batch of %d bytes", size))
        return nil
    end
    local last = math.min(start + size, stop)
    local magic = number(16, 1)
    local item = tree:add(fields.batch, tvb(start, last - start))
    local function add(name, at, length, value)
        local hf = fields["batch." .. name]
        if value ~= nil then item:add(hf, tvb(start + at, length), value) else item:add(hf, tvb(start + at, length)) end
    end
    add("base_offset", 0, 8)
    add("bytes", 8, 4, size)
    add("magic", 16, 1)
    if magic ~= 2 then
        add("crc", 12, 4)
        local attributes = number(17, 1) % 8
        add("codec", 17, 1, CODECS[attributes] or tostring(attributes))
        item:set_text(string.format("batch: magic %d, %d bytes, %s", magic, size, CODECS[attributes] or "?"))
        return size
    end
    if last - start < V2_HEADER then
        item:set_text(string.format("batch: %d bytes, cut", size))
        return size
    end
    add("leader_epoch", 12, 4)
    add("crc", 17, 4)
    local attributes = number(21, 2) % 65536
    local codec = CODECS[attributes % 8] or tostring(attributes % 8)
    add("attributes", 21, 2)
    add("codec", 21, 2, codec)
    add("transactional", 21, 2, math.floor(attributes / 16) % 2 == 1)
    add("control", 21, 2, math.floor(attributes / 32) % 2 == 1)
    add("base_timestamp", 27, 8)
    add("max_timestamp_ms", 35, 8)
    add("producer_id", 43, 8)
    add("producer_epoch", 51, 2)
    add("base_sequence", 53, 4)
    add("count", 57, 4)
    local count = number(57, 4)
    item:set_text(string.format("batch: %d record%s, %d bytes, %s", count, count == 1 and "" or "s", size, codec))
    local base_offset, base_timestamp = tvb(start, 8):int64(), tvb(start + 27, 8):int64()
    if start + size > stop then return size end
    if codec == "none" then
        show_records(view, item, tvb, reader.data, last, base_offset, base_timestamp, count, start + V2_HEADER)
    elseif codec == "gzip" and last > start + V2_HEADER then
        local fits, plain = pcall(function()
            local range = tvb(start + V2_HEADER, last - start - V2_HEADER)
            local is_new, found = pcall(function() return range:uncompress_zlib("records") end) -- Wireshark 4.4
            if not is_new then found = range:uncompress("records") end
            return found and found:len() <= MOST_DECOMPRESSED and found
        end)
        if fits and plain then
            local data = plain:raw()
            show_records(view, item, plain:tvb(), data, #data, base_offset, base_timestamp, count, 0)
        end
    end
    return size
end

local function show_batches(view, tree, start, stop)
    while stop - start >= BATCH_LEAST do
        view.reader.items = view.reader.items + 20
        if view.reader.items > MOST_ITEMS then return end
        local size = show_batch(view, tree, start, stop)
        if not size then return end
        start = start + size
    end
end

-- One request or response.

local function show_body(view, tree, list, version, flexible)
    local reader = view.reader
    reader.version, reader.flexible = version, flexible
    local root = {start = reader.at}
    local fits, problem = pcall(reader.struct, reader, root, list)
    view.reached = reader.at
    local rest = #reader.data - reader.at
    local at = math.min(reader.at, #reader.data - 1)
    reader:mask(root, false, view.is_secretive and (not fits or rest > 0))
    show_children(view, tree, root)
    if not fits then
        local why = type(problem) == "table" and problem.why or tostring(problem)
        mark(view, tree, view.tvb(at), why)
    elseif rest > 0 then
        local ignored = view.is_request and view.api_key == API_VERSIONS and version <= 2
            and reader.data:sub(at + 1) == "\0\0\0\0"
        if ignored then
            tree:add(view.tvb(at), "4 bytes that brokers ignore")
        else
            local left = tree:add(view.tvb(at), string.format("%d byte%s left over", rest, rest == 1 and "" or "s"))
            left:add_proto_expert_info(experts.left_over)
        end
    end
end

local function is_flexible(api, version)
    return version >= api.flexible
end

local function new_view(tvb, data, is_request)
    local reader = setmetatable({data = data, at = 0, stop = #data, items = 0}, Reader)
    return {tvb = tvb, reader = reader, is_request = is_request, seen = {}, order = {}, records = show_batches}
end

local function show_notes(view, tree)
    for _, what in ipairs(view.order) do
        for _, value in ipairs(view.seen[what]) do tree:add(fields[what], view.tvb(0, 4), value):set_generated() end
    end
end

local function show_header(view, tree, api, key, version)
    tree:add(fields.api_key, view.tvb(4, 2), key)
    tree:add(fields.api, view.tvb(4, 2), api and api.name or ("API " .. key))
    tree:add(fields.api_version, view.tvb(6, 2), version)
end

local function skip_header_tags(reader, has_tags)
    if not has_tags then return end
    for _ = 1, reader:uvarint() do
        reader:uvarint()
        reader:take(reader:uvarint(), "tag of the header")
    end
end

local function show_request(tvb, data, tree)
    local view = new_view(tvb, data, true)
    local reader = view.reader
    reader.at = 4
    local key, version = reader:signed(2), reader:signed(2)
    local api = APIS[key]
    view.api_key = key
    view.is_secretive = not api or api.secret
    show_header(view, tree, api, key, version)
    tree:add(fields.correlation_id, tvb(reader.at, 4))
    reader:signed(4)
    if not (key == CONTROLLED_SHUTDOWN and version == 0) then
        local start = reader.at
        local length = reader:signed(2)
        if length < 0 then
            tree:add(tvb(start, 2), "client_id: null")
        elseif length == 0 then
            tree:add(fields.client_id, tvb(start, 2), "")
        else
            tree:add_packet_field(fields.client_id, tvb(reader:take(length, "client_id"), length), ENC_UTF_8)
        end
        skip_header_tags(reader, api and is_flexible(api, version))
    end
    if not api or version > api.last or version < api.first then
        tree:add(tvb(math.min(reader.at, #data - 1)), "a body that this plugin does not know")
        return view
    end
    show_body(view, tree, api.request, version, is_flexible(api, version))
    show_notes(view, tree)
    return view
end

local function show_response(tvb, data, tree, exchange)
    local view = new_view(tvb, data, false)
    local reader = view.reader
    local key, version = exchange.api_key, exchange.version
    local api = APIS[key]
    view.api_key = key
    view.is_secretive = not api or api.secret
    tree:add(fields.api_key, key):set_generated()
    tree:add(fields.api, api and api.name or ("API " .. key)):set_generated()
    tree:add(fields.api_version, version):set_generated()
    tree:add(fields.correlation_id, tvb(4, 4))
    reader.at = 8
    if not api or version > api.last or version < api.first then
        if #data > 8 then tree:add(tvb(8), "a body that this plugin does not know") end
        return view
    end
    local flexible = is_flexible(api, version)
    skip_header_tags(reader, flexible and key ~= API_VERSIONS)
    if key == API_VERSIONS and version > 0 and #data >= reader.at + 6 then
        -- A broker that does not know the version answers in version 0 (KIP-511).
        local start = reader.at
        local code, count = reader:signed(2), reader:signed(4)
        reader.at = start
        if code == UNSUPPORTED_VERSION and start + 6 + count * 6 == #data then
            version, flexible = 0, false
        end
    end
    show_body(view, tree, api.response, version, flexible)
    show_notes(view, tree)
    return view
end

-- Connections. What is learned of them is learned while packets are first read, in their order, and kept by packet:
-- Wireshark asks for packets again in any order.

local stream_of = Field.new("tcp.stream")
local streams, exchanges, roles, by_packet, brokers = {}, {}, {}, {}, {}

function proto.init()
    streams, exchanges, roles, by_packet, brokers = {}, {}, {}, {}, {}
end

local function signed32(tvb, at)
    return tvb(at, 4):int()
end

local function text_fits(tvb, at, length)
    for index = at, at + length - 1 do
        local byte = tvb(index, 1):uint()
        if byte < 32 or byte == 127 then return false end
    end
    return true
end

-- Whether a request begins here: its size, an API and version that exist, a client id that fits.
local function is_request_start(tvb, at, strict)
    local left = tvb:len() - at
    if left < 8 then return not strict and left >= 4 and signed32(tvb, at) >= 8 and signed32(tvb, at) <= MOST_BYTES end
    local size, key, version = signed32(tvb, at), tvb(at + 4, 2):int(), tvb(at + 6, 2):int()
    if size < 8 or size > MOST_BYTES then return false end
    local api = APIS[key]
    if not strict then return key >= 0 and key < 1000 and version >= 0 and version < 100 end
    if not api or version < api.first or version > api.last or left < 14 then return false end
    local length = tvb(at + 12, 2):int()
    if length < -1 or length > ANY_CLIENT_ID or length + 10 > size then return false end
    return text_fits(tvb, at + 14, math.min(length, left - 14))
end

local function end_of(address, port)
    return tostring(address) .. " " .. port
end

-- What is known of the packet's connection. Fields are missing where Wireshark builds no tree, on all packets then.
local function stream_state(pinfo)
    if pinfo.visited then return by_packet[pinfo.number] end
    local stream = stream_of()
    local key = stream and stream.value
    if not key then
        local one, other = end_of(pinfo.src, pinfo.src_port), end_of(pinfo.dst, pinfo.dst_port)
        key = one < other and one .. " " .. other or other .. " " .. one
    end
    local state = streams[key]
    if not state then
        state = {pending = {}, begun = {}, is_sasl = false}
        streams[key] = state
    end
    by_packet[pinfo.number] = state
    return state
end

-- Which end is the broker: that of the port by which Wireshark came here, else the one that is asked.
local function is_to_broker(tvb, pinfo, state)
    local source, target = end_of(pinfo.src, pinfo.src_port), end_of(pinfo.dst, pinfo.dst_port)
    if not state.broker then
        local matched = pinfo.match_uint
        if matched == pinfo.dst_port and matched ~= pinfo.src_port then
            state.broker = target
        elseif matched == pinfo.src_port and matched ~= pinfo.dst_port then
            state.broker = source
        elseif is_request_start(tvb, 0, true) then
            state.broker = target
        else
            return nil
        end
    end
    return state.broker == target
end

local function place_of(pinfo, tvb, at)
    return pinfo.number .. ":" .. (tvb:offset() + at)
end

-- What begins here: "frame", "token", or "unaligned". Decided once, kept by packet and offset.
local function role_at(tvb, at, pinfo, state, to_broker)
    local place = place_of(pinfo, tvb, at)
    if pinfo.visited or roles[place] then return roles[place] or "frame" end
    local left = tvb:len() - at
    local size = signed32(tvb, at)
    local role = "frame"
    if size < 0 or size > MOST_BYTES then
        role = "unaligned"
    elseif to_broker then
        if not is_request_start(tvb, at, state.is_sasl) then role = state.is_sasl and "token" or "unaligned" end
    elseif size < 4 then
        role = state.is_sasl and "token" or "unaligned"
    elseif left >= 8 and not state.pending[signed32(tvb, at + 4)] then
        role = state.is_sasl and "token" or "unaligned"
    end
    if role ~= "frame" then roles[place] = role end
    return role
end

local function begin(state, pinfo, to_broker)
    state.begun[to_broker] = state.begun[to_broker] or pinfo.rel_ts
end

local function duration(seconds)
    local whole = math.floor(seconds)
    return NSTime.new(whole, math.floor((seconds - whole) * 1e9 + 0.5))
end

local function learn_request(tvb, pinfo, state, place)
    if exchanges[place] then return end
    local key, version, id = tvb(4, 2):int(), tvb(6, 2):int(), signed32(tvb, 8)
    local exchange = {api_key = key, version = version, request_in = pinfo.number, asked = pinfo.rel_ts}
    exchanges[place] = exchange
    if key == SASL_HANDSHAKE and version == 0 then state.is_sasl = true end
    local waiting = state.pending[id] or {}
    waiting[#waiting + 1] = exchange
    state.pending[id] = waiting
end

local function learn_response(tvb, pinfo, state, place)
    local id = signed32(tvb, 4)
    local waiting = state.pending[id]
    if not waiting then return end
    local exchange = table.remove(waiting, 1)
    if #waiting == 0 then state.pending[id] = nil end
    exchange.response_in = pinfo.number
    exchange.latency = duration((state.begun[false] or pinfo.rel_ts) - exchange.asked)
    exchanges[place] = exchange
end

local function show_links(tvb, tree, exchange, is_request)
    if is_request then
        if exchange.response_in then tree:add(fields.response_in, tvb(0, 4), exchange.response_in):set_generated() end
    else
        tree:add(fields.request_in, tvb(0, 4), exchange.request_in):set_generated()
        tree:add(fields.latency, tvb(0, 4), exchange.latency):set_generated()
    end
end

local function add_info(pinfo, text)
    if pinfo.private.kdissect == tostring(pinfo.number) then
        pinfo.cols.info:append(", " .. text)
    else
        pinfo.cols.info:set(text)
        pinfo.private.kdissect = tostring(pinfo.number)
    end
end

local function show_frame(tvb, pinfo, tree, state, to_broker, role)
    local place = place_of(pinfo, tvb, 0)
    if role == "frame" and not pinfo.visited then
        if to_broker and tvb:len() >= 12 then
            learn_request(tvb, pinfo, state, place)
        elseif not to_broker and tvb:len() >= 8 then
            learn_response(tvb, pinfo, state, place)
        end
    end
    if not pinfo.visited then state.begun[to_broker] = nil end
    local item = tree:add(proto, tvb(), "Kafka")
    if role == "unaligned" then
        item:set_text(string.format("Kafka: %d bytes, no frame begins here", tvb:len()))
        item:add_proto_expert_info(experts.unaligned)
        return
    end
    item:add(fields.size, tvb(0, 4))
    if role == "token" then
        item:set_text("Kafka SASL token")
        item:add(fields.token, tvb())
        add_info(pinfo, "SASL token")
        return
    end
    local exchange = exchanges[place]
    if not exchange then
        item:set_text("Kafka: a frame that was cut, or an answer whose request was not captured")
        return
    end
    local api = APIS[exchange.api_key]
    local title = string.format(
        "%s v%d %s", api and api.name or ("API " .. exchange.api_key), exchange.version,
        to_broker and "request" or "response"
    )
    item:set_text("Kafka " .. title)
    local frame = item:add(to_broker and fields.request or fields.response, tvb())
    frame:set_text(title)
    show_links(tvb, item, exchange, to_broker)
    local data = tvb:raw(0, math.min(tvb:len(), signed32(tvb, 0) + 4))
    local show = to_broker and show_request or show_response
    local fits, problem = pcall(show, tvb, data, frame, exchange)
    if not fits then
        local why = type(problem) == "table" and problem.why or tostring(problem)
        frame:add(fields.error, tvb(0, 4), why):add_proto_expert_info(experts.error, why)
    elseif problem.seen.errors then
        title = title .. " " .. table.concat(problem.seen.errors, " ")
    end
    add_info(pinfo, title)
end

local function dissect(tvb, pinfo, tree)
    local state = stream_state(pinfo)
    if not state or tvb:len() == 0 then return 0 end
    local to_broker = is_to_broker(tvb, pinfo, state)
    if to_broker == nil then return 0 end
    if not state.is_aligned then
        if tvb:len() >= 4 and role_at(tvb, 0, pinfo, state, to_broker) == "unaligned" then
            return 0 -- TLS, or the middle of a frame: for others
        end
        state.is_aligned = true
    end
    pinfo.cols.protocol = "Kafka"

    local function frame_length(rest, _, at)
        if rest:len() - at < 4 then return 0 end -- one more segment
        if not pinfo.visited then begin(state, pinfo, to_broker) end
        local role = role_at(rest, at, pinfo, state, to_broker)
        if role == "unaligned" then return rest:reported_len() - at end
        return signed32(rest, at) + 4
    end

    local function one_frame(part)
        local role = "frame"
        if part:len() >= 4 then role = role_at(part, 0, pinfo, state, to_broker) end
        show_frame(part, pinfo, tree, state, to_broker, role)
        return part:len()
    end

    dissect_tcp_pdus(tvb, tree, 4, frame_length, one_frame)
    return tvb:len()
end

proto.dissector = dissect

local TCP, TLS = "tcp ", "tls "

-- Where Wireshark looks for it: the ports of the preference, "Decode As", and any connection that begins with a
-- request, in TCP and inside of TLS.

-- Broker ends are known after their first connection; those of TLS apart, whose own bytes are no Kafka.
local function by_request(known)
    return function(tvb, pinfo, tree)
        local source, target = end_of(pinfo.src, pinfo.src_port), end_of(pinfo.dst, pinfo.dst_port)
        if not (brokers[known .. source] or brokers[known .. target]) then
            if tvb:len() < 14 or not is_request_start(tvb, 0, true) then return false end
            brokers[known .. target] = true
        end
        local state = stream_state(pinfo)
        if state and not state.broker then state.broker = brokers[known .. target] and target or source end
        if known == TCP then pinfo.conversation = proto end
        return dissect(tvb, pinfo, tree) > 0
    end
end

local tables = {ports = DissectorTable.get("tcp.port"), tls_ports = DissectorTable.get("tls.port")}
local listening = {ports = "", tls_ports = ""}

local function listen()
    for name, of in pairs(tables) do
        local wanted = proto.prefs[name]
        if wanted ~= listening[name] then
            if listening[name] ~= "" then of:remove(listening[name], proto) end
            if wanted ~= "" then of:add(wanted, proto) end
            listening[name] = wanted
        end
    end
end

proto.prefs_changed = listen
listen()
proto:register_heuristic("tcp", by_request(TCP))
proto:register_heuristic("tls", by_request(TLS))
