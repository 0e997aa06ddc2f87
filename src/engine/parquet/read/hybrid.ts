import { damagedFile } from '../damage.ts'

/**
 * Decodes runs of equal numbers and of packed bits until `out` is full. Returns where the last run ends. Never writes
 * more than `out` holds, whatever the runs claim.
 *
 * Format: https://parquet.apache.org/docs/file-format/data-pages/encodings/#RLE
 */
export function decodeHybrid(
  bytes: Uint8Array,
  from: number,
  end: number,
  width: number,
  out: Uint8Array | Int32Array,
): number {
  if (width > 32) throw damagedFile(`has numbers of ${width} bits where at most 32 are possible`)
  let at = from
  let done = 0
  while (done < out.length) {
    let head = 0
    for (let shift = 0; ; shift += 7) {
      const byte = at < end && shift < 35 ? bytes[at++] : undefined
      if (byte === undefined) throw cutOff()
      head += (byte & 127) * 2 ** shift
      if (byte < 128) break
    }
    const left = out.length - done
    if (head % 2 === 1) {
      const size = Math.floor(head / 2) * width
      const count = Math.min(left, Math.floor(head / 2) * 8)
      if (at + size > end) throw cutOff()
      unpack(bytes, at, width, out, done, count)
      at += size
      done += count
    } else {
      const size = (width + 7) >> 3
      if (at + size > end) throw cutOff()
      let value = 0
      for (let i = 0; i < size; i++) value |= bytes[at++]! << (8 * i)
      const count = Math.min(left, head / 2)
      out.fill(value, done, done + count)
      done += count
      // A run of no values would not end.
      if (count === 0 && at >= end) throw cutOff()
    }
  }
  return at
}

function unpack(
  bytes: Uint8Array,
  from: number,
  width: number,
  out: Uint8Array | Int32Array,
  start: number,
  count: number,
): void {
  if (width === 0) {
    out.fill(0, start, start + count)
    return
  }
  let at = from
  let bits = 0
  let have = 0
  if (width <= 24) {
    const mask = (1 << width) - 1
    for (let i = start; i < start + count; i++) {
      for (; have < width; have += 8) bits |= bytes[at++]! << have
      out[i] = bits & mask
      bits >>>= width
      have -= width
    }
    return
  }
  const range = 2 ** width
  for (let i = start; i < start + count; i++) {
    for (; have < width; have += 8) bits += bytes[at++]! * 2 ** have
    out[i] = bits % range
    bits = Math.floor(bits / range)
    have -= width
  }
}

function cutOff() {
  return damagedFile('has levels or indices that are cut off')
}

/** Bits that a level of up to `max` takes. */
export function widthOf(max: number): number {
  return 32 - Math.clz32(max)
}
