import { decompressLz4Frame } from './lz4.ts'
import { loadZstd } from './zstd.ts'

export type Codec = 'lz4' | 'zstd'

/** Decompresses a frame of `length` bytes. Throws if the frame has more or fewer bytes, or is damaged. */
export type Decompress = (packed: Uint8Array, length: number) => Uint8Array

export async function loadCodecs(): Promise<Readonly<Record<Codec, Decompress>>> {
  return {
    lz4: (packed, length) => {
      const target = new Uint8Array(length)
      decompressLz4Frame(packed, target)
      return target
    },
    zstd: await loadZstd(),
  }
}

/** The request to a worker: to decompress one buffer. */
export interface DecompressRequest {
  readonly id: number
  readonly codec: Codec
  readonly packed: ArrayBuffer
  readonly length: number
}

/** The message of a worker: that it has started, or the result of a request. */
export type DecompressReply =
  | 'ready'
  | { readonly id: number; readonly bytes: Uint8Array }
  | { readonly id: number; readonly failure: string }
