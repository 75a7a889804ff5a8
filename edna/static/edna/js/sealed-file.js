/**
 * Writes the file of one's sealed bags, as `edna.export_sealed` does: docs/format.md, "File of sealed bags". What is in it is sealed as the
 * site has it, and no key is in the clear.
 */

import { concat, fromBase64, toBase64, toHex } from "./base/bytes.js";
import { OPERATIONS } from "./bag.js";
import { secretOf } from "./keys.js";
import { SHARED, index, itemFor } from "./locator.js";
import { parseRecoveryCode } from "./slots.js";
import { barred, stored } from "./graph.js";

const PIECE_BYTES = 2n ** 20n;
const ASKED_AT_ONCE = 500;

/** The text of the file; with a `code`, that opens it, too. Throws what the server refuses with, and RecoveryCodeMalformed. */
export async function sealedFile(sodium, key, graph, { code = null } = {}) {
  const parts = [...graph.bags.values()].flatMap((bag) => bag.parts);
  const bags = parts.map(({ place, sealed }) => ({ index: toHex(place), sealed: toBase64(sealed) }));
  const pieces = parts.flatMap(({ payload }) => piecesOf(sodium, payload)).map(toBase64);
  for (let at = 0; at < pieces.length; at += ASKED_AT_ONCE) {
    for await (const bag of stored(key, pieces.slice(at, at + ASKED_AT_ONCE))) {
      if ("error" in bag) throw barred(bag.error);
      bags.push({ index: toHex(fromBase64(bag.index)), sealed: bag.sealed });
    }
  }
  const document = {
    format: "edna sealed bags 1",
    public_key: toHex(key.publicKey),
    wrapped: code === null ? null : toBase64(wrapped(sodium, key.pair, code)),
    lists: [...graph.holders.values()].map((holder) => ({
      public_key: toHex(holder.pair.publicKey),
      items: toBase64(concat(holder.stored, ...(holder.under === null ? unlisted(sodium, key, graph) : []))),
    })),
    bags,
  };
  return `${JSON.stringify(document, null, 1)}\n`;
}

/** Receipts that no list has become items of the file's, so that it needs none beside it. */
function unlisted(sodium, key, graph) {
  const own = [...graph.bags.values()].filter(({ locator, parts }) => parts.some(({ kind }) => kind !== SHARED) && !graph.holdersOf(locator).length);
  return own.map(({ locator }) => itemFor(sodium, locator, key.pair));
}

/** Where the content of files lies that these records name. */
function piecesOf(sodium, payload) {
  const files = payload.value[9].value.filter(({ value }) => OPERATIONS[Number(value[0].value)] === "file" && value[4]?.value.length > 1);
  return files.flatMap(({ value }) =>
    value[5].value.flatMap(({ value: [locator, , , size] }) => {
      const number = Number((size.value + PIECE_BYTES - 1n) / PIECE_BYTES);
      return Array.from({ length: number }, (_, at) => index(sodium, locator.value, SHARED, at));
    }),
  );
}

function wrapped(sodium, pair, text) {
  const [version, nonce] = [Uint8Array.of(1), sodium.random(24)];
  const wrapping = sodium.blake2b(parseRecoveryCode(sodium, text), { person: "edna.recovery.2" });
  return concat(version, nonce, sodium.encrypt(secretOf(pair), { key: wrapping, nonce, associated: concat(version, pair.publicKey) }));
}
