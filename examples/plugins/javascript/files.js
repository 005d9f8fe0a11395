// Files of the project, as text.

import { hostError } from "./answering.js";
import { read } from "samuel:plugin/files-read@1.0.0";

/** Returns the text of a file, or null where there is none. */
export function readText(path) {
  try {
    return decode(read(path));
  } catch (error) {
    if (hostError(error)?.tag === "not-found") {
      return null;
    }
    throw error;
  }
}

/** Decodes UTF-8, and throws for what is none; QuickJS has no TextDecoder. */
function decode(bytes) {
  const escaped = Array.from(bytes, (byte) => "%" + byte.toString(16).padStart(2, "0"));
  return decodeURIComponent(escaped.join(""));
}
