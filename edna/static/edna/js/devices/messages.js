/**
 * What one device tells another, each time to another key: docs/format.md, "Groups of devices". A message brings secrets of the group, a new
 * secret key for whoever reads it, and a new public key of whoever wrote it. What two have between them is `{own, theirs}`: the secret key to
 * which the other will write, and the public one to write to.
 */

import { concat } from "../base/bytes.js";
import { KEY_BYTES, publicKey as checkedPublicKey } from "../keys.js";

// A key is for one message alone, so that one nonce is enough.
const NONCE = new Uint8Array(24);
const NOTHING = new Uint8Array(0);

/** `{message, pair}`: a message, and what its writer keeps of it. `context` is the head of the operation, and who reads it. */
export function sealMessage(sodium, secrets, { to, ephemeral, context }) {
  const [forReader, own] = [sodium.random(KEY_BYTES), sodium.random(KEY_BYTES)];
  const said = concat(forReader, sodium.publicKey(own), ...secrets);
  const key = keyOf(sodium, [ephemeral.secretKey, to], [ephemeral.publicKey, to], context);
  const message = sodium.encrypt(said, { key, nonce: NONCE, associated: NOTHING });
  return { message, pair: { own, theirs: sodium.publicKey(forReader) } };
}

/** `{secrets, pair}`, the present secret last; null if it is for somebody else, or was changed. */
export function openMessage(sodium, message, { own, ephemeral, context }) {
  const key = keyOf(sodium, [own, ephemeral], [ephemeral, sodium.publicKey(own)], context);
  const said = key && sodium.decrypt(message, { key, nonce: NONCE, associated: NOTHING });
  if (!said || said.length % KEY_BYTES || said.length < 3 * KEY_BYTES) return null;
  const parts = Array.from({ length: said.length / KEY_BYTES }, (_, at) => said.slice(at * KEY_BYTES, (at + 1) * KEY_BYTES));
  const [forReader, theirs, ...secrets] = parts;
  try {
    return { secrets, pair: { own: forReader, theirs: checkedPublicKey(theirs) } };
  } catch {
    return null;
  }
}

function keyOf(sodium, [secretKey, publicKey], [ephemeral, reader], context) {
  const shared = sodium.commonPoint(secretKey, publicKey);
  return shared && sodium.blake2b(concat(shared, ephemeral, reader, context), { person: "edna.group.msg.1" });
}
