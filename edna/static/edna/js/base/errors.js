/** The errors of the opener. Their names are those of docs/errors.md, and mean the same. Messages hold no content and no secret. */

export class EdnaError extends Error {
  constructor(message) {
    super(message);
    this.name = new.target.name;
  }
}

export class KeyMalformed extends EdnaError {}
export class WrongCredentials extends EdnaError {}
export class KeyNotProved extends EdnaError {}
/** The browser, the device or the person gave no passkey, or one that opens no slot. */
export class PasskeyRefused extends EdnaError {}
/** The server refused, by whichever of its errors: `code` has its name, `status` the status. */
export class ServerRefused extends EdnaError {}
export class RecoveryCodeMalformed extends EdnaError {}
export class ReceiptMalformed extends EdnaError {}
/** Something is kept under this receipt, and this key does not open it. */
export class ReceiptForeign extends EdnaError {}
/** The page's Content-Security-Policy lacks 'wasm-unsafe-eval', or the browser has no WebAssembly. */
export class WebAssemblyForbidden extends EdnaError {}
/** A file to read is none of edna's, or of a version that this opener does not know. */
export class FileRefused extends EdnaError {}

/** What a guardian has sent is not as it has to be. */
export class GuardianRefused extends EdnaError {}
/** A guardian does not help with this ticket; `retryAfterSeconds` says when it may, if time alone changes that. */
export class TicketRefused extends EdnaError {}
/** Another PIN, or somebody has changed the envelope. */
export class EnvelopeRefused extends EdnaError {}
/** Fewer guardians than needed gave right answers: `have` of `need`; `wrong` are the numbers of those that were not. */
export class QuorumUnavailable extends EdnaError {
  constructor({ have, need, wrong }) {
    super(`${have} guardians gave right answers, and ${need} are needed. Nothing was changed.`);
    Object.assign(this, { have, need, wrong });
  }
}

/** An operation of a group of devices that may not stand where it stands, or is none; the three behind it are kinds of it. */
export class OperationRefused extends EdnaError {}
/** Whoever it names has not signed it. */
export class OperationForged extends OperationRefused {}
export class OperationReplayed extends OperationRefused {}
/** Another device was quicker. */
export class SequenceTaken extends OperationRefused {}
/** What an operation says to this device does not open, or is not what it says to the others. */
export class DirectMessageRefused extends EdnaError {}
export class DeviceLogTruncated extends EdnaError {}
export class DeviceLogForked extends EdnaError {}
/** This device has signed what it has not made. */
export class DeviceCopied extends EdnaError {}
export class DeviceStateRefused extends EdnaError {}
/** Mistyped, shown by no device now, or another device's. */
export class DeviceCodeRefused extends EdnaError {}
export class DeviceRemoved extends EdnaError {}
/** No key of a device here, or of one that was not added yet. */
export class DeviceUnknown extends EdnaError {}
/** What the devices of this group open is nobody's any more. */
export class DeviceGroupEnded extends EdnaError {}
/** Another key would be one that none of their devices has. */
export class PrincipalHasDevices extends EdnaError {}

/** Name and password, or a key, are those of several people of this site, whose data are in several databases: nothing is guessed. */
export class DatabaseNotChosen extends EdnaError {}
/** One of these databases does not answer, and no other has what was looked for. */
export class DatabaseBusy extends EdnaError {}

/** This key is nobody's, or not any more. */
export class PrincipalNotRegistered extends EdnaError {}
export class NotYours extends EdnaError {}
export class HandoverRefused extends EdnaError {}

export class BagError extends EdnaError {}
export class BagTruncated extends BagError {}
export class BagTrailingBytes extends BagError {}
export class BagTooLarge extends BagError {}
export class BagVersionUnknown extends BagError {}
export class BagSuiteUnknown extends BagError {}
export class WrongKey extends BagError {}
export class BagCorrupt extends BagError {}
export class BagMisplaced extends BagError {}
export class BagMissing extends BagError {}
export class BagForged extends BagError {}
/** Only another process of the site hands it out; `code` has the name of its error. Nothing is damaged. */
export class PolicyError extends BagError {}
