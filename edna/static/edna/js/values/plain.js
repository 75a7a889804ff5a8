/** Values as JSON for people: easy to read, and without types where a text says enough. */

import { toBase64 } from "../base/bytes.js";

export function plain({ type, value }) {
  switch (type) {
    case "null":
      return null;
    case "int": {
      const number = Number(value);
      return Number.isSafeInteger(number) ? number : value.toString();
    }
    case "float": {
      const number = new DataView(value.buffer, value.byteOffset, 8).getFloat64(0);
      return Number.isFinite(number) ? number : String(number);
    }
    case "bytes":
      return { base64: toBase64(value) };
    case "list":
      return value.map(plain);
    case "dict":
      return value.every(([key]) => key.type === "str")
        ? Object.fromEntries(value.map(([key, item]) => [key.value, plain(item)]))
        : value.map(([key, item]) => [plain(key), plain(item)]);
    default:
      return value;
  }
}
