import { requestMemory } from '../../base/scheduling/request-memory.ts'
import type { OperationOptions } from '../../catalog/index.ts'
import { IcebergError } from '../errors.ts'

/**
 * The bytes of a metadata file, which may be compressed: by default Java compresses those of views. `largest` bounds what it
 * expands to. `memoryPerByte` of that counts in the memory that all requests share.
 */
export async function expanded(
  bytes: Uint8Array,
  url: string,
  { largest, memoryPerByte = 0 }: { readonly largest: number; readonly memoryPerByte?: number },
  { signal, [requestMemory]: memory }: OperationOptions = {},
): Promise<Uint8Array> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes
  const { gunzip } = await import('node:zlib')
  const whole = await new Promise<Uint8Array>((resolve, reject) => {
    gunzip(bytes, { maxOutputLength: largest }, (cause, result) => {
      if (cause === null) return resolve(result)
      const why =
        (cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
          ? `it expands to more than ${largest.toLocaleString('en')} bytes`
          : cause.message
      const message = `Cannot decompress metadata file ${url}: ${why}`
      reject(new IcebergError('ValidationException', message, { cause }))
    })
  })
  await memory?.hold?.take(whole.length * memoryPerByte, signal)
  return whole
}
