/** Reads cases, one JSON text a line, and writes what the opener makes of each, one a line. */

import { createInterface } from "node:readline";
import { webcrypto } from "node:crypto";

globalThis.crypto ??= webcrypto; // Node 18 has it there alone

const { run } = await import("./operations.mjs");

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await run(JSON.parse(line)))}\n`);
}
