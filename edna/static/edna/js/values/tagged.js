/** A value as JSON without loss, as tests/vectors write it. */

import { toHex } from "../base/bytes.js";

export function tagged({ type, value, bytes }) {
  switch (type) {
    case "null":
      return { type };
    case "int":
      return { type, value: value.toString() };
    case "str":
      return { type, value: toHex(bytes) };
    case "float":
    case "bytes":
      return { type, value: toHex(value) };
    case "list":
      return { type, value: value.map(tagged) };
    case "dict":
      return { type, value: value.map(([key, item]) => [tagged(key), tagged(item)]) };
    default:
      return { type, value };
  }
}
