/**
 * A passkey as a way to a key: what WebAuthn's PRF extension makes of a fixed text opens a slot. Passkeys log nobody in here; the server is
 * told nothing of them but the slot. Throws PasskeyRefused where the browser, the device or the person does not.
 */

import { ascii } from "./base/bytes.js";
import { PasskeyRefused } from "./base/errors.js";

const EXTENSIONS = { prf: { eval: { first: ascii("edna.passkey.prf") } } };

/** Whether this browser can have one that opens a key; of most devices nothing is known before one tries. */
export async function mayHavePasskey() {
  if (!globalThis.PublicKeyCredential) return false;
  const known = await globalThis.PublicKeyCredential.getClientCapabilities?.().catch(() => null);
  return known?.["extension:prf"] !== false;
}

/** Make a passkey on this site, and return the slot secret that it gives. `name` is what the person sees in their list of passkeys. */
export async function makePasskey(sodium, { name }) {
  const made = await asked("create", {
    challenge: sodium.random(32),
    rp: { name: globalThis.location.hostname },
    user: { id: sodium.random(32), name, displayName: name },
    pubKeyCredParams: [
      { type: "public-key", alg: -7 },
      { type: "public-key", alg: -257 },
    ],
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
    extensions: EXTENSIONS,
  });
  // Some give the result with the first use only.
  return resultOf(made) === undefined ? passkeySecret(sodium) : secretOf(sodium, made);
}

/** The slot secret of a passkey that the person chooses. */
export async function passkeySecret(sodium) {
  return secretOf(
    sodium,
    await asked("get", { challenge: sodium.random(32), userVerification: "required", extensions: EXTENSIONS }),
  );
}

async function asked(verb, publicKey) {
  try {
    return await globalThis.navigator.credentials[verb]({ publicKey });
  } catch (error) {
    throw new PasskeyRefused(`There is no passkey here, or it was not allowed (${error.name}).`);
  }
}

function resultOf(credential) {
  return credential.getClientExtensionResults().prf?.results?.first;
}

function secretOf(sodium, credential) {
  const result = resultOf(credential);
  if (result === undefined) throw new PasskeyRefused("This passkey opens no slot: its device has no PRF extension.");
  return sodium.blake2b(new Uint8Array(result), { person: "edna.passkey.1" });
}
