"""Prints the scalars of a TensorBoard event file as JSON lines, written from the formats alone:
TFRecord's framing with CRC-32C, and protocol buffers' wire format."""
import json
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        head = data[at:at + 8]
        (length,) = struct.unpack('<Q', head)
        assert struct.unpack('<I', data[at + 8:at + 12])[0] == masked(head), 'checksum of a length'
        body = data[at + 12:at + 12 + length]
        assert len(body) == length, 'a record is cut'
        end = at + 12 + length
        assert struct.unpack('<I', data[end:end + 4])[0] == masked(body), 'checksum of a record'
        yield body
        at = end + 4


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = struct.unpack('<d', data[at:at + 8])[0], at + 8
        elif wire == 5:
            value, at = struct.unpack('<f', data[at:at + 4])[0], at + 4
        else:
            assert wire == 2, f'wire type {wire}'
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        yield number, value


with open(sys.argv[1], 'rb') as file:
    events = list(records(file.read()))
for number, event in enumerate(events):
    parts = dict(fields(event))
    if number == 0:
        assert parts[3] == b'brain.Event:2', parts
        continue
    for _, value in fields(parts[5]):
        scalar = dict(fields(value))
        print(json.dumps({'at': parts[1], 'step': parts[2], 'tag': scalar[1].decode(), 'value': scalar[2]}))
