/** Bytes as a text that no other bytes have. The build for browsers has `src/web/text-of-bytes.ts` instead. */
export function textOfBytes({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1')
}
