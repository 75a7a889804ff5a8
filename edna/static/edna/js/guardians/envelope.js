/** The envelope, and the shares of an enrolment: docs/format.md, "Guardians". */

import { concat, equal, fromBase64, toUtf8 } from "../base/bytes.js";
import { EnvelopeRefused, GuardianRefused } from "../base/errors.js";
import { withoutWhiteSpace } from "../keys.js";
import { outputOf } from "./evaluation.js";
import * as group from "./group.js";

const VERSION = 1;
const HEAD_BYTES = 51;
const COMMITMENT_BYTES = 32;
const RANDOM_BYTES = 32;
const TAG_BYTES = 16;
const MOST_BYTES = 4096;
const SHORTEST = HEAD_BYTES + COMMITMENT_BYTES + RANDOM_BYTES + 1 + TAG_BYTES;
const PREFIX = "edna-guardians-envelope-1:";
// The key is for one envelope alone, so that one nonce is enough.
const NONCE = new Uint8Array(24);

/** Throws EnvelopeRefused. */
export function parseEnvelope(sodium, bytes) {
  if (bytes.length < SHORTEST || bytes.length > SHORTEST - 1 + MOST_BYTES || bytes[0] !== VERSION) {
    throw new EnvelopeRefused("This is no envelope that this release of edna reads.");
  }
  const [, count, threshold] = bytes;
  const secretCommitment = bytes.slice(19, HEAD_BYTES);
  if (threshold < 2 || threshold > count || !sodium.isPoint(secretCommitment)) {
    throw new EnvelopeRefused("The head of this envelope says what cannot be.");
  }
  const start = HEAD_BYTES + COMMITMENT_BYTES;
  const parts = { head: bytes.slice(0, HEAD_BYTES), commitment: bytes.slice(HEAD_BYTES, start), box: bytes.slice(start) };
  return { ...parts, bytes, count, threshold, enrolment: bytes.slice(3, 19), secretCommitment };
}

/** From a file; white space does not count. Throws EnvelopeRefused. */
export function parseEnvelopeText(sodium, text) {
  const line = withoutWhiteSpace(text);
  if (!line.startsWith(PREFIX)) throw new EnvelopeRefused(`This is no envelope: one begins with ${PREFIX}.`);
  const encoded = line.slice(PREFIX.length);
  const bytes = encoded.length % 4 ? null : fromBase64(encoded);
  if (bytes === null) throw new EnvelopeRefused("Something is missing of this envelope: copy the whole of it again.");
  return parseEnvelope(sodium, bytes);
}

/** What the guardians are asked to hash, blinded. */
export function askedOf({ head, commitment }, pin) {
  return concat(head, commitment, toUtf8(pin.normalize("NFKC")));
}

/** The secret. Throws EnvelopeRefused. */
export function openEnvelope(sodium, { head, commitment, box }, output) {
  const content = sodium.decrypt(box, { key: keyOf(sodium, output), nonce: NONCE, associated: concat(head, commitment) });
  if (content === null || !equal(commitmentOf(sodium, head, content), commitment)) {
    throw new EnvelopeRefused("This envelope does not open with what the guardians answered: the PIN is another, or somebody has changed it.");
  }
  return content.slice(RANDOM_BYTES);
}

/** An envelope around `secret`, for whoever deals the shares of `scalar`. Throws EnvelopeRefused. */
export function makeEnvelope(sodium, secret, { count, threshold, enrolment, scalar, pin, random }) {
  if (secret.length < 1 || secret.length > MOST_BYTES) throw new EnvelopeRefused(`An envelope holds 1 to ${MOST_BYTES} bytes.`);
  const head = concat(Uint8Array.of(VERSION, count, threshold), enrolment, group.multiplyBase(sodium, scalar));
  const content = concat(random, secret);
  const commitment = commitmentOf(sodium, head, content);
  const asked = askedOf({ head, commitment }, pin);
  const output = outputOf(sodium, asked, group.multiply(sodium, group.hashToPoint(sodium, asked), scalar));
  const box = sodium.encrypt(content, { key: keyOf(sodium, output), nonce: NONCE, associated: concat(head, commitment) });
  return concat(head, commitment, box);
}

/** Shares by number, from 1, and the commitments: the first coefficient is the secret. */
export function dealShares(sodium, coefficients, count) {
  return {
    shares: Array.from({ length: count }, (_, at) => group.valueAt(sodium, coefficients, at + 1)),
    commitments: coefficients.map((each) => group.multiplyBase(sodium, each)),
  };
}

/** Throws GuardianRefused if a share is not the one that the commitments announce. */
export function checkShare(sodium, share, { number, commitments }) {
  if (!equal(group.multiplyBase(sodium, group.scalarOf(share)), group.publicShare(sodium, commitments, number))) {
    throw new GuardianRefused(`The share of guardian ${number} does not fit what was announced.`);
  }
}

function commitmentOf(sodium, head, content) {
  return sodium.blake2b(concat(head, content), { person: "edna.guard.com.1" });
}

function keyOf(sodium, output) {
  return sodium.blake2b(new Uint8Array(0), { person: "edna.guard.env.1", key: output });
}
