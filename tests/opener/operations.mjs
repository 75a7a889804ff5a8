/** What the vectors ask for, by the JavaScript opener: in Node and in Chromium alike. */

import { EdnaError } from "../../edna/static/edna/js/base/errors.js";
import { concat, equal, fromHex, toHex } from "../../edna/static/edna/js/base/bytes.js";
import { loadSodium } from "../../edna/static/edna/js/base/sodium.js";
import { openBag } from "../../edna/static/edna/js/bag.js";
import { accountOf } from "../../edna/static/edna/js/account.js";
import { paddedLength, sealedFileKey } from "../../edna/static/edna/js/container.js";
import { keyOf, openFile, readFile } from "../../edna/static/edna/js/file.js";
import { halfTag, pairOf, parsePair, publicKey, secretKeyText, secretOf, wholePublicKey } from "../../edna/static/edna/js/keys.js";
import { chunk, index, makeItem, openItem, parseReceipt, sharedKey } from "../../edna/static/edna/js/locator.js";
import * as slots from "../../edna/static/edna/js/slots.js";
import { decode } from "../../edna/static/edna/js/values/decode.js";
import { tagged } from "../../edna/static/edna/js/values/tagged.js";
import { DEVICES } from "./devices.mjs";
import { GUARDIANS } from "./guardians.mjs";

function keysOf(sodium, given) {
  return given.seed ? pairOf(sodium, fromHex(given.seed), { hybrid: true }) : pairOf(sodium, fromHex(given.secret_key));
}

function padded(bytes, length = 0) {
  return length > bytes.length ? concat(bytes, new Uint8Array(length - bytes.length)) : bytes;
}

function repeated({ repeat: [byte, count], then }) {
  return concat(new Uint8Array(count).fill(parseInt(byte, 16)), fromHex(then));
}

function throughSlot(sodium, given, secret, kind) {
  const peppers = given.peppers.map(fromHex);
  const slot = { id: fromHex(given.slot_id), wrapped: fromHex(given.wrapped) };
  const { secretKey, hybrid } = slots.openSlot(sodium, slot, secret, peppers);
  const ids = peppers.flatMap((each) => slots.slotIds(sodium, secret, each));
  if (!ids.some((id) => equal(id, slot.id))) throw new Error("the slot is not where its secret says");
  const { publicKey } = pairOf(sodium, secretKey, { hybrid });
  const tags = [
    slots.formerTag(sodium, secretKey, kind),
    ...peppers.map((pepper) => slots.storedTag(sodium, publicKey, { kind, pepper })),
  ];
  if (!tags.some((tag) => equal(tag, fromHex(given.tag)))) throw new Error("the slot has another tag");
  return { slot_secret: toHex(secret), secret_key: toHex(secretKey) };
}

const OPERATIONS = {
  ...DEVICES,
  ...GUARDIANS,
  open_bag: (sodium, given) =>
    tagged(
      openBag(sodium, padded(fromHex(given.sealed), given.sealed_length), {
        locator: fromHex(given.locator),
        kind: given.kind,
        sequence: given.sequence,
        pair: keysOf(sodium, given),
        ...(given.public_key ? { owner: fromHex(given.public_key) } : {}),
        macKeys: given.mac_keys?.map(fromHex) ?? null,
      }),
    ),
  decode_value: (_, given) => tagged(decode(typeof given === "string" ? fromHex(given) : repeated(given))),
  password_slot: (sodium, given) => {
    const peppers = given.peppers.map(fromHex);
    const { identifier, opslimit, memlimit_bytes: memlimitBytes } = given;
    let secret = null;
    for (const pepper of [peppers[0], null, ...peppers.slice(1)]) {
      secret = slots.passwordSecret(sodium, given.password, { identifier, opslimit, memlimitBytes, pepper });
      const ids = (pepper ? [pepper] : peppers).flatMap((each) => slots.slotIds(sodium, secret, each).map(toHex));
      if (ids.includes(given.slot_id)) break;
    }
    return throughSlot(sodium, given, secret, "password");
  },
  recovery_slot: (sodium, given) => {
    const code = slots.parseRecoveryCode(sodium, given.code);
    return throughSlot(sodium, given, slots.recoverySecret(sodium, code), "recovery");
  },
  parse_receipt: (sodium, given) => {
    const { disguise, locator } = parseReceipt(sodium, given);
    return { disguise, locator: toHex(locator) };
  },
  parse_recovery_code: (sodium, given) => toHex(slots.parseRecoveryCode(sodium, given)),
  parse_secret_key: (sodium, given) => toHex(secretOf(parsePair(sodium, given))),
  secret_key_text: (sodium, given) => secretKeyText(sodium, keysOf(sodium, given)),
  half_tag: (sodium, given) => toHex(halfTag(sodium, keysOf(sodium, given))),
  sealed_file_key: (sodium, given) =>
    toHex(sealedFileKey(sodium, fromHex(given.file_key), wholePublicKey(sodium, keysOf(sodium, given)))),
  hybrid_key: (sodium, given) => toHex(sodium.encapsulationKey(fromHex(given))),
  public_key: (_, given) => toHex(publicKey(fromHex(given))),
  open_locator: (sodium, given) =>
    toHex(openItem(sodium, fromHex(given.sealed), keysOf(sodium, given))),
  make_item: (sodium, given) => toHex(makeItem(sodium, fromHex(given.locator), fromHex(given.public_key))),
  index: (sodium, given) =>
    given.kinds_and_sequences.map(([kind, sequence]) => toHex(index(sodium, fromHex(given.locator), kind, sequence))),
  chunks: (sodium, given) => given.numbers.map((number) => toHex(chunk(sodium, fromHex(given.locator), number))),
  shared_key: (sodium, given) => {
    const pair = pairOf(sodium, sharedKey(sodium, fromHex(given)));
    return { secret_key: toHex(pair.secretKey), public_key: toHex(pair.publicKey) };
  },
  padded_length: (_, given) => given.map(paddedLength),
  open_file: (sodium, given) => {
    const file = readFile(given.text);
    return accountOf(openFile(sodium, file, keyOf(sodium, file, given.typed)));
  },
  make_slot: (sodium, given) => {
    const [secret, pepper] = [given.secret, given.pepper].map(fromHex);
    const pair = keysOf(sodium, given);
    const part = slots.serverPart(sodium, slots.lookup(sodium, secret), pepper);
    const wrapped = slots.lockSlot(sodium, pair, { secret, ...part });
    const again = slots.openWithShare(sodium, { id: part.id, wrapped }, secret, part.share);
    if (!equal(secretOf(again), secretOf(pair))) throw new Error("the slot does not open");
    const tag = slots.storedTag(sodium, pair.publicKey, { kind: given.kind, pepper });
    return { slot_id: toHex(part.id), tag: toHex(tag), wrapped: toHex(wrapped) };
  },
  recovery_code_text: (sodium, given) => slots.recoveryCodeText(sodium, fromHex(given)),
  normalised_identifier: (_, given) => given.map(slots.normalisedIdentifier),
};

/** `{result}`, or `{error}`: the name of one of edna's errors. Anything else that is thrown is a defect of the opener. */
export async function run({ operation, input }) {
  const sodium = await loadSodium();
  try {
    return { result: OPERATIONS[operation](sodium, input) };
  } catch (error) {
    if (error instanceof EdnaError && error.message.length > 15) return { error: error.name };
    return { error: `a defect: ${error.stack}` };
  }
}
