/** Whether all bytes are ASCII. */
export function isAscii(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte < 128)
}

/** Whether bytes are UTF-8. */
export function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}
